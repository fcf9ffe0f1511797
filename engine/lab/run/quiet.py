"""Silence for worlds that nobody watches."""

from __future__ import annotations

import logging


def be_quiet() -> None:
    """What the engine warns of in a lab was done to it on purpose; the checkers say what went wrong."""
    for name in ("glassmq", "asyncio"):
        logger = logging.getLogger(name)
        logger.addHandler(logging.NullHandler())
        logger.propagate = False

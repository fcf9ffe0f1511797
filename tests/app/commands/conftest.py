"""Commands run inside the test process."""

from __future__ import annotations

import logging
import signal

import pytest


@pytest.fixture(autouse=True)
def process_as_before():
    """Restore logging and signals, which ``serve`` sets up for its process: here it runs inside the test process."""
    signals = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    loggers = [logging.getLogger(name) for name in ("glassmq", "asyncio")]
    before = [(logger, logger.handlers[:], logger.propagate, logger.level) for logger in loggers]
    yield
    for logger, handlers, propagate, level in before:
        logger.handlers[:] = handlers
        logger.propagate = propagate
        logger.setLevel(level)
    for number, handler in signals.items():
        signal.signal(number, handler)

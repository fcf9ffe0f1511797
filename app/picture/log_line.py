"""One line of the live engine's log."""

from __future__ import annotations

from typing import TypedDict


class LogLine(TypedDict):
    """One line of the log, cut to what the page shows."""

    at_us: int
    level: str
    #: Name of the logger.
    part: str
    text: str

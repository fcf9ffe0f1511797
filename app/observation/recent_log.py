"""The last lines of the engine's log, for the page."""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.picture.live_state import LogLine

#: Lines that the page shows.
LINES_MAX = 100
#: Characters of one line.
LINE_LENGTH_MAX = 400


class RecentLog(logging.Handler):
    """Keeps the newest lines. An entry, once made, is never changed, so lists of them can be shared."""

    def __init__(self, level: int = logging.INFO) -> None:
        super().__init__(level)
        self._lines: deque[LogLine] = deque(maxlen=LINES_MAX)

    def emit(self, record: logging.LogRecord) -> None:
        """Note one line; called under the handler's lock."""
        try:
            text = record.getMessage()
        except (TypeError, ValueError):
            self.handleError(record)
            return
        if len(text) > LINE_LENGTH_MAX:
            text = text[:LINE_LENGTH_MAX] + " ..."
        self._lines.append(
            {
                "at_us": int(record.created * 1_000_000),
                "level": record.levelname,
                "part": record.name.removeprefix("glassmq."),
                "text": text,
            }
        )

    def lines(self) -> list[LogLine]:
        """Return the newest lines, oldest first."""
        self.acquire()
        try:
            return list(self._lines)
        finally:
            self.release()

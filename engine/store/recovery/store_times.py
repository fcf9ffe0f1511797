"""Detects messages whose store time is out of order in the log. RocketMQ 4.9.8 does not check it.

Only single messages are detected: a clock that was set back affects all messages after it.
"""

from __future__ import annotations

from engine.store.queues.dispatch_request import DispatchRequest


class StoreTimes:
    """A check of the messages in the order of the log; ``lines`` says which ones are out of order in time."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._before_ms: int | None = None
        self._last: DispatchRequest | None = None

    def check(self, request: DispatchRequest) -> None:
        """Check the next message."""
        last, before_ms, after_ms = self._last, self._before_ms, request.store_timestamp
        if last is not None:
            if before_ms is not None and before_ms <= after_ms and not before_ms <= last.store_timestamp <= after_ms:
                self.lines.append(
                    f"commit log: the message at {last.commit_log_offset} says that it was stored at "
                    f"{last.store_timestamp} ms, those before and after it at {before_ms} and {after_ms}: it is "
                    "served, but not found by its time"
                )
            else:
                self._before_ms = last.store_timestamp
        self._last = request

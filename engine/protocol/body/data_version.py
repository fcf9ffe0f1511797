"""The version of a table (RocketMQ: ``DataVersion``)."""

from __future__ import annotations

from dataclasses import dataclass

from engine.protocol.body.json_body import JsonBody


@dataclass(slots=True)
class DataVersion(JsonBody):
    """A version whose ``timestamp`` (ms) and ``counter`` change with every change of the table."""

    timestamp: int = 0
    counter: int = 0

    def next(self, now_ms: int) -> None:
        """Advance to the version of a table that changed at ``now_ms``."""
        self.timestamp = now_ms
        self.counter += 1

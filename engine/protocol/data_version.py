"""Which version of a table this is (RocketMQ: ``DataVersion``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.protocol.json_fields import get_integer


@dataclass(slots=True)
class DataVersion:
    """``timestamp`` (ms) and ``counter`` change with every change of the table."""

    timestamp: int = 0
    counter: int = 0

    def next(self, now_ms: int) -> None:
        """The table was changed at ``now_ms``."""
        self.timestamp = now_ms
        self.counter += 1

    def to_dict(self) -> dict[str, object]:
        """The JSON object of the wire."""
        return {"counter": self.counter, "timestamp": self.timestamp}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> DataVersion:
        """Read the JSON object of the wire."""
        return cls(get_integer(fields, "timestamp", 0), get_integer(fields, "counter", 0))

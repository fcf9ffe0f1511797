"""File ``config/deletedTopics.json``: up to where in the log a topic's messages are those of a deleted topic.

The messages of a deleted topic stay in the commit log until they expire. When its consume queues are built again, they
must not come back, least of all in the place of those of a topic that was made again under the name. RocketMQ has no
such file, and they come back.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from engine.runtime.port import Disk
from engine.store.files.config_file import ConfigFile

PATH: Final = "config/deletedTopics.json"
_FIELD: Final = "deletedTopics"
#: The messages of topics that were deleted longer ago may come back.
TOPICS_MAX: Final = 10_000


class DeletedTopics:
    """Topic -> position in the commit log."""

    def __init__(self, disk: Disk) -> None:
        self._file = ConfigFile(disk, PATH)
        self._ends: dict[str, int] = {}

    def load(self) -> list[str]:
        """Read the file; returns what had to be repaired in it, for people."""
        content = self._file.load()
        ends = content.get(_FIELD) if content is not None else None
        if isinstance(ends, dict):
            self._ends = {topic: end for topic, end in ends.items() if isinstance(end, int)}
        return self._file.remarks

    def end_of(self, topic: str) -> int:
        """Messages of ``topic`` before this position are of a deleted one; 0: none are."""
        return self._ends.get(topic, 0)

    def add(self, topics: Iterable[str], log_start: int, log_end: int) -> None:
        """All messages of ``topics`` before ``log_end`` are deleted; that is durable then. Raises ``DiskFault``."""
        for topic in topics:
            self._ends.pop(topic, None)
            self._ends[topic] = log_end
        self.limit(log_start, log_end)

    def limit(self, log_start: int, log_end: int) -> None:
        """The log lies between the two: what is deleted behind it comes anew. Raises ``DiskFault``."""
        kept = [(topic, min(end, log_end)) for topic, end in self._ends.items() if end > log_start]
        self._ends = dict(kept[-TOPICS_MAX:])
        if self._ends or self._file.content is not None:
            self._file.save({_FIELD: self._ends})

"""The file ``config/deletedTopics.json``: for each deleted topic, the log position before which its messages are
deleted.

The messages of a deleted topic stay in the commit log until they expire. When the consume queues are rebuilt, they must
not reappear, least of all in place of the messages of a new topic with the same name. RocketMQ has no such file, so
there they reappear.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from engine.runtime.port import Disk
from engine.store.files.config_file import ConfigFile

PATH: Final = "config/deletedTopics.json"
_FIELD: Final = "deletedTopics"
#: The maximum number of deleted topics that are kept. Messages of topics deleted before that may reappear.
TOPICS_MAX: Final = 10_000


class DeletedTopics:
    """A table of deleted topics: topic -> position in the commit log."""

    def __init__(self, disk: Disk) -> None:
        self._file = ConfigFile(disk, PATH)
        self._ends: dict[str, int] = {}

    def load(self) -> list[str]:
        """Read the file and return what had to be repaired in it, for people."""
        content = self._file.load()
        ends = content.get(_FIELD) if content is not None else None
        if isinstance(ends, dict):
            self._ends = {topic: end for topic, end in ends.items() if isinstance(end, int)}
        return self._file.remarks

    def end_of(self, topic: str) -> int:
        """Return the position before which the messages of ``topic`` are deleted; 0 if none are."""
        return self._ends.get(topic, 0)

    def add(self, topics: Iterable[str], log_start: int, log_end: int) -> None:
        """Mark all messages of ``topics`` before ``log_end`` as deleted, durably. Raises ``DiskFault``."""
        for topic in topics:
            self._ends.pop(topic, None)
            self._ends[topic] = log_end
        self.limit(log_start, log_end)

    def limit(self, log_start: int, log_end: int) -> None:
        """Limit all positions to the bounds of the log: messages written after ``log_end`` are new. Raises
        ``DiskFault``.
        """
        kept = [(topic, min(end, log_end)) for topic, end in self._ends.items() if end > log_start]
        self._ends = dict(kept[-TOPICS_MAX:])
        if self._ends or self._file.content is not None:
            self._file.save({_FIELD: self._ends})

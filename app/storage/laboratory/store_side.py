"""The common operations of both stores of the laboratory: write a traffic, and find messages in it again."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Protocol

from app.picture.pages.storage import FoundRecord
from app.storage.laboratory.traced_runtime import TracedRuntime
from app.storage.laboratory.traffic import TrafficMessage


class StoreSide(Protocol):
    """One of the two stores. It is written once, then only read, by one thread at a time.

    Its files are small, so that a little traffic fills several and the page shows where one ends.
    """

    @property
    def runtime(self) -> TracedRuntime: ...

    def write(self, messages: Iterable[TrafficMessage]) -> None:
        """Store ``messages`` and close all files. Raises ``DiskFault``."""
        ...

    def opened(self, topic: str | None, queue_id: int | None) -> AbstractContextManager[object]:
        """Keep what a search needs open within the block, so that only the search is counted.

        None: all topics, queues.
        """
        ...

    def by_offset(self, topic: str, queue_id: int, offset: int) -> list[FoundRecord]:
        """Return the message of that offset, or none."""
        ...

    def by_key(self, topic: str, key: str) -> list[FoundRecord]:
        """Return all messages of ``topic`` with that key."""
        ...

    def by_time(self, topic: str, queue_id: int, time_ms: int) -> list[FoundRecord]:
        """Return the first message stored at ``time_ms`` or later, or none."""
        ...

    def close(self) -> None:
        """Close all files."""
        ...

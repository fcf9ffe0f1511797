"""The newest records of the commit log, kept up to date by reading forward from the end of the last sample.

Nothing is hooked into the broker's put path: only observing costs. When more came in than a sample may read, the reader
jumps: every entry of a consume queue gives the start of a record.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from app.observation.bounds import TAIL_RECORDS_MAX
from engine.protocol.errors import MalformedMessage
from engine.protocol.message.record_layout import MESSAGE_MAGIC, SIZE_AND_MAGIC

if TYPE_CHECKING:
    from app.picture.commit_log import LogOffsets
    from engine.store.message_store import MessageStore

#: Bytes that are read in one piece to find where records start; a reader that lags by more jumps.
BLOCK_BYTES = 64 * 1024
#: Records that one sample passes at most.
STARTS_PER_LOOK_MAX = 2_000
#: Consume queues in which a place to jump to is searched.
NEWEST_QUEUES = 16

Shown = TypeVar("Shown")


def log_offsets(store: MessageStore) -> LogOffsets:
    """Return how far the commit log has got."""
    return {
        "min": store.commit_log.min_offset,
        "max": store.commit_log.max_offset,
        "flushed": store.commit_log.flushed_offset,
        "dispatched": store.dispatcher.dispatched_offset,
    }


class CommitLogTail(Generic[Shown]):
    """The last :data:`TAIL_RECORDS_MAX` records, each as ``shown`` returns it, newest last."""

    def __init__(self, store: MessageStore, shown: Callable[[bytes], Shown]) -> None:
        self._store = store
        self._shown = shown
        self._position = -1  # where the next record will start; -1: not known yet
        self._records: list[Shown] = []

    def look(self) -> list[Shown]:
        """Return the newest records. The list and its entries are never changed afterwards."""
        end = self._store.commit_log.max_offset
        if end == self._position:
            return self._records
        if end < self._position or self._position < self._store.commit_log.min_offset:
            self._position, self._records = -1, []
        if self._position < 0 or end - self._position > BLOCK_BYTES:
            start = self._start_near(end)
            if start > self._position:
                self._position, self._records = start, []
        starts = self._record_starts(end)
        fresh = [record for start in starts[-TAIL_RECORDS_MAX:] if (record := self._record(start)) is not None]
        self._records = [*self._records, *fresh][-TAIL_RECORDS_MAX:]
        return self._records

    def _start_near(self, end: int) -> int:
        """Return the start of some record, near enough to ``end`` to be read from there and early enough to show
        :data:`TAIL_RECORDS_MAX` records: found in the consume queues that were written last.
        """
        queues = [queue for _, _, queue in self._store.consume_queues()]
        newest = heapq.nlargest(NEWEST_QUEUES, queues, key=lambda queue: queue.last_store_timestamp)
        offsets = sorted(
            offset
            for queue in newest
            for offset, _, _ in queue.entries(queue.max_offset - TAIL_RECORDS_MAX, TAIL_RECORDS_MAX)
            if self._store.commit_log.min_offset <= offset < end
        )
        if not offsets:
            return self._store.commit_log.min_offset
        near = bisect_left(offsets, end - BLOCK_BYTES)
        return offsets[min(near, max(0, len(offsets) - TAIL_RECORDS_MAX))]

    def _record_starts(self, end: int) -> list[int]:
        """Return where the records from the current position on start, and move the position past the last of them."""
        starts: list[int] = []
        files = self._store.commit_log.files
        position = self._position
        block_start, block = position, b""
        while position < end and len(starts) < STARTS_PER_LOOK_MAX:
            if position - block_start + SIZE_AND_MAGIC.size > len(block):
                block_start, block = position, files.read(position, min(BLOCK_BYTES, end - position))
                if len(block) < SIZE_AND_MAGIC.size:
                    break
            size, magic = SIZE_AND_MAGIC.unpack_from(block, position - block_start)
            if magic == MESSAGE_MAGIC and size > 0:
                starts.append(position)
                position += size
                continue
            # The rest of this file is empty; the next record starts in the next one.
            file = files.find(position)
            if file is None or file.end_offset <= position:
                break
            position = file.end_offset
        self._position = position
        return starts

    def _record(self, start: int) -> Shown | None:
        raw = self._store.commit_log.record_at(start)
        if raw is None:
            return None
        try:
            return self._shown(raw)
        except MalformedMessage:
            return None

"""The logical queue of one topic and queue id: the positions of its messages in the commit log (RocketMQ:
``ConsumeQueue``).

Entry ``n`` of 20 bytes (see :mod:`engine.store.files.consume_queue_entry`) belongs to logical offset ``n`` and is
always at byte ``20 n``. RocketMQ appends an entry even when its offset does not follow the last one, and only logs it;
all later offsets of the queue are then wrong. Here offsets that are left out (their messages were damaged in the log,
or deleted before the queue was built again) get filler entries, so every offset stays as it was reported to the
producer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.runtime.port import Disk
from engine.store.files.consume_queue_entry import CONSUME_QUEUE_ENTRY, ENTRY_SIZE_BYTES, FILLER_ENTRY, FILLER_SIZE
from engine.store.files.mapped_file_queue import MappedFileQueue
from engine.store.files.mapping_pool import MappingPool
from engine.store.queues.consume_queue_ext import ConsumeQueueExt, is_ext_address

#: ``(commit-log offset, size, tags code)``; with an extension the address of a unit may replace the tags code, see
#: :mod:`engine.store.queues.consume_queue_ext`.
Entry = tuple[int, int, int]

_ENTRIES_PER_BLOCK: Final = 4096
_ENTRIES_LOOKED_AT: Final = 64


def is_valid(entry: Entry) -> bool:
    """Return whether ``entry`` can stand for a message: it is not a filler and has no visible damage."""
    return entry[0] >= 0 and 0 < entry[1] != FILLER_SIZE


class ConsumeQueue:
    """The consume queue of one topic and queue id.

    :param ext: the extension with the filters' bit maps; None unless ``enable_consume_queue_ext`` is set.
    :ivar next_offset: logical offset of the next message put into the log.
    :ivar max_offset: logical offset after the last entry; lags behind ``next_offset`` until the dispatcher has run.
    :ivar min_offset: logical offset of the first entry whose message is still in the log.
    :ivar flushed_offset: entries before it are durable.
    :ivar last_store_timestamp: store time of the newest entry's message, ms; 0 if unknown.
    :ivar topic_block: the topic as in a stored message, including its length byte.
    """

    __slots__ = (
        "ext",
        "files",
        "flushed_offset",
        "last_store_timestamp",
        "max_offset",
        "min_offset",
        "next_offset",
        "queue_id",
        "topic",
        "topic_block",
    )

    def __init__(
        self,
        disk: Disk,
        pool: MappingPool,
        topic: str,
        queue_id: int,
        file_size: int,
        ext: ConsumeQueueExt | None = None,
    ) -> None:
        assert file_size % ENTRY_SIZE_BYTES == 0
        self.topic = topic
        self.queue_id = queue_id
        topic_bytes = topic.encode()
        self.topic_block = bytes((len(topic_bytes),)) + topic_bytes
        self.files = MappedFileQueue(disk, pool, f"consumequeue/{topic}/{queue_id}", file_size)
        self.ext = ext
        self.next_offset = 0
        self.max_offset = 0
        self.min_offset = 0
        self.flushed_offset = 0
        self.last_store_timestamp = 0

    # --- writing -----------------------------------------------------------------------------------------------------

    def put_entries(self, queue_offset: int, entries: bytes) -> None:
        """Write consecutive packed ``entries``, the first one at ``queue_offset``. Raises ``DiskFull``, ``DiskFault``.

        Existing entries are overwritten: dispatching a message twice changes nothing.
        """
        if queue_offset > self.max_offset:
            self._fill(queue_offset)
        self.files.write(queue_offset * ENTRY_SIZE_BYTES, entries)
        end = queue_offset + len(entries) // ENTRY_SIZE_BYTES
        if end > self.max_offset:
            self.max_offset = end
            if end > self.next_offset:
                self.next_offset = end

    def _fill(self, queue_offset: int) -> None:
        """Write filler entries from ``max_offset`` up to ``queue_offset``."""
        start = self.max_offset
        if not self.files.files:
            # As in RocketMQ, an empty queue begins with the file that contains the first entry.
            per_file = self.files.file_size // ENTRY_SIZE_BYTES
            start = max(start, queue_offset - queue_offset % per_file)
        if queue_offset > start:
            self.files.write(start * ENTRY_SIZE_BYTES, FILLER_ENTRY * (queue_offset - start))
        self.max_offset = queue_offset
        self.next_offset = max(self.next_offset, queue_offset)

    def skip_to(self, queue_offset: int) -> None:
        """Give the next message at least the offset ``queue_offset``."""
        if queue_offset > self.max_offset:
            self._fill(queue_offset)

    def clear_from(self, queue_offset: int) -> None:
        """Forget all entries from ``queue_offset`` on."""
        self.files.clear_from(queue_offset * ENTRY_SIZE_BYTES)
        self.max_offset = self.next_offset = queue_offset
        self.flushed_offset = min(self.flushed_offset, queue_offset)

    # --- reading -----------------------------------------------------------------------------------------------------

    def entries(self, queue_offset: int, count: int) -> list[Entry]:
        """Return at most ``count`` entries from ``queue_offset`` on, as far as they are written."""
        start = max(queue_offset, self.first_entry_offset)
        count = min(queue_offset + count, self.max_offset) - start
        if count <= 0:
            return []
        data = self.files.read(start * ENTRY_SIZE_BYTES, count * ENTRY_SIZE_BYTES)
        return list(CONSUME_QUEUE_ENTRY.iter_unpack(data))

    def entry(self, queue_offset: int) -> Entry | None:
        """Return the entry of ``queue_offset``, or None."""
        entries = self.entries(queue_offset, 1) if queue_offset >= self.first_entry_offset else []
        return entries[0] if entries else None

    @property
    def first_entry_offset(self) -> int:
        """Return the logical offset at which the first file begins."""
        return self.files.start_offset // ENTRY_SIZE_BYTES

    def entries_backward(self, end_offset: int | None = None) -> Iterator[tuple[int, Entry]]:
        """Yield ``(logical offset, entry)`` from the last entry to the first. Most callers need only a few."""
        end = self.max_offset if end_offset is None else end_offset
        first, count = self.first_entry_offset, _ENTRIES_LOOKED_AT
        while end > first:
            start = max(first, end - count)
            for index, entry in reversed(list(enumerate(self.entries(start, end - start)))):
                yield start + index, entry
            end, count = start, _ENTRIES_PER_BLOCK

    # --- start -------------------------------------------------------------------------------------------------------

    def load(self) -> list[str]:
        """Find the files and read the entries in them. Return remarks for people."""
        remarks = self.files.load()
        for file in self.files.files:
            if file.start_offset % ENTRY_SIZE_BYTES or file.size_bytes % ENTRY_SIZE_BYTES:
                remarks.append(f"{file.path} is not a file of a consume queue; all files of the queue are deleted")
                self.files.remove_all()
                break
        self.max_offset = 0
        if self.files.files:
            used_end = self.files.used_end(self.files.files[-1])
            # The tags code of the last entry may end with zeros: round up to whole entries.
            self.max_offset = -(-used_end // ENTRY_SIZE_BYTES)
        self.next_offset = self.flushed_offset = self.max_offset
        if self.ext is not None:
            remarks += self.ext.load()
            for _, (_, _, tags_code) in self.entries_backward():
                if is_ext_address(tags_code):
                    self.ext.continue_behind(tags_code)
                    break
        return remarks

    def correct_min_offset(self, commit_log_min_offset: int) -> None:
        """Find the first entry whose message still exists: entries are in the order of the log."""
        found = end = self.max_offset
        while True:
            found = self._first_from(commit_log_min_offset, end)
            start = max(self.first_entry_offset, found - _ENTRIES_LOOKED_AT)
            before = enumerate(self.entries(start, found - start), start)
            # A damaged entry may have led past messages that exist.
            end = next((place for place, entry in before if entry[0] >= commit_log_min_offset and is_valid(entry)), -1)
            if end < 0:
                break
        while found < self.max_offset and self._is_filler(found):
            found += 1
        self.min_offset = found

    def _first_from(self, commit_log_offset: int, end: int) -> int:
        """Return the first of the entries before ``end`` whose message begins there or later, by bisection; else
        ``end``.
        """
        low, high = self.first_entry_offset, end
        first = self.entries(low, min(2, high - low))
        offsets = [offset for offset, _, _ in first]
        if first and all(map(is_valid, first)) and offsets[0] >= commit_log_offset and offsets == sorted(offsets):
            return low  # nothing has expired, which is the usual case; two entries in order are not damaged
        while low < high:
            middle = (low + high) // 2
            at, entry = self._entry_or_next(middle, high)
            if entry is None or entry[0] >= commit_log_offset:
                high = middle
            else:
                low = at + 1
        return low

    def _entry_or_next(self, queue_offset: int, end: int) -> tuple[int, Entry | None]:
        """Return the first entry at or after ``queue_offset`` that stands for a message."""
        while queue_offset < end:
            for index, entry in enumerate(self.entries(queue_offset, min(_ENTRIES_LOOKED_AT, end - queue_offset))):
                if is_valid(entry):
                    return queue_offset + index, entry
            queue_offset += _ENTRIES_LOOKED_AT
        return end, None

    def _is_filler(self, queue_offset: int) -> bool:
        entry = self.entry(queue_offset)
        return entry is not None and entry[1] == FILLER_SIZE

    # --- flush and retention -----------------------------------------------------------------------------------------

    @property
    def unflushed_bytes(self) -> int:
        """Return the size of what is written but not known to be durable."""
        return (self.max_offset - self.flushed_offset) * ENTRY_SIZE_BYTES

    async def flush(self) -> None:
        """Make all entries durable. Raises ``DiskFault``."""
        end = self.max_offset
        if self.ext is not None:
            await self.ext.flush()  # first: a durable entry must not point to a unit that may get lost
        await self.files.flush(self.flushed_offset * ENTRY_SIZE_BYTES, end * ENTRY_SIZE_BYTES)
        self.flushed_offset = max(self.flushed_offset, min(end, self.max_offset))

    def flush_now(self) -> None:
        """Flush as :meth:`flush` does, but block."""
        if self.ext is not None:
            self.ext.flush_now()
        self.files.flush_now(self.flushed_offset * ENTRY_SIZE_BYTES, self.max_offset * ENTRY_SIZE_BYTES)
        self.flushed_offset = self.max_offset

    def remove_expired_files(self, commit_log_min_offset: int) -> int:
        """Delete files all of whose messages are gone, but never the last one, and return how many were deleted."""
        self.correct_min_offset(commit_log_min_offset)
        end = self.min_offset * ENTRY_SIZE_BYTES
        count = sum(file.end_offset <= end for file in self.files.files[:-1])
        self.files.remove_first(count)
        if self.ext is not None and count:
            for _, _, tags_code in self.entries(self.first_entry_offset, _ENTRIES_PER_BLOCK):
                if is_ext_address(tags_code):
                    self.ext.remove_before(tags_code)
                    break
        return count

    def remove_all(self) -> None:
        """Delete all files; entries cannot be put any more."""
        self.files.remove_all()
        if self.ext is not None:
            self.ext.files.remove_all()

    def close(self) -> None:
        """Unmap all files."""
        self.files.close()
        if self.ext is not None:
            self.ext.files.close()

"""A segment of a partition: one file of batches and its two indexes (Kafka: ``LogSegment``).

::

    00000000000000000000.log         batches, one after the other
    00000000000000000000.index       (offset - base offset (4), position in the log (4)), every few kilobytes one
    00000000000000000000.timeindex   (timestamp in ms (8), offset - base offset (4)): nothing before is younger
    00000000000000000000.txnindex    where a transaction was aborted: see the transaction index

The files are named by the offset of the first record, as 20 decimal digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from struct import Struct
from typing import NamedTuple

from engine.kafka.log.index_file import IndexProbe, SparseIndexFile
from engine.kafka.log.partition_log_config import PartitionLogConfig
from engine.kafka.log.transaction_index import TRANSACTION_INDEX_SUFFIX, TransactionIndex
from engine.kafka.records.record import damaged
from engine.kafka.records.record_batch import HEADER_BYTES, BatchHeader, read_header
from engine.runtime.port import Disk, DiskFault

LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX = ".log", ".index", ".timeindex"
#: Relative offsets and positions are signed 32-bit integers.
RELATIVE_MAX = (1 << 31) - 1

_NAME_DIGITS = 20
INDEX_ENTRY = Struct(">ii")
INDEX_FIELDS = ("relative_offset", "position")
TIME_INDEX_ENTRY = Struct(">qi")
TIME_INDEX_FIELDS = ("timestamp_ms", "relative_offset")


def segment_name(base_offset: int) -> str:
    """Return the name of the segment's files, without suffix."""
    return f"{base_offset:0{_NAME_DIGITS}d}"


def base_offset_of(file_name: str) -> int | None:
    """Return the offset in the name of a log file; None if it is not the name of a log file."""
    name, dot, suffix = file_name.partition(".")
    is_log = f"{dot}{suffix}" == LOG_SUFFIX and len(name) == _NAME_DIGITS and name.isascii() and name.isdigit()
    return int(name) if is_log else None


def is_index(file_name: str) -> bool:
    """Return whether the name is that of an index of a segment."""
    return file_name.endswith((INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX))


class PlacedBatch(NamedTuple):
    """A batch in a segment's log: the position of its first byte, and its header, which is not checked."""

    position: int
    header: BatchHeader

    @property
    def end(self) -> int:
        """Return the position after the batch."""
        return self.position + self.header.size_bytes


class Lookup(NamedTuple):
    """The steps of the search for an offset in a segment.

    :ivar probes: entries of the index that were read, in order.
    :ivar scanned_from: position of the first batch whose header was read.
    :ivar passed: number of batches that were skipped.
    :ivar batch: the first batch that reaches the offset; None: the segment ends before it.
    """

    probes: tuple[IndexProbe, ...]
    scanned_from: int
    passed: int
    batch: PlacedBatch | None


class TimeAndOffset(NamedTuple):
    """The largest timestamp so far, and the last offset of the batch that has it."""

    timestamp_ms: int
    offset: int


_NOTHING_YET = TimeAndOffset(-1, -1)


class LogSegment:
    """A segment of a partition.

    :ivar base_offset: offset of its first record, and the name of its files.
    :ivar largest: the largest timestamp and its offset; -1, -1 while the segment is empty.
    :ivar first_timestamp_ms: timestamp of the first record; None while the segment is empty.
    :ivar aborted: the aborted transactions whose markers are in this segment.
    """

    def __init__(self, disk: Disk, folder: str, base_offset: int, config: PartitionLogConfig) -> None:
        """Open or create the files. Raises ``DiskFault``."""
        path = f"{folder}/{segment_name(base_offset)}"
        self.base_offset = base_offset
        self._disk = disk
        self._config = config
        self._log = disk.open_append(path + LOG_SUFFIX)
        self.index = SparseIndexFile(disk, path + INDEX_SUFFIX, INDEX_ENTRY)
        self.time_index = SparseIndexFile(disk, path + TIME_INDEX_SUFFIX, TIME_INDEX_ENTRY)
        self.aborted = TransactionIndex(disk, path + TRANSACTION_INDEX_SUFFIX)
        #: Bytes appended since the last entry of the index.
        self._unindexed_bytes = 0
        last = self.time_index.last()
        self.largest = _NOTHING_YET if last is None else TimeAndOffset(last.key, base_offset + last.value)
        first = self.batch_at(0)
        self.first_timestamp_ms = None if first is None else first.header.base_timestamp_ms

    @property
    def path(self) -> str:
        """Return the path of the log file."""
        return self._log.path

    @property
    def size_bytes(self) -> int:
        """Return the size of the log file."""
        return self._log.size_bytes

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the paths of all files of the segment."""
        return self._log.path, self.index.path, self.time_index.path, *self.aborted.paths

    # --- writing -----------------------------------------------------------------------------------------------------

    def has_room(self, batches: bytes, first: BatchHeader, last_offset: int) -> bool:
        """Return whether ``batches``, up to ``last_offset``, may still be appended; an empty segment accepts any."""
        if not self.size_bytes:
            return True
        config = self._config
        is_young = (
            self.first_timestamp_ms is None or first.max_timestamp_ms - self.first_timestamp_ms <= config.segment_ms
        )
        return (
            is_young
            and self.size_bytes + len(batches) <= min(config.segment_bytes, RELATIVE_MAX)
            and self.index.size_bytes + INDEX_ENTRY.size <= config.segment_index_bytes
            and last_offset - self.base_offset <= RELATIVE_MAX
        )

    def append(self, data: bytes, headers: list[BatchHeader]) -> None:
        """Append whole batches that have their offsets. The log comes first: an index may lack entries, but must not
        point beyond the log.
        """
        position = self._log.append(data)
        for header in headers:
            self._note(PlacedBatch(position, header))
            position += header.size_bytes

    def _note(self, batch: PlacedBatch) -> None:
        """Update the indexes for a batch that has just been written or read again."""
        header = batch.header
        if self.first_timestamp_ms is None:
            self.first_timestamp_ms = header.base_timestamp_ms
        if header.max_timestamp_ms > self.largest.timestamp_ms:
            self.largest = TimeAndOffset(header.max_timestamp_ms, header.last_offset)
        if self._unindexed_bytes > self._config.index_interval_bytes:
            self._index(batch)
        self._unindexed_bytes += header.size_bytes

    def _index(self, batch: PlacedBatch) -> None:
        """Add index entries. If there is no room for them, the next batch gets them: this one is in the log already."""
        with suppress(DiskFault):
            self.index.append(batch.header.last_offset - self.base_offset, batch.position)
            self._index_time()
            self._unindexed_bytes = 0

    def _index_time(self) -> None:
        last = self.time_index.last()
        if self.size_bytes and (last is None or self.largest.timestamp_ms > last.key):
            self.time_index.append(self.largest.timestamp_ms, self.largest.offset - self.base_offset)

    def finish(self) -> None:
        """Complete the time index: no more batches follow."""
        self._index_time()

    # --- reading -----------------------------------------------------------------------------------------------------

    def batch_at(self, position: int) -> PlacedBatch | None:
        """Return the batch at ``position``, as its header describes it; None if there is no room for one."""
        data = self._log.read_at(position, HEADER_BYTES)
        if len(data) < HEADER_BYTES:
            return None
        header = read_header(data)
        return PlacedBatch(position, header) if header.size_bytes >= HEADER_BYTES else None

    def batches_from(self, position: int) -> Iterator[PlacedBatch]:
        """Yield batches from ``position`` on, up to the first incomplete one."""
        while (batch := self.batch_at(position)) is not None and batch.end <= self.size_bytes:
            yield batch
            position = batch.end

    def lookup(self, offset: int) -> Lookup:
        """Find the batch that holds ``offset``, or the first one after it: search the index, then scan batches."""
        entry, probes = self.index.lookup(offset - self.base_offset)
        start, batches = self._from_entry(entry)
        passed = 0
        for batch in batches:
            if batch.header.last_offset >= offset:
                return Lookup(probes, start, passed, batch)
            passed += 1
        return Lookup(probes, start, passed, None)

    def tail(self) -> Iterator[PlacedBatch]:
        """Yield the batches from the last one that has an index entry."""
        return self._from_entry(self.index.last())[1]

    def _from_entry(self, entry: IndexProbe | None) -> tuple[int, Iterator[PlacedBatch]]:
        """Return the batches from an index entry on, or all batches if the entry does not lead to the batch it was made
        for.

        A damaged entry thus costs a longer scan, and nothing else.
        """
        batches = None if entry is None else self._batches_of(entry)
        return (0, self.batches_from(0)) if entry is None or batches is None else (entry.value, batches)

    def _batches_of(self, entry: IndexProbe) -> Iterator[PlacedBatch] | None:
        batches = self.batches_from(entry.value) if entry.value >= 0 else iter(())
        first = next(batches, None)
        if first is None or first.header.last_offset - self.base_offset != entry.key:
            return None
        return chain((first,), batches)

    def batches_of_time(self, timestamp_ms: int) -> Iterator[PlacedBatch]:
        """Yield the batches that may hold a record of this time or a later one, in order.

        If the index entry does not lead to its batch, all batches from the first on are scanned. Raises
        :class:`KafkaRefusal`, CORRUPT_MESSAGE, where a batch should be and is not.
        """
        entry, _ = self.time_index.lookup(timestamp_ms)
        found = None if entry is None else self._lookup_of_time(entry)
        end = 0 if found is None else found.scanned_from
        next_offset = None if end else self.base_offset
        for batch in self.batches_from(end):
            if batch.header.base_offset != next_offset is not None:
                break
            end, next_offset = batch.end, batch.header.next_offset
            if batch.header.max_timestamp_ms >= timestamp_ms:
                yield batch
        if end < self.size_bytes:
            raise damaged(f"{self.path}, byte {end}: no batch that continues with offset {next_offset}")

    def read(self, position: int, length: int) -> bytes:
        """Return bytes of the log, at most ``length``."""
        return self._log.read_at(position, length)

    # --- repair and end ----------------------------------------------------------------------------------------------

    def index_fault(self) -> str | None:
        """Return what is wrong with the indexes, judged by their ends; None if they are sane (Kafka: ``sanityCheck``).

        This is stricter than Kafka: the last entries must agree with their batches, because they determine the end and
        the age of the log.
        """
        if self.index.is_torn or self.time_index.is_torn:
            return "an entry is torn"
        last, youngest = self.index.last(), self.time_index.last()
        tail = self.batches_from(0) if last is None else self._batches_of(last)
        if last is not None and tail is None:
            return f"the last entry leads to byte {last.value}, where no batch ends with its offset"
        if self.size_bytes and youngest is None:
            return "the time index is empty"
        if youngest is not None and self._lookup_of_time(youngest) is None:
            return "the last entry of the time index does not have the time of its batch"
        if any(batch.header.max_timestamp_ms > self.largest.timestamp_ms for batch in tail or ()):
            return "the time index lacks its last entry"
        return None

    def _lookup_of_time(self, entry: IndexProbe) -> Lookup | None:
        """Return the batch that an entry of the time index was made for; None if the entry does not lead to it."""
        lookup = self.lookup(self.base_offset + entry.value)
        is_there = lookup.batch is not None and lookup.batch.header.max_timestamp_ms == entry.key
        return lookup if is_there else None

    def rebuild(self, end: int) -> None:
        """Cut the log at ``end``, the end of a batch, and rebuild the indexes from the headers before it."""
        self._log.truncate(end)
        self.index.clear()
        self.time_index.clear()
        self._unindexed_bytes = 0
        self.largest, self.first_timestamp_ms = _NOTHING_YET, None
        for batch in self.batches_from(0):
            self._note(batch)
        self.finish()

    async def flush(self) -> None:
        """Make everything durable, the log first."""
        await self._log.flush()
        await self.index.flush()
        await self.time_index.flush()

    def flush_now(self) -> None:
        """Flush and block."""
        self._log.flush_now()
        self.index.flush_now()
        self.time_index.flush_now()

    def close_indexes(self) -> None:
        """Close the indexes; they are opened again when needed."""
        self.index.close()
        self.time_index.close()

    def close(self) -> None:
        """Close the files."""
        self._log.close()
        self.close_indexes()

    def delete(self) -> None:
        """Remove the files."""
        self.close()
        for path in self.paths:
            self._disk.remove(path)

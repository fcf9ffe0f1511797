"""A stretch of a partition: one file of batches and its two indexes (Kafka: ``LogSegment``).

::

    00000000000000000000.log         batches, one after the other
    00000000000000000000.index       (offset - base offset (4), position in the log (4)), every few kilobytes one
    00000000000000000000.timeindex   (timestamp in ms (8), offset - base offset (4)): nothing before is younger
    00000000000000000000.txnindex    where a transaction was aborted: see the transaction index

They are named by the offset of the first record, as 20 decimal digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from struct import Struct
from typing import NamedTuple

from engine.kafka.log.index_file import IndexFile, IndexProbe
from engine.kafka.log.partition_log_config import PartitionLogConfig
from engine.kafka.log.transaction_index import TRANSACTION_INDEX_SUFFIX, TransactionIndex
from engine.kafka.records.record import damaged
from engine.kafka.records.record_batch import HEADER_BYTES, BatchHeader, read_header
from engine.runtime.port import Disk, DiskFault

LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX = ".log", ".index", ".timeindex"
#: Relative offsets and positions are signed numbers of 32 bits.
RELATIVE_MAX = (1 << 31) - 1

_NAME_DIGITS = 20
INDEX_ENTRY = Struct(">ii")
INDEX_FIELDS = ("relative_offset", "position")
TIME_INDEX_ENTRY = Struct(">qi")
TIME_INDEX_FIELDS = ("timestamp_ms", "relative_offset")


def segment_name(base_offset: int) -> str:
    """The name of its files, without suffix."""
    return f"{base_offset:0{_NAME_DIGITS}d}"


def base_offset_of(file_name: str) -> int | None:
    """The offset that the name of a log file tells, or None when it is no such name."""
    name, dot, suffix = file_name.partition(".")
    is_log = f"{dot}{suffix}" == LOG_SUFFIX and len(name) == _NAME_DIGITS and name.isascii() and name.isdigit()
    return int(name) if is_log else None


def is_index(file_name: str) -> bool:
    """Whether it is called as one of a segment's indexes."""
    return file_name.endswith((INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX))


class PlacedBatch(NamedTuple):
    """A batch in a segment's log: its first byte, and its header, which nobody has checked."""

    position: int
    header: BatchHeader

    @property
    def end(self) -> int:
        """Where the next one begins."""
        return self.position + self.header.size_bytes


class Lookup(NamedTuple):
    """How an offset was found in a segment.

    :ivar probes: entries of the index that were looked at, in order.
    :ivar scanned_from: position of the first batch whose header was read.
    :ivar passed: batches that were read over.
    :ivar batch: the first one that reaches the offset; None: the segment ends before.
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
    """:ivar base_offset: of its first record; what its files are called.

    :ivar largest: see :class:`TimeAndOffset`; -1, -1 while the segment is empty.
    :ivar first_timestamp_ms: of the first batch's first record; None while it is empty.
    :ivar aborted: see :class:`~engine.kafka.log.transaction_index.TransactionIndex`.
    """

    def __init__(self, disk: Disk, folder: str, base_offset: int, config: PartitionLogConfig) -> None:
        """Opens its files, or makes them. Raises ``DiskFault``."""
        path = f"{folder}/{segment_name(base_offset)}"
        self.base_offset = base_offset
        self._disk = disk
        self._config = config
        self._log = disk.open_append(path + LOG_SUFFIX)
        self.index = IndexFile(disk, path + INDEX_SUFFIX, INDEX_ENTRY)
        self.time_index = IndexFile(disk, path + TIME_INDEX_SUFFIX, TIME_INDEX_ENTRY)
        self.aborted = TransactionIndex(disk, path + TRANSACTION_INDEX_SUFFIX)
        #: Appended since the last entry of the index.
        self._unindexed_bytes = 0
        last = self.time_index.last()
        self.largest = _NOTHING_YET if last is None else TimeAndOffset(last.key, base_offset + last.value)
        first = self.batch_at(0)
        self.first_timestamp_ms = None if first is None else first.header.base_timestamp_ms

    @property
    def path(self) -> str:
        """Of the log file."""
        return self._log.path

    @property
    def size_bytes(self) -> int:
        """Of the log file."""
        return self._log.size_bytes

    @property
    def paths(self) -> tuple[str, ...]:
        """Of all its files."""
        return self._log.path, self.index.path, self.time_index.path, *self.aborted.paths

    # --- writing -----------------------------------------------------------------------------------------------------

    def has_room(self, batches: bytes, first: BatchHeader, last_offset: int) -> bool:
        """Whether ``batches``, up to ``last_offset``, may still be appended; an empty segment takes any."""
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
        """Append whole batches, with offsets. The log first: an index may lack entries, but not point beyond it."""
        position = self._log.append(data)
        for header in headers:
            self._note(PlacedBatch(position, header))
            position += header.size_bytes

    def _note(self, batch: PlacedBatch) -> None:
        """Let the indexes know a batch that has just been written, or read again."""
        header = batch.header
        if self.first_timestamp_ms is None:
            self.first_timestamp_ms = header.base_timestamp_ms
        if header.max_timestamp_ms > self.largest.timestamp_ms:
            self.largest = TimeAndOffset(header.max_timestamp_ms, header.last_offset)
        if self._unindexed_bytes > self._config.index_interval_bytes:
            self._index(batch)
        self._unindexed_bytes += header.size_bytes

    def _index(self, batch: PlacedBatch) -> None:
        """Where there is no room for the entry, the next batch gets one: this one stands in the log already."""
        with suppress(DiskFault):
            self.index.append(batch.header.last_offset - self.base_offset, batch.position)
            self._index_time()
            self._unindexed_bytes = 0

    def _index_time(self) -> None:
        last = self.time_index.last()
        if self.size_bytes and (last is None or self.largest.timestamp_ms > last.key):
            self.time_index.append(self.largest.timestamp_ms, self.largest.offset - self.base_offset)

    def finish(self) -> None:
        """No batch follows: what the time index does not know yet it learns now."""
        self._index_time()

    # --- reading -----------------------------------------------------------------------------------------------------

    def batch_at(self, position: int) -> PlacedBatch | None:
        """The batch that begins there, as its header says; None where there is no room for one."""
        data = self._log.read_at(position, HEADER_BYTES)
        if len(data) < HEADER_BYTES:
            return None
        header = read_header(data)
        return PlacedBatch(position, header) if header.size_bytes >= HEADER_BYTES else None

    def batches_from(self, position: int) -> Iterator[PlacedBatch]:
        """One after the other, up to the first that is not whole."""
        while (batch := self.batch_at(position)) is not None and batch.end <= self.size_bytes:
            yield batch
            position = batch.end

    def lookup(self, offset: int) -> Lookup:
        """Find the batch that holds ``offset``, or the first behind it: halve the index, then walk over batches."""
        entry, probes = self.index.lookup(offset - self.base_offset)
        start, batches = self._from_entry(entry)
        passed = 0
        for batch in batches:
            if batch.header.last_offset >= offset:
                return Lookup(probes, start, passed, batch)
            passed += 1
        return Lookup(probes, start, passed, None)

    def tail(self) -> Iterator[PlacedBatch]:
        """The batches from the last one on that has an entry."""
        return self._from_entry(self.index.last())[1]

    def _from_entry(self, entry: IndexProbe | None) -> tuple[int, Iterator[PlacedBatch]]:
        """The batches from that entry's on; all of them, when it does not lead to the batch that it was made for.

        So a damaged entry costs a longer walk, and nothing else.
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
        """Those that may hold a record of that time or a younger one, in order.

        Looked at are all from the first on, when the index's entry does not lead to its batch. Raises
        :class:`KafkaRefusal`, CORRUPT_MESSAGE, at what is no batch in its place.
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
            raise damaged(f"{self.path}, byte {end}: no batch that goes on with offset {next_offset}")

    def read(self, position: int, length: int) -> bytes:
        """Bytes of the log, as many as there are."""
        return self._log.read_at(position, length)

    # --- repair and end ----------------------------------------------------------------------------------------------

    def index_fault(self) -> str | None:
        """What is wrong with the indexes, as far as their ends tell; None: they are sane (Kafka: ``sanityCheck``).

        Stricter than Kafka: the last entries must agree with their batches, for the log's end and age follow from them.
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
            return "the last entry of the time index has not the time of its batch"
        if any(batch.header.max_timestamp_ms > self.largest.timestamp_ms for batch in tail or ()):
            return "the time index lacks its last entry"
        return None

    def _lookup_of_time(self, entry: IndexProbe) -> Lookup | None:
        """The batch that an entry of the time index was made for; None, when it does not lead there."""
        lookup = self.lookup(self.base_offset + entry.value)
        is_there = lookup.batch is not None and lookup.batch.header.max_timestamp_ms == entry.key
        return lookup if is_there else None

    def rebuild(self, end: int) -> None:
        """Cut the log at ``end``, the end of a batch, and make the indexes anew from the headers before it."""
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
        """As ``flush``, but blocks."""
        self._log.flush_now()
        self.index.flush_now()
        self.time_index.flush_now()

    def close_indexes(self) -> None:
        """They are opened again when they are needed."""
        self.index.close()
        self.time_index.close()

    def close(self) -> None:
        """The files stay on the disk."""
        self._log.close()
        self.close_indexes()

    def delete(self) -> None:
        """Remove the files."""
        self.close()
        for path in self.paths:
            self._disk.remove(path)

"""A partition: all records between its first offset and its end (Kafka: ``UnifiedLog`` over ``LocalLog``).

::

    append -> check, give offsets -> active segment -> roll when it is full, and flush what is closed
    read   -> segment by its name -> sparse index by binary search -> batches one after the other

A broker here never decompresses a batch: it reads the header, changes base offset and leader epoch, and stores the rest
unchanged. Only a search by time opens a batch. (Kafka's broker stores the batch unchanged, too, but decompresses it
once on arrival to check its records.) With one replica everything that is written may be read (high watermark = log
end); with several, :mod:`engine.kafka.replication` sets the limit. Records of an open transaction are stored like all
others, and a marker after them ends it. A ``read_committed`` consumer reads up to the first undecided record and
receives the list of aborted transactions. Simplified: no compaction, no tiered storage.
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from contextlib import suppress
from typing import NamedTuple

from engine.kafka.log.leader_epochs import LeaderEpochs
from engine.kafka.log.log_recovery import LogRecoveryReport, PartitionRecoveryPoint, next_offset_of, repair
from engine.kafka.log.log_segment import LOG_SUFFIX, LogSegment, Lookup, base_offset_of, is_index, segment_name
from engine.kafka.log.partition_log_config import PartitionLogConfig
from engine.kafka.log.producer_states import SNAPSHOT_SUFFIX, ProducerStates
from engine.kafka.log.transaction_index import AbortedRange
from engine.kafka.records.error_code import KafkaErrorCode, KafkaRefusal
from engine.kafka.records.record_batch import BatchHeader, checked_header, decode_batch, placed, read_header
from engine.kafka.records.transaction_marker import TransactionMarker, is_commit
from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.port import Clock, Disk, DiskFault

_log = logging.getLogger("glassmq.kafka")


class AppendResult(NamedTuple):
    """Result of an append. If ``is_duplicate``, the batch was already stored, at these offsets."""

    base_offset: int
    last_offset: int
    log_append_ms: int
    is_duplicate: bool = False


class ReadResult(NamedTuple):
    """Result of a read.

    :ivar data: whole batches; the first may begin before the requested offset. Empty at the end of the log.
    :ivar high_watermark: records from this offset on may not be read yet.
    """

    data: bytes
    high_watermark: int
    log_start_offset: int


class Location(NamedTuple):
    """The steps of the search for an offset in a partition.

    :ivar segment: the segment that holds it, chosen by name among ``segment_count``.
    """

    segment: LogSegment
    segment_count: int
    lookup: Lookup


class PartitionLog:
    """One partition: ``load()``, append and read, ``close()``.

    :ivar folder: ``<topic>-<partition>``, below the node's data folder.
    :ivar segments: in order; the last one is written to.
    :ivar log_end_offset: offset of the next record.
    """

    def __init__(
        self,
        disk: Disk,
        clock: Clock,
        folder: str,
        config: PartitionLogConfig | None = None,
        tasks: BackgroundTasks | None = None,
    ) -> None:
        """Create a partition. ``tasks`` flush closed segments; without them, the caller flushes."""
        self.folder = folder
        self.config = config or PartitionLogConfig()
        self.segments: list[LogSegment] = []
        self.log_end_offset = 0
        self.producers = ProducerStates()
        self.epochs = LeaderEpochs(disk, folder)
        self._disk = disk
        self._clock = clock
        self._tasks = tasks
        self._is_flushing_closed = False
        self._recovery_offset = 0
        #: A flush during which the log was cut says nothing about what was appended after the cut.
        self._truncations = 0
        #: None if there is one replica.
        self._high_watermark: int | None = None

    # --- life cycle --------------------------------------------------------------------------------------------------

    def load(self) -> LogRecoveryReport:
        """Open and repair the files. Blocks: only for start-up.

        Raises ``DiskFull``, ``DiskFault``; :class:`KafkaRefusal` for  messages in an older format, which are kept.
        """
        point = PartitionRecoveryPoint.read(self._disk, self.folder)
        names = self._disk.list_folder(self.folder)
        orphans = [name for name in names if is_index(name) and name.partition(".")[0] + LOG_SUFFIX not in names]
        for name in orphans:  # otherwise a new segment of that name would continue after old entries
            self._disk.remove(f"{self.folder}/{name}")
        bases = [base for base in map(base_offset_of, names) if base is not None]
        self.segments = [LogSegment(self._disk, self.folder, base, self.config) for base in bases or [0]]
        report = repair(self.segments, point)
        report.lines += [f"{self.folder}/{name}: deleted, because its log is gone" for name in orphans]
        self.log_end_offset = next_offset_of(self._active)
        self.epochs.ends_at(self.log_end_offset)
        self._load_producers()
        for segment in self.segments:
            segment.close_indexes()
        # A check is not a flush: after another crash before the next flush, the same check must be made.
        self._write_recovery_point(min(point.offset, self.log_end_offset), is_clean=False)
        return report

    def close(self, *, is_clean: bool = True) -> None:
        """Flush everything and record a clean shutdown; or leave it as it is, as the end of a process does."""
        if is_clean:
            self._active.finish()
            for segment in self._unflushed():
                segment.flush_now()
            self._disk.write_whole(self._snapshot_path(), self.producers.encode())
            self._write_recovery_point(self.log_end_offset, is_clean=True)
        for segment in self.segments:
            segment.close()

    def _load_producers(self) -> None:
        """Load the producers' states from the snapshot of a clean shutdown, else from the headers of all batches."""
        path = self._snapshot_path()
        states = ProducerStates.decode(self._disk.read_whole(path)) if self._disk.exists(path) else None
        if states is None:
            self._find_producers()
        else:
            self.producers = states
        for name in self._disk.list_folder(self.folder):
            if name.endswith(SNAPSHOT_SUFFIX):  # valid only until the next append
                self._disk.remove(f"{self.folder}/{name}")

    def _find_producers(self) -> None:
        """Find the producers' states and the transactions in all batches."""
        self.producers = ProducerStates()
        for segment in self.segments:
            segment.aborted.clear()
            for position, header in segment.batches_from(0):
                # It is unknown what a damaged marker said: its transaction stays undecided.
                with suppress(KafkaRefusal):
                    self._note(segment, header, segment.read(position, header.size_bytes) if header.is_control else b"")

    def _snapshot_path(self) -> str:
        return f"{self.folder}/{segment_name(self.log_end_offset)}{SNAPSHOT_SUFFIX}"

    def _write_recovery_point(self, offset: int, *, is_clean: bool) -> None:
        self._recovery_offset = offset
        PartitionRecoveryPoint(offset, is_clean).write(self._disk, self.folder)

    # --- stored data -------------------------------------------------------------------------------------------------

    @property
    def log_start_offset(self) -> int:
        """Return the offset of the first record that still exists."""
        return self.segments[0].base_offset

    @property
    def high_watermark(self) -> int:
        """Return the offset up to which consumers may read: with one replica, the end of the log."""
        return self.log_end_offset if self._high_watermark is None else self._high_watermark

    @high_watermark.setter
    def high_watermark(self, offset: int) -> None:
        self._high_watermark = offset

    @property
    def last_stable_offset(self) -> int:
        """Return the offset from which records may belong to an undecided transaction."""
        undecided = self.producers.first_undecided_offset
        return self.high_watermark if undecided is None else min(undecided, self.high_watermark)

    def aborted_between(self, offset: int, end_offset: int) -> list[AbortedRange]:
        """Return the aborted transactions that overlap these offsets, ordered by their first offsets."""
        found = [
            one
            for segment in self.segments
            for one in segment.aborted.entries
            if one.last_offset >= offset and one.first_offset < end_offset
        ]
        return sorted(found, key=lambda one: one.first_offset)

    @property
    def size_bytes(self) -> int:
        """Return the size of all log files, without indexes."""
        return sum(segment.size_bytes for segment in self.segments)

    @property
    def _active(self) -> LogSegment:
        return self.segments[-1]

    # --- append ------------------------------------------------------------------------------------------------------

    def append(self, batches: bytes, leader_epoch: int = 0) -> AppendResult:
        """Append whole batches together; they get the next offsets, whatever offsets they carry.

        Raises :class:`KafkaRefusal`, in which case nothing is appended; ``DiskFull``, ``DiskFault``.
        """
        headers = self._checked(batches)
        if len(headers) == 1 and (known := self.producers.known(headers[0])) is not None:
            return AppendResult(known.base_offset, known.last_offset, self._clock.now_ms(), is_duplicate=True)
        next_offset = self.log_end_offset
        position = 0
        stored, stored_headers = [], []
        for header in headers:
            stored.append(placed(batches[position : position + header.size_bytes], next_offset, leader_epoch))
            stored_headers.append(header._replace(base_offset=next_offset, leader_epoch=leader_epoch))
            position += header.size_bytes
            next_offset += header.last_offset_delta + 1
        return self._store(b"".join(stored), stored_headers)

    def append_marker(self, marker: TransactionMarker, leader_epoch: int = 0) -> AppendResult:
        """Append the marker that ends a transaction. Raises ``DiskFull``, ``DiskFault``."""
        data = placed(marker.encode(self._clock.now_ms()), self.log_end_offset, leader_epoch)
        return self._store(data, [read_header(data)])

    def append_copy(self, batches: bytes) -> AppendResult:
        """Append what the leader of this partition has after the end of this log, byte for byte.

        Kafka: ``UnifiedLog.appendAsFollower``. Raises :class:`KafkaRefusal`, in which case nothing is appended;
        ``DiskFull``, ``DiskFault``.
        """
        headers = []
        next_offset, position = self.log_end_offset, 0
        while position < len(batches):
            header = checked_header(batches, position)
            if header.base_offset != next_offset:
                raise KafkaRefusal(
                    KafkaErrorCode.OFFSET_OUT_OF_RANGE, f"a copy of offset {header.base_offset}: {next_offset} is next"
                )
            headers.append(header)
            next_offset, position = header.next_offset, position + header.size_bytes
        return self._store(batches, headers)

    def _store(self, data: bytes, headers: list[BatchHeader]) -> AppendResult:
        base_offset, next_offset = headers[0].base_offset, headers[-1].next_offset
        if not self._active.has_room(data, headers[0], next_offset - 1):
            self._roll()
        for header in headers:
            self.epochs.appended(header.leader_epoch, header.base_offset)
        self._active.append(data, headers)
        self.log_end_offset = next_offset
        position = 0
        for header in headers:
            self._note(self._active, header, data[position : position + header.size_bytes])
            position += header.size_bytes
        return AppendResult(base_offset, next_offset - 1, self._clock.now_ms())

    def _note(self, segment: LogSegment, header: BatchHeader, batch: bytes) -> None:
        """Track producers and transactions. Only a marker's ``batch`` is decoded."""
        if not header.is_control:
            self.producers.appended(header)
            return
        is_aborted = not is_commit(batch)
        first_offset = self.producers.ended(header)
        if first_offset >= 0 and is_aborted:
            undecided = self.producers.first_undecided_offset
            stable_offset = header.next_offset if undecided is None else undecided
            segment.aborted.append(AbortedRange(header.producer_id, first_offset, header.last_offset, stable_offset))

    def truncate_to(self, offset: int) -> int:
        """Cut off the batches that reach ``offset`` or come after it; return the number of records cut off.

        Kafka: ``UnifiedLog.truncateTo``. Raises ``DiskFault``.
        """
        before = self.log_end_offset
        if offset >= before:
            return 0
        self._truncations += 1
        while len(self.segments) > 1 and self._active.base_offset >= offset:
            self.segments.pop().delete()
        batch = self._active.lookup(offset).batch
        self._active.rebuild(self._active.size_bytes if batch is None else batch.position)
        self.log_end_offset = next_offset_of(self._active)
        self.epochs.ends_at(self.log_end_offset)
        self._find_producers()
        if self._recovery_offset > self.log_end_offset:
            self._write_recovery_point(self.log_end_offset, is_clean=False)
        return before - self.log_end_offset

    def _checked(self, batches: bytes) -> list[BatchHeader]:
        headers = []
        position = 0
        while position < len(batches):
            header = checked_header(batches, position)
            if header.size_bytes > self.config.max_message_bytes:
                raise KafkaRefusal(
                    KafkaErrorCode.MESSAGE_TOO_LARGE,
                    f"a batch of {header.size_bytes} bytes; allowed: {self.config.max_message_bytes}",
                )
            _ = header.codec  # raises for an unknown codec, which no consumer could decompress
            if header.is_control or header.base_sequence < 0 <= header.producer_id:
                raise KafkaRefusal(
                    KafkaErrorCode.INVALID_RECORD,
                    "a batch of control records, or of an idempotent producer without its number: neither is allowed",
                )
            if header.record_count < 1 or header.last_offset_delta != header.record_count - 1:
                raise KafkaRefusal(
                    KafkaErrorCode.INVALID_RECORD,
                    f"a batch of {header.record_count} records whose last is number {header.last_offset_delta}",
                )
            headers.append(header)
            position += header.size_bytes
        if not headers:
            raise KafkaRefusal(KafkaErrorCode.INVALID_RECORD, "no batch: there must be at least one")
        if len(headers) > 1 and any(header.producer_id >= 0 for header in headers):
            raise KafkaRefusal(
                KafkaErrorCode.INVALID_RECORD, f"{len(headers)} batches of an idempotent producer: one at a time"
            )
        return headers

    def _roll(self) -> None:
        """Begin a new segment, and flush the old one in the background (Kafka: ``UnifiedLog.roll``)."""
        self._active.finish()
        self.segments.append(LogSegment(self._disk, self.folder, self.log_end_offset, self.config))
        if self._tasks is not None and not self._is_flushing_closed:
            self._is_flushing_closed = True
            self._tasks.spawn(self._flush_closed(), f"flush {self.folder}")

    async def _flush_closed(self) -> None:
        """Flush until all segments but the active one are durable. After a fault the next roll tries again."""
        try:
            while self._recovery_offset < self._active.base_offset:
                await self._flush_up_to(self._active.base_offset)
        except DiskFault as fault:
            _log.warning("%s: closed segments are not flushed: %s", self.folder, fault)
        finally:
            self._is_flushing_closed = False

    async def flush(self) -> None:
        """Make what was appended before this call durable. Raises ``DiskFault``."""
        await self._flush_up_to(self.log_end_offset)

    async def _flush_up_to(self, end_offset: int) -> None:
        truncations = self._truncations
        for segment in self._unflushed():
            # The retention or a truncation may have deleted it meanwhile.
            if segment in self.segments and segment.base_offset < end_offset:
                await segment.flush()
        if truncations == self._truncations:
            self._write_recovery_point(max(self._recovery_offset, end_offset), is_clean=False)

    def _unflushed(self) -> list[LogSegment]:
        """Return the segments with data that is not certainly durable."""
        return self.segments[self._number_of(min(self._recovery_offset, self.log_end_offset)) :]

    def _number_of(self, offset: int) -> int:
        """Return the number of the segment that holds ``offset``, by name; 0 if all segments begin after it."""
        return max(0, bisect_right(self.segments, offset, key=lambda segment: segment.base_offset) - 1)

    # --- read --------------------------------------------------------------------------------------------------------

    def locate(self, offset: int) -> Location:
        """Find ``offset``. Raises :class:`KafkaRefusal`, OFFSET_OUT_OF_RANGE."""
        if not self.log_start_offset <= offset <= self.log_end_offset:
            raise KafkaRefusal(
                KafkaErrorCode.OFFSET_OUT_OF_RANGE,
                f"offset {offset}: {self.log_start_offset} to {self.log_end_offset} are there",
            )
        segment = self.segments[self._number_of(offset)]
        return Location(segment, len(self.segments), segment.lookup(offset))

    def read(self, offset: int, max_bytes: int, up_to: int | None = None) -> ReadResult:
        """Return whole batches of one segment, from ``offset`` on, at least one and otherwise at most ``max_bytes``.

        :param up_to: no batch that ends after this offset; None: no limit.

        Each batch is checked before it is returned. Those before a damaged one are served, and a read of the damaged
        one raises :class:`KafkaRefusal`, CORRUPT_MESSAGE. (A Kafka broker sends unchecked bytes, and its consumer
        checks them.)
        """
        segment, _, lookup = self.locate(offset)
        if up_to is not None and lookup.batch is not None and lookup.batch.header.next_offset > up_to:
            return ReadResult(b"", self.high_watermark, self.log_start_offset)
        if lookup.batch is None:
            if offset < self.log_end_offset:
                raise KafkaRefusal(
                    KafkaErrorCode.CORRUPT_MESSAGE, f"offset {offset}: {segment.path} is damaged after its last batch"
                )
            return ReadResult(b"", self.high_watermark, self.log_start_offset)
        position, first = lookup.batch.position, lookup.batch.header
        data = segment.read(position, max(max_bytes, first.size_bytes))
        checked_header(data)
        if first.base_offset > offset:
            raise KafkaRefusal(
                KafkaErrorCode.CORRUPT_MESSAGE,
                f"offset {offset}: {segment.path} goes on with {first.base_offset} at byte {position}",
            )
        end, next_offset = first.size_bytes, first.next_offset
        while end < len(data):
            try:
                header = checked_header(data, end)
            except KafkaRefusal:
                break
            if header.base_offset != next_offset or (up_to is not None and header.next_offset > up_to):
                break
            end, next_offset = end + header.size_bytes, header.next_offset
        return ReadResult(data[:end], self.high_watermark, self.log_start_offset)

    def offset_for_time(self, timestamp_ms: int) -> tuple[int, int] | None:
        """Return (timestamp, offset) of the first record with this timestamp or a later one; None if all are earlier.

        Raises :class:`KafkaRefusal`, CORRUPT_MESSAGE, where damage may hide one. (Kafka trusts the time index.)
        """
        for segment in self.segments:
            if segment.largest.timestamp_ms < timestamp_ms:
                continue
            for batch in segment.batches_of_time(timestamp_ms):
                for record in decode_batch(segment.read(batch.position, batch.header.size_bytes)):
                    if record.timestamp_ms >= timestamp_ms:
                        return record.timestamp_ms, record.offset
        return None

    # --- retention ---------------------------------------------------------------------------------------------------

    def delete_old(self) -> list[str]:
        """Delete segments beyond the retention, but never the active one; return the paths of their logs."""
        deleted = []
        while len(self.segments) > 1 and self._is_over(self.segments[0]):
            segment = self.segments.pop(0)
            deleted.append(segment.path)
            segment.delete()
        if deleted:
            self.epochs.begins_at(self.log_start_offset)
        return deleted

    def _is_over(self, segment: LogSegment) -> bool:
        config = self.config
        is_old = 0 <= config.retention_ms < self._clock.now_ms() - segment.largest.timestamp_ms
        # Like Kafka, keep a segment whose removal would bring the log below the limit.
        is_much = 0 <= config.retention_bytes <= self.size_bytes - segment.size_bytes
        return is_old or is_much

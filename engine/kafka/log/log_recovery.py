"""Recovery of a partition when it is opened (Kafka: ``LogLoader``).

After a clean shutdown only the ends of the log and of its indexes are checked, so that a million records open as
quickly as ten. If they differ from what the shutdown recorded, and after any other end, every batch that may not have
been flushed is checked. The log is cut at the first damaged batch, and everything after it is dropped, too, as in
Kafka: offsets must have no gaps, and nothing after it was guaranteed to be durable. What was cut off or is missing is
counted and reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import NamedTuple

from engine.kafka.log.log_segment import RELATIVE_MAX, LogSegment, PlacedBatch
from engine.kafka.records.error_code import KafkaErrorCode, KafkaRefusal
from engine.kafka.records.record_batch import LENGTH_END_BYTES, MAGIC, checked_header, is_older_message
from engine.runtime.port import Disk

#: Our own file; Kafka keeps the same data in two files of the parent folder: ``recovery-point-offset-checkpoint``,
#: ``.kafka_cleanshutdown``.
STATE_FILE = "glassmq-recovery-point"

_LENGTH_BYTES = 4


class PartitionRecoveryPoint(NamedTuple):
    """Offset up to which a partition is known to be durable.

    :ivar offset: everything before it is durable.
    :ivar is_clean: the partition was closed cleanly.
    """

    offset: int
    is_clean: bool

    def write(self, disk: Disk, folder: str) -> None:
        """Write the file durably."""
        disk.write_whole(f"{folder}/{STATE_FILE}", f"{'clean' if self.is_clean else 'open'} {self.offset}\n".encode())

    @classmethod
    def read(cls, disk: Disk, folder: str) -> PartitionRecoveryPoint:
        """Read the file; if it is missing or cannot be read, nothing counts as durable."""
        path = f"{folder}/{STATE_FILE}"
        try:
            word, offset = disk.read_whole(path).decode("ascii").split() if disk.exists(path) else ("", "0")
            return cls(int(offset), word == "clean")
        except ValueError:
            return cls(0, is_clean=False)


@dataclass(slots=True)
class LogRecoveryReport:
    """The report of a recovery: what was checked and repaired.

    :ivar batches_checked: number of batches whose checksum was checked.
    :ivar cut_bytes: bytes cut off at the end of the log, or deleted after it.
    :ivar lines: descriptions of the repairs.
    """

    batches_checked: int = 0
    cut_bytes: int = 0
    lines: list[str] = field(default_factory=list)


def repair(segments: list[LogSegment], point: PartitionRecoveryPoint) -> LogRecoveryReport:
    """Repair what is damaged; ``segments`` is in order, and shorter afterwards if some had to be deleted.

    Raises ``DiskFault``; :class:`KafkaRefusal` if a log continues in an older format, which is left as it is.
    """
    report = LogRecoveryReport()
    for number, segment in enumerate(segments):
        end_offset = segments[number + 1].base_offset if number + 1 < len(segments) else None
        fault = segment.index_fault()
        if _is_durable(segment, end_offset, point):
            if fault is None:
                continue
            if _end_of(segment, segment.batches_from(0)).position == segment.size_bytes:
                report.lines.append(f"{segment.path}: {fault}: the indexes are rebuilt")
                segment.rebuild(segment.size_bytes)
                continue
            if end_offset is not None:
                # A walk from the first batch ends at the damage; entries after it still lead to the batches there.
                report.lines.append(
                    f"{segment.path}: {fault}: the indexes are kept, because the log is damaged as well"
                )
                continue
        end = _checked_end(segment, end_offset, report)
        cut_bytes = segment.size_bytes - end
        segment.rebuild(end)
        if cut_bytes:
            report.cut_bytes += cut_bytes
            report.lines.append(f"{segment.path}: cut at byte {end}, {cut_bytes} bytes before its end")
            _drop_behind(segments, number, report)
            break
    end_offset = next_offset_of(segments[-1])
    if end_offset < point.offset:
        report.lines.append(f"{segments[-1].path}: ends at offset {end_offset}, but was durable up to {point.offset}")
    return report


def _is_durable(segment: LogSegment, end_offset: int | None, point: PartitionRecoveryPoint) -> bool:
    """Return whether nothing in the segment can be torn. The last segment (no ``end_offset``) must end where the clean
    shutdown recorded.

    Otherwise new records would get offsets that are taken, or would be stored after bytes that cannot be read.
    """
    if end_offset is not None:
        return point.is_clean or end_offset <= point.offset
    return point.is_clean and _end_of(segment, segment.tail()) == LogEnd(segment.size_bytes, point.offset)


def _checked_end(segment: LogSegment, end_offset: int | None, report: LogRecoveryReport) -> int:
    """Return the end of the last batch that is undamaged and in its place.

    The log of a real Kafka may have gaps from compaction; offsets then continue after the gap.
    """
    end, next_offset = 0, segment.base_offset
    for batch, after in pairwise(chain(segment.batches_from(0), (None,))):
        assert batch is not None, "only the last one has none behind it"
        limit = end_offset if after is None else after.header.base_offset
        is_jump = batch.header.base_offset > next_offset and (limit is None or batch.header.next_offset > limit)
        try:
            checked_header(segment.read(batch.position, batch.header.size_bytes))
        except KafkaRefusal as refusal:
            report.lines.append(f"{segment.path}, byte {batch.position}: {refusal}")
            break
        if is_jump or not _fits(segment, batch, next_offset):
            report.lines.append(
                f"{segment.path}, byte {batch.position}: offset {batch.header.base_offset} where {next_offset} is next"
            )
            break
        report.batches_checked += 1
        end, next_offset = batch.end, batch.header.next_offset
    _refuse_older(segment, end)
    return end


def _refuse_older(segment: LogSegment, position: int) -> None:
    """Refuse whole messages of an older format: they are not damage and are not cut off. Raises
    :class:`KafkaRefusal`.
    """
    length = int.from_bytes(segment.read(position, LENGTH_END_BYTES)[-_LENGTH_BYTES:], "big")
    is_there = length <= segment.size_bytes - position - LENGTH_END_BYTES
    if is_there and is_older_message(segment.read(position, LENGTH_END_BYTES + length)):
        raise KafkaRefusal(
            KafkaErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
            f"{segment.path}, byte {position}: messages older than magic {MAGIC}, undamaged: they cannot be read here",
        )


class LogEnd(NamedTuple):
    """End of the last undamaged batch."""

    position: int
    next_offset: int


def _fits(segment: LogSegment, batch: PlacedBatch, next_offset: int) -> bool:
    """Return whether a batch's offsets, which no checksum covers, can be right: after the others, and in this
    segment.
    """
    return batch.header.base_offset >= next_offset and batch.header.last_offset - segment.base_offset <= RELATIVE_MAX


def _end_of(segment: LogSegment, batches: Iterator[PlacedBatch]) -> LogEnd:
    end = LogEnd(0, segment.base_offset)
    for batch in batches:
        if not _fits(segment, batch, end.next_offset):
            break
        end = LogEnd(batch.end, batch.header.next_offset)
    return end


def next_offset_of(segment: LogSegment) -> int:
    """Return the offset after the last record of the segment."""
    return _end_of(segment, segment.tail()).next_offset


def _drop_behind(segments: list[LogSegment], number: int, report: LogRecoveryReport) -> None:
    for segment in segments[number + 1 :]:
        report.cut_bytes += segment.size_bytes
        report.lines.append(f"{segment.path}: deleted with {segment.size_bytes} bytes, for it lies behind the cut")
        segment.delete()
    del segments[number + 1 :]

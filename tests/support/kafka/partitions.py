"""Partitions for tests, on a lab's disk or a real one."""

from __future__ import annotations

from collections.abc import Sequence

from engine.kafka.log.partition_log import PartitionLog
from engine.kafka.log.partition_log_config import PartitionLogConfig
from engine.kafka.records.compression import Codec
from engine.kafka.records.record import Record
from engine.kafka.records.record_batch import decode_batch, encode_batch, read_header
from engine.runtime.port import Clock, Disk

FOLDER = "Orders-0"
BEGIN_MS = 1_700_000_000_000


class StillClock:
    """A clock that somebody sets."""

    def __init__(self, now_ms: int = BEGIN_MS) -> None:
        self.time_ms = now_ms

    def now_ms(self) -> int:
        return self.time_ms

    def monotonic_us(self) -> int:
        return self.time_ms * 1_000


def opened_log(disk: Disk, clock: Clock | None = None, /, **settings: int) -> PartitionLog:
    """A partition that has been loaded."""
    log = PartitionLog(disk, clock or StillClock(), FOLDER, PartitionLogConfig(**settings))
    log.load()
    return log


def orders(count: int, first: int = 0, *, value_bytes: int = 20, step_ms: int = 1) -> list[Record]:
    """``order-0000`` and so on from number ``first`` on, each ``step_ms`` younger than the one before."""
    return [
        Record(number, BEGIN_MS + number * step_ms, b"order-%04d" % number, (b"%d." % number).ljust(value_bytes, b"x"))
        for number in range(first, first + count)
    ]


def batch_of(count: int, first: int = 0, codec: Codec = Codec.NONE, **header: int) -> bytes:
    """A batch of :func:`orders`."""
    return encode_batch(orders(count, first), codec, **header)


def records_in(data: bytes) -> list[Record]:
    """All records of one batch after the other."""
    records: list[Record] = []
    position = 0
    while position < len(data):
        records += decode_batch(data, position)
        position += read_header(data, position).size_bytes
    return records


def records_of(log: PartitionLog, start: int | None = None) -> Sequence[Record]:
    """All from ``start`` on, fetched as a consumer would."""
    offset = log.log_start_offset if start is None else start
    records: list[Record] = []
    while fetched := log.read(offset, 10_000).data:
        records += [record for record in records_in(fetched) if record.offset >= offset]
        offset = records[-1].offset + 1
    return records

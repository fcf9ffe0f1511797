"""Records that are sent together (Kafka: ``ProducerBatch``)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from engine.kafka.records.compression import Codec
from engine.kafka.records.record import Record, encode_record
from engine.kafka.records.record_batch import HEADER_BYTES, TRANSACTIONAL, encode_batch
from engine.kafka.records.topic_partition import TopicPartition
from engine.runtime.state_table import successor


class BatchState(StrEnum):
    """State of a batch."""

    #: Accepts records.
    FILLING = "filling"
    #: Accepts no more records, and was sent.
    IN_FLIGHT = "in-flight"
    #: Waits to be sent again.
    WAITING = "waiting"
    ACKNOWLEDGED = "acknowledged"
    FAILED = "failed"


_STEPS = {
    BatchState.FILLING: (BatchState.IN_FLIGHT, BatchState.FAILED),
    BatchState.IN_FLIGHT: (BatchState.ACKNOWLEDGED, BatchState.WAITING, BatchState.FAILED),
    BatchState.WAITING: (BatchState.IN_FLIGHT, BatchState.FAILED),
}


class RecordMetadata(NamedTuple):
    """The position at which a record was stored. ``offset`` -1: unknown."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int


class ProducerId(NamedTuple):
    """Id and epoch of the producer of a batch; -1, -1 without idempotence."""

    producer_id: int
    epoch: int


NO_PRODUCER_ID = ProducerId(-1, -1)


@dataclass(slots=True, eq=False)
class ProducerBatch:
    """Records for one partition that are sent together.

    :ivar size_bytes: uncompressed size with the header.
    :ivar base_sequence: sequence number of its first record; -1 until it was first sent.
    :ivar not_before_ms: a batch that will be sent again waits until then.
    """

    place: TopicPartition
    created_ms: int
    records: list[Record] = field(default_factory=list)
    results: list[asyncio.Future[RecordMetadata]] = field(default_factory=list)
    size_bytes: int = HEADER_BYTES
    state: BatchState = BatchState.FILLING
    tries: int = 0
    not_before_ms: int = 0
    owner: ProducerId = NO_PRODUCER_ID
    base_sequence: int = -1
    is_transactional: bool = False

    def has_room(self, size_bytes: int, limit_bytes: int) -> bool:
        """Return whether a record of this size fits in."""
        return self.state is BatchState.FILLING and self.size_bytes + size_bytes <= limit_bytes

    def add(self, record: Record, size_bytes: int, result: asyncio.Future[RecordMetadata]) -> None:
        """Add a record."""
        assert self.state is BatchState.FILLING
        self.records.append(record)
        self.results.append(result)
        self.size_bytes += size_bytes

    def go(self, state: BatchState) -> None:
        """Change the state. An illegal change is a bug."""
        self.state = successor(_STEPS, self.state, state, "a batch")

    def encode(self, codec: Codec) -> bytes:
        """Encode the batch as it is sent and stored."""
        return encode_batch(
            self.records,
            codec,
            producer_id=self.owner.producer_id,
            producer_epoch=self.owner.epoch,
            base_sequence=self.base_sequence,
            flags=TRANSACTIONAL if self.is_transactional else 0,
        )

    def acknowledged(self, base_offset: int) -> None:
        """Complete the batch: it is in the log from this offset on; -1: the broker does not say where."""
        self.go(BatchState.ACKNOWLEDGED)
        for number, (record, result) in enumerate(zip(self.records, self.results, strict=True)):
            if not result.done():
                offset = base_offset + number if base_offset >= 0 else -1
                result.set_result(RecordMetadata(*self.place, offset, record.timestamp_ms))

    def failed(self, error: Exception) -> None:
        """Give up the batch."""
        self.go(BatchState.FAILED)
        for result in self.results:
            if not result.done():
                result.set_exception(error)


def size_of(record: Record, batch: ProducerBatch | None) -> int:
    """Return what a record adds to a batch, in bytes before compression."""
    if batch is None or not batch.records:
        return len(encode_record(record, 0, 0))
    return len(encode_record(record, len(batch.records), record.timestamp_ms - batch.records[0].timestamp_ms))

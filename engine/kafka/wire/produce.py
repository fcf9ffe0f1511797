"""Appending batches (Kafka: ``ProduceRequest``, ``ProduceResponse``, version 7)."""

from __future__ import annotations

from dataclasses import dataclass

from engine.kafka.wire.fields import Int16, Int32, Int64, KafkaMessage, NullableString, Records, String


@dataclass(frozen=True, slots=True)
class PartitionBatches(KafkaMessage):
    """One batch, exactly as it will be stored."""

    index: Int32
    records: Records


@dataclass(frozen=True, slots=True)
class TopicBatches(KafkaMessage):
    """Batches for one topic."""

    name: String
    partitions: tuple[PartitionBatches, ...]


@dataclass(frozen=True, slots=True)
class ProduceRequest(KafkaMessage):
    """Request to append batches. ``acks``: 0 no response, 1 the leader has it, -1 all in-sync replicas have it."""

    transactional_id: NullableString
    acks: Int16
    timeout_ms: Int32
    topics: tuple[TopicBatches, ...]


@dataclass(frozen=True, slots=True)
class PartitionAppended(KafkaMessage):
    """Outcome for one partition. ``log_append_time_ms``: -1 unless the broker sets the timestamps of records."""

    index: Int32
    error_code: Int16
    base_offset: Int64
    log_append_time_ms: Int64
    log_start_offset: Int64


@dataclass(frozen=True, slots=True)
class TopicAppended(KafkaMessage):
    """Outcomes for one topic."""

    name: String
    partitions: tuple[PartitionAppended, ...]


@dataclass(frozen=True, slots=True)
class ProduceResponse(KafkaMessage):
    """The response to a send, with an error code for each partition."""

    responses: tuple[TopicAppended, ...]
    throttle_time_ms: Int32

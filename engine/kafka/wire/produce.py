"""Appending batches (Kafka: ``ProduceRequest``, ``ProduceResponse``, version 7)."""

from __future__ import annotations

from dataclasses import dataclass

from engine.kafka.wire.fields import Int16, Int32, Int64, KafkaMessage, NullableString, Records, String


@dataclass(frozen=True, slots=True)
class PartitionBatches(KafkaMessage):
    """One batch, whole as it will be stored."""

    index: Int32
    records: Records


@dataclass(frozen=True, slots=True)
class TopicBatches(KafkaMessage):
    """Those of one topic."""

    name: String
    partitions: tuple[PartitionBatches, ...]


@dataclass(frozen=True, slots=True)
class ProduceRequest(KafkaMessage):
    """``acks``: 0 nobody answers, 1 the leader has it, -1 all replicas that keep up have it."""

    transactional_id: NullableString
    acks: Int16
    timeout_ms: Int32
    topics: tuple[TopicBatches, ...]


@dataclass(frozen=True, slots=True)
class PartitionAppended(KafkaMessage):
    """``log_append_time_ms``: -1, unless the broker gives records their times."""

    index: Int32
    error_code: Int16
    base_offset: Int64
    log_append_time_ms: Int64
    log_start_offset: Int64


@dataclass(frozen=True, slots=True)
class TopicAppended(KafkaMessage):
    """Those of one topic."""

    name: String
    partitions: tuple[PartitionAppended, ...]


@dataclass(frozen=True, slots=True)
class ProduceResponse(KafkaMessage):
    """Each partition has its own answer."""

    responses: tuple[TopicAppended, ...]
    throttle_time_ms: Int32

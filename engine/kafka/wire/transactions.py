"""Requests of a transactional producer to its coordinator, besides that for an id (Kafka:
``AddPartitionsToTxnRequest``, ``EndTxnRequest``, version 0).
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.kafka.wire.fields import Bool, Int16, Int32, Int64, KafkaMessage, String
from engine.kafka.wire.offsets import TopicPartitions


@dataclass(frozen=True, slots=True)
class AddPartitionsToTxnRequest(KafkaMessage):
    """Request to add partitions, sent before the first batch of a transaction goes to a partition."""

    transactional_id: String
    producer_id: Int64
    producer_epoch: Int16
    topics: tuple[TopicPartitions, ...]


@dataclass(frozen=True, slots=True)
class PartitionAdded(KafkaMessage):
    """Outcome for one partition."""

    partition_index: Int32
    error_code: Int16


@dataclass(frozen=True, slots=True)
class TopicAdded(KafkaMessage):
    """Outcomes for one topic."""

    name: String
    results: tuple[PartitionAdded, ...]


@dataclass(frozen=True, slots=True)
class AddPartitionsToTxnResponse(KafkaMessage):
    """The response to adding partitions: all are added, or none."""

    throttle_time_ms: Int32
    results: tuple[TopicAdded, ...]


@dataclass(frozen=True, slots=True)
class EndTxnRequest(KafkaMessage):
    """Request to commit or abort the transaction."""

    transactional_id: String
    producer_id: Int64
    producer_epoch: Int16
    committed: Bool


@dataclass(frozen=True, slots=True)
class EndTxnResponse(KafkaMessage):
    """The response to ending a transaction, sent when the markers are written."""

    throttle_time_ms: Int32
    error_code: Int16

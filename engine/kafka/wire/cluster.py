"""A client's first requests (Kafka: ``ApiVersionsRequest`` version 0, ``MetadataRequest`` version 1,
``InitProducerIdRequest`` version 0).
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.kafka.wire.fields import Bool, Int16, Int32, Int64, KafkaMessage, NullableString, String


@dataclass(frozen=True, slots=True)
class ApiVersionsRequest(KafkaMessage):
    """Request for the supported versions; it has no fields."""


@dataclass(frozen=True, slots=True)
class ApiVersionRange(KafkaMessage):
    """The versions of one request that a broker supports."""

    api_key: Int16
    min_version: Int16
    max_version: Int16


@dataclass(frozen=True, slots=True)
class ApiVersionsResponse(KafkaMessage):
    """The supported versions; also the answer to an unsupported version of this request, with an error and the list."""

    error_code: Int16
    api_keys: tuple[ApiVersionRange, ...]


@dataclass(frozen=True, slots=True)
class MetadataRequest(KafkaMessage):
    """Request for the metadata of ``topics``; null: all topics."""

    topics: tuple[String, ...] | None


@dataclass(frozen=True, slots=True)
class BrokerMetadata(KafkaMessage):
    """The address of a broker."""

    node_id: Int32
    host: String
    port: Int32
    rack: NullableString


@dataclass(frozen=True, slots=True)
class PartitionMetadata(KafkaMessage):
    """The leader and the replicas of a partition."""

    error_code: Int16
    partition_index: Int32
    leader_id: Int32
    replica_nodes: tuple[Int32, ...]
    isr_nodes: tuple[Int32, ...]


@dataclass(frozen=True, slots=True)
class TopicMetadata(KafkaMessage):
    """The metadata of a topic, or an error."""

    error_code: Int16
    name: String
    is_internal: Bool
    partitions: tuple[PartitionMetadata, ...]


@dataclass(frozen=True, slots=True)
class MetadataResponse(KafkaMessage):
    """The metadata of the cluster."""

    brokers: tuple[BrokerMetadata, ...]
    controller_id: Int32
    topics: tuple[TopicMetadata, ...]


@dataclass(frozen=True, slots=True)
class InitProducerIdRequest(KafkaMessage):
    """Request of a producer for an id."""

    transactional_id: NullableString
    transaction_timeout_ms: Int32


@dataclass(frozen=True, slots=True)
class InitProducerIdResponse(KafkaMessage):
    """The producer's id and epoch."""

    throttle_time_ms: Int32
    error_code: Int16
    producer_id: Int64
    producer_epoch: Int16

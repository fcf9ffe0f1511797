"""What a client asks first (Kafka: ``ApiVersionsRequest`` version 0, ``MetadataRequest`` version 1,
``InitProducerIdRequest`` version 0)."""

from __future__ import annotations

from dataclasses import dataclass

from engine.kafka.wire.fields import Bool, Int16, Int32, Int64, KafkaMessage, NullableString, String


@dataclass(frozen=True, slots=True)
class ApiVersionsRequest(KafkaMessage):
    """Has no fields."""


@dataclass(frozen=True, slots=True)
class ApiVersionRange(KafkaMessage):
    """What a broker speaks."""

    api_key: Int16
    min_version: Int16
    max_version: Int16


@dataclass(frozen=True, slots=True)
class ApiVersionsResponse(KafkaMessage):
    """Also the answer to a version of this request that is not spoken: with the error, and the list."""

    error_code: Int16
    api_keys: tuple[ApiVersionRange, ...]


@dataclass(frozen=True, slots=True)
class MetadataRequest(KafkaMessage):
    """``topics`` null: all."""

    topics: tuple[String, ...] | None


@dataclass(frozen=True, slots=True)
class BrokerMetadata(KafkaMessage):
    """Where a broker listens."""

    node_id: Int32
    host: String
    port: Int32
    rack: NullableString


@dataclass(frozen=True, slots=True)
class PartitionMetadata(KafkaMessage):
    """Who leads it."""

    error_code: Int16
    partition_index: Int32
    leader_id: Int32
    replica_nodes: tuple[Int32, ...]
    isr_nodes: tuple[Int32, ...]


@dataclass(frozen=True, slots=True)
class TopicMetadata(KafkaMessage):
    """A topic, or why there is none."""

    error_code: Int16
    name: String
    is_internal: Bool
    partitions: tuple[PartitionMetadata, ...]


@dataclass(frozen=True, slots=True)
class MetadataResponse(KafkaMessage):
    """The cluster."""

    brokers: tuple[BrokerMetadata, ...]
    controller_id: Int32
    topics: tuple[TopicMetadata, ...]


@dataclass(frozen=True, slots=True)
class InitProducerIdRequest(KafkaMessage):
    """A producer wants a number of its own."""

    transactional_id: NullableString
    transaction_timeout_ms: Int32


@dataclass(frozen=True, slots=True)
class InitProducerIdResponse(KafkaMessage):
    """The number, and an epoch."""

    throttle_time_ms: Int32
    error_code: Int16
    producer_id: Int64
    producer_epoch: Int16

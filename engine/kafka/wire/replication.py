"""Requests between brokers and the controller besides ``Fetch`` (Kafka: ``OffsetForLeaderEpochRequest`` version 3,
``BrokerRegistrationRequest``, ``BrokerHeartbeatRequest``, ``AlterPartitionRequest``).

The last three exist only in "flexible versions": here they use the older form, with fewer fields. Only our own brokers
receive them.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.kafka.wire.fields import Int16, Int32, Int64, KafkaMessage, String


@dataclass(frozen=True, slots=True)
class EpochWanted(KafkaMessage):
    """Request for the end of ``leader_epoch`` in the leader's log. ``current_leader_epoch``: the leader's epoch as the
    follower knows it.
    """

    partition: Int32
    current_leader_epoch: Int32
    leader_epoch: Int32


@dataclass(frozen=True, slots=True)
class TopicEpochsWanted(KafkaMessage):
    """Requested epochs of one topic."""

    topic: String
    partitions: tuple[EpochWanted, ...]


@dataclass(frozen=True, slots=True)
class OffsetForLeaderEpochRequest(KafkaMessage):
    """A follower's request to find out up to where its log agrees with its leader's."""

    replica_id: Int32
    topics: tuple[TopicEpochsWanted, ...]


@dataclass(frozen=True, slots=True)
class EpochEnd(KafkaMessage):
    """The newest epoch that is not newer than the requested one, and its end; -1, -1 if there is no such epoch."""

    error_code: Int16
    partition: Int32
    leader_epoch: Int32
    end_offset: Int64


@dataclass(frozen=True, slots=True)
class TopicEpochEnds(KafkaMessage):
    """Ends of epochs in one topic."""

    topic: String
    partitions: tuple[EpochEnd, ...]


@dataclass(frozen=True, slots=True)
class OffsetForLeaderEpochResponse(KafkaMessage):
    """The response with the ends of epochs, with an error code for each partition."""

    throttle_time_ms: Int32
    topics: tuple[TopicEpochEnds, ...]


@dataclass(frozen=True, slots=True)
class BrokerRegistrationRequest(KafkaMessage):
    """Request of a broker that has started."""

    broker_id: Int32


@dataclass(frozen=True, slots=True)
class BrokerRegistrationResponse(KafkaMessage):
    """The broker's epoch, valid until it starts again."""

    throttle_time_ms: Int32
    error_code: Int16
    broker_epoch: Int64


@dataclass(frozen=True, slots=True)
class BrokerHeartbeatRequest(KafkaMessage):
    """Heartbeat of a broker."""

    broker_id: Int32
    broker_epoch: Int64


@dataclass(frozen=True, slots=True)
class BrokerHeartbeatResponse(KafkaMessage):
    """The response to a heartbeat."""

    throttle_time_ms: Int32
    error_code: Int16


@dataclass(frozen=True, slots=True)
class IsrWanted(KafkaMessage):
    """The in-sync replicas that the leader requests; the epochs say what the leader knows."""

    partition_index: Int32
    leader_epoch: Int32
    new_isr: tuple[Int32, ...]
    partition_epoch: Int32


@dataclass(frozen=True, slots=True)
class TopicIsrsWanted(KafkaMessage):
    """Requested in-sync replicas of one topic."""

    name: String
    partitions: tuple[IsrWanted, ...]


@dataclass(frozen=True, slots=True)
class AlterPartitionRequest(KafkaMessage):
    """A leader's request to change in-sync replicas."""

    broker_id: Int32
    broker_epoch: Int64
    topics: tuple[TopicIsrsWanted, ...]


@dataclass(frozen=True, slots=True)
class IsrAltered(KafkaMessage):
    """The resulting state of one partition."""

    partition_index: Int32
    error_code: Int16
    leader_id: Int32
    leader_epoch: Int32
    isr: tuple[Int32, ...]
    partition_epoch: Int32


@dataclass(frozen=True, slots=True)
class TopicIsrsAltered(KafkaMessage):
    """The resulting states of one topic's partitions."""

    name: String
    partitions: tuple[IsrAltered, ...]


@dataclass(frozen=True, slots=True)
class AlterPartitionResponse(KafkaMessage):
    """The response with the resulting states; ``error_code`` is for the whole request."""

    throttle_time_ms: Int32
    error_code: Int16
    topics: tuple[TopicIsrsAltered, ...]

"""What brokers and the controller say to each other, beside ``Fetch`` (Kafka: ``OffsetForLeaderEpochRequest`` version
3, ``BrokerRegistrationRequest``, ``BrokerHeartbeatRequest``, ``AlterPartitionRequest``).

The last three exist in "flexible versions" only: they are spoken here in the older form, and with fewer fields. Only
brokers of this house hear them.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.kafka.wire.fields import Int16, Int32, Int64, KafkaMessage, String


@dataclass(frozen=True, slots=True)
class EpochWanted(KafkaMessage):
    """Where does ``leader_epoch`` end in the leader's log? ``current_leader_epoch``: whom the follower takes for it."""

    partition: Int32
    current_leader_epoch: Int32
    leader_epoch: Int32


@dataclass(frozen=True, slots=True)
class TopicEpochsWanted(KafkaMessage):
    """Those of one topic."""

    topic: String
    partitions: tuple[EpochWanted, ...]


@dataclass(frozen=True, slots=True)
class OffsetForLeaderEpochRequest(KafkaMessage):
    """A follower looks how far its log is its leader's."""

    replica_id: Int32
    topics: tuple[TopicEpochsWanted, ...]


@dataclass(frozen=True, slots=True)
class EpochEnd(KafkaMessage):
    """The newest epoch that is not newer than the one asked for, and where it ends; -1, -1: there is none."""

    error_code: Int16
    partition: Int32
    leader_epoch: Int32
    end_offset: Int64


@dataclass(frozen=True, slots=True)
class TopicEpochEnds(KafkaMessage):
    """Those of one topic."""

    topic: String
    partitions: tuple[EpochEnd, ...]


@dataclass(frozen=True, slots=True)
class OffsetForLeaderEpochResponse(KafkaMessage):
    """Each partition has its own answer."""

    throttle_time_ms: Int32
    topics: tuple[TopicEpochEnds, ...]


@dataclass(frozen=True, slots=True)
class BrokerRegistrationRequest(KafkaMessage):
    """A broker has started."""

    broker_id: Int32


@dataclass(frozen=True, slots=True)
class BrokerRegistrationResponse(KafkaMessage):
    """Its epoch, until it starts anew."""

    throttle_time_ms: Int32
    error_code: Int16
    broker_epoch: Int64


@dataclass(frozen=True, slots=True)
class BrokerHeartbeatRequest(KafkaMessage):
    """It lives."""

    broker_id: Int32
    broker_epoch: Int64


@dataclass(frozen=True, slots=True)
class BrokerHeartbeatResponse(KafkaMessage):
    """So it is known."""

    throttle_time_ms: Int32
    error_code: Int16


@dataclass(frozen=True, slots=True)
class IsrWanted(KafkaMessage):
    """The in-sync replicas as the leader sees them; the epochs say what it knows."""

    partition_index: Int32
    leader_epoch: Int32
    new_isr: tuple[Int32, ...]
    partition_epoch: Int32


@dataclass(frozen=True, slots=True)
class TopicIsrsWanted(KafkaMessage):
    """Those of one topic."""

    name: String
    partitions: tuple[IsrWanted, ...]


@dataclass(frozen=True, slots=True)
class AlterPartitionRequest(KafkaMessage):
    """A leader asks for other in-sync replicas."""

    broker_id: Int32
    broker_epoch: Int64
    topics: tuple[TopicIsrsWanted, ...]


@dataclass(frozen=True, slots=True)
class IsrAltered(KafkaMessage):
    """What is true now."""

    partition_index: Int32
    error_code: Int16
    leader_id: Int32
    leader_epoch: Int32
    isr: tuple[Int32, ...]
    partition_epoch: Int32


@dataclass(frozen=True, slots=True)
class TopicIsrsAltered(KafkaMessage):
    """Those of one topic."""

    name: String
    partitions: tuple[IsrAltered, ...]


@dataclass(frozen=True, slots=True)
class AlterPartitionResponse(KafkaMessage):
    """Each partition has its own answer; ``error_code`` is for all."""

    throttle_time_ms: Int32
    error_code: Int16
    topics: tuple[TopicIsrsAltered, ...]

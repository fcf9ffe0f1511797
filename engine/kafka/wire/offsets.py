"""Finding offsets by time, keeping a group's offsets and asking for them (Kafka: ``ListOffsetsRequest`` version 2,
``OffsetCommitRequest`` version 2, ``OffsetFetchRequest`` version 1, ``FindCoordinatorRequest`` version 1)."""

from __future__ import annotations

from dataclasses import dataclass

from engine.kafka.wire.fields import Int8, Int16, Int32, Int64, KafkaMessage, NullableString, String

#: In place of a time: the first offset, and the one that the next record will get.
EARLIEST_TIMESTAMP, LATEST_TIMESTAMP = -2, -1
#: A group of members that chose their partitions themselves has neither generation nor member.
NO_GENERATION, NO_MEMBER = -1, ""
#: ``key_type``: the coordinator of a group is looked for. (1, that of transactions: here it is the same broker.)
OF_GROUP = 0
#: ``retention_time_ms``: as long as the broker likes.
DEFAULT_RETENTION = -1


@dataclass(frozen=True, slots=True)
class TimeWanted(KafkaMessage):
    """The first record that is not older is meant."""

    index: Int32
    timestamp_ms: Int64


@dataclass(frozen=True, slots=True)
class TopicTimesWanted(KafkaMessage):
    """Those of one topic."""

    name: String
    partitions: tuple[TimeWanted, ...]


@dataclass(frozen=True, slots=True)
class ListOffsetsRequest(KafkaMessage):
    """``replica_id`` -1: a consumer. ``isolation_level``: as in a fetch; it says which end is meant."""

    replica_id: Int32
    isolation_level: Int8
    topics: tuple[TopicTimesWanted, ...]


@dataclass(frozen=True, slots=True)
class OffsetOfTime(KafkaMessage):
    """-1, -1: all records are older."""

    index: Int32
    error_code: Int16
    timestamp_ms: Int64
    offset: Int64


@dataclass(frozen=True, slots=True)
class TopicOffsets(KafkaMessage):
    """Those of one topic."""

    name: String
    partitions: tuple[OffsetOfTime, ...]


@dataclass(frozen=True, slots=True)
class ListOffsetsResponse(KafkaMessage):
    """Each partition has its own answer."""

    throttle_time_ms: Int32
    topics: tuple[TopicOffsets, ...]


@dataclass(frozen=True, slots=True)
class PartitionCommit(KafkaMessage):
    """``offset``: of the next record that the group wants."""

    index: Int32
    offset: Int64
    metadata: NullableString


@dataclass(frozen=True, slots=True)
class TopicCommits(KafkaMessage):
    """Those of one topic."""

    name: String
    partitions: tuple[PartitionCommit, ...]


@dataclass(frozen=True, slots=True)
class OffsetCommitRequest(KafkaMessage):
    """See :data:`NO_GENERATION`."""

    group_id: String
    generation_id: Int32
    member_id: String
    retention_time_ms: Int64
    topics: tuple[TopicCommits, ...]


@dataclass(frozen=True, slots=True)
class PartitionCommitted(KafkaMessage):
    """How that ended."""

    index: Int32
    error_code: Int16


@dataclass(frozen=True, slots=True)
class TopicCommitted(KafkaMessage):
    """Those of one topic."""

    name: String
    partitions: tuple[PartitionCommitted, ...]


@dataclass(frozen=True, slots=True)
class OffsetCommitResponse(KafkaMessage):
    """Each partition has its own answer."""

    topics: tuple[TopicCommitted, ...]


@dataclass(frozen=True, slots=True)
class TopicPartitions(KafkaMessage):
    """Partitions by number."""

    name: String
    partitions: tuple[Int32, ...]


@dataclass(frozen=True, slots=True)
class OffsetFetchRequest(KafkaMessage):
    """Where does the group stand?"""

    group_id: String
    topics: tuple[TopicPartitions, ...]


@dataclass(frozen=True, slots=True)
class PartitionOffset(KafkaMessage):
    """``offset`` -1: the group has never committed one."""

    index: Int32
    offset: Int64
    metadata: NullableString
    error_code: Int16


@dataclass(frozen=True, slots=True)
class TopicGroupOffsets(KafkaMessage):
    """Those of one topic."""

    name: String
    partitions: tuple[PartitionOffset, ...]


@dataclass(frozen=True, slots=True)
class OffsetFetchResponse(KafkaMessage):
    """Each partition has its own answer."""

    topics: tuple[TopicGroupOffsets, ...]


@dataclass(frozen=True, slots=True)
class FindCoordinatorRequest(KafkaMessage):
    """Which broker keeps the group's offsets, or the state of the producer's transactions?"""

    key: String
    key_type: Int8


@dataclass(frozen=True, slots=True)
class FindCoordinatorResponse(KafkaMessage):
    """That broker."""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: NullableString
    node_id: Int32
    host: String
    port: Int32

"""Offsets by time, and offsets of groups (Kafka: ``ListOffsetsRequest`` version 2, ``OffsetCommitRequest`` version 2,
``OffsetFetchRequest`` version 1, ``FindCoordinatorRequest`` version 1).
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.kafka.wire.fields import Int8, Int16, Int32, Int64, KafkaMessage, NullableString, String

#: Special timestamps: the first offset, and the offset of the next record.
EARLIEST_TIMESTAMP, LATEST_TIMESTAMP = -2, -1
#: A group whose members choose their partitions themselves has neither generation nor member.
NO_GENERATION, NO_MEMBER = -1, ""
#: ``key_type`` for the coordinator of a group. (1 is for that of transactions, which is the same broker here.)
OF_GROUP = 0
#: ``retention_time_ms``: the broker's default.
DEFAULT_RETENTION = -1


@dataclass(frozen=True, slots=True)
class TimeWanted(KafkaMessage):
    """Request for the first record with this timestamp or a later one."""

    index: Int32
    timestamp_ms: Int64


@dataclass(frozen=True, slots=True)
class TopicTimesWanted(KafkaMessage):
    """Requested timestamps of one topic."""

    name: String
    partitions: tuple[TimeWanted, ...]


@dataclass(frozen=True, slots=True)
class ListOffsetsRequest(KafkaMessage):
    """Request for offsets by time. ``replica_id`` -1: a consumer. ``isolation_level``: as in a fetch; it determines
    which end is meant.
    """

    replica_id: Int32
    isolation_level: Int8
    topics: tuple[TopicTimesWanted, ...]


@dataclass(frozen=True, slots=True)
class OffsetOfTime(KafkaMessage):
    """An offset found by time; -1, -1: all records are earlier."""

    index: Int32
    error_code: Int16
    timestamp_ms: Int64
    offset: Int64


@dataclass(frozen=True, slots=True)
class TopicOffsets(KafkaMessage):
    """Offsets found in one topic."""

    name: String
    partitions: tuple[OffsetOfTime, ...]


@dataclass(frozen=True, slots=True)
class ListOffsetsResponse(KafkaMessage):
    """The response to a request for offsets, with an error code for each partition."""

    throttle_time_ms: Int32
    topics: tuple[TopicOffsets, ...]


@dataclass(frozen=True, slots=True)
class PartitionCommit(KafkaMessage):
    """A group's offset in a partition; ``offset`` is that of the next record to read."""

    index: Int32
    offset: Int64
    metadata: NullableString


@dataclass(frozen=True, slots=True)
class TopicCommits(KafkaMessage):
    """Offsets to commit in one topic."""

    name: String
    partitions: tuple[PartitionCommit, ...]


@dataclass(frozen=True, slots=True)
class OffsetCommitRequest(KafkaMessage):
    """Request to commit a group's offsets; the defaults are for a group without members."""

    group_id: String
    generation_id: Int32
    member_id: String
    retention_time_ms: Int64
    topics: tuple[TopicCommits, ...]


@dataclass(frozen=True, slots=True)
class PartitionCommitted(KafkaMessage):
    """Outcome of a commit for one partition."""

    index: Int32
    error_code: Int16


@dataclass(frozen=True, slots=True)
class TopicCommitted(KafkaMessage):
    """Outcomes of a commit for one topic."""

    name: String
    partitions: tuple[PartitionCommitted, ...]


@dataclass(frozen=True, slots=True)
class OffsetCommitResponse(KafkaMessage):
    """The response to a commit, with an error code for each partition."""

    topics: tuple[TopicCommitted, ...]


@dataclass(frozen=True, slots=True)
class TopicPartitions(KafkaMessage):
    """Partition numbers of one topic."""

    name: String
    partitions: tuple[Int32, ...]


@dataclass(frozen=True, slots=True)
class OffsetFetchRequest(KafkaMessage):
    """Request for a group's committed offsets."""

    group_id: String
    topics: tuple[TopicPartitions, ...]


@dataclass(frozen=True, slots=True)
class PartitionOffset(KafkaMessage):
    """A group's committed offset; ``offset`` -1: it has never committed one."""

    index: Int32
    offset: Int64
    metadata: NullableString
    error_code: Int16


@dataclass(frozen=True, slots=True)
class TopicGroupOffsets(KafkaMessage):
    """Committed offsets in one topic."""

    name: String
    partitions: tuple[PartitionOffset, ...]


@dataclass(frozen=True, slots=True)
class OffsetFetchResponse(KafkaMessage):
    """The response with committed offsets, with an error code for each partition."""

    topics: tuple[TopicGroupOffsets, ...]


@dataclass(frozen=True, slots=True)
class FindCoordinatorRequest(KafkaMessage):
    """Request for the broker that stores a group's offsets, or the state of a producer's transactions."""

    key: String
    key_type: Int8


@dataclass(frozen=True, slots=True)
class FindCoordinatorResponse(KafkaMessage):
    """The coordinator's address."""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: NullableString
    node_id: Int32
    host: String
    port: Int32

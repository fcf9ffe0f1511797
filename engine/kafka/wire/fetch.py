"""Reading batches (Kafka: ``FetchRequest``, ``FetchResponse``, version 10).

Fetch sessions, in which a client requests only changes, are declined: ``session_id`` 0.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.kafka.wire.fields import Int8, Int16, Int32, Int64, KafkaMessage, Records, String

#: All records up to the high watermark; or those before the first undecided transaction.
READ_UNCOMMITTED, READ_COMMITTED = 0, 1


@dataclass(frozen=True, slots=True)
class FetchPartition(KafkaMessage):
    """A partition to fetch. ``current_leader_epoch``, ``log_start_offset`` -1: unknown, or not sent by a replica."""

    partition: Int32
    current_leader_epoch: Int32
    fetch_offset: Int64
    log_start_offset: Int64
    partition_max_bytes: Int32


@dataclass(frozen=True, slots=True)
class FetchTopic(KafkaMessage):
    """Partitions of one topic to fetch."""

    topic: String
    partitions: tuple[FetchPartition, ...]


@dataclass(frozen=True, slots=True)
class ForgottenTopic(KafkaMessage):
    """Partitions that leave a fetch session."""

    topic: String
    partitions: tuple[Int32, ...]


@dataclass(frozen=True, slots=True)
class FetchRequest(KafkaMessage):
    """Request for records. The response waits until there are ``min_bytes``, at most ``max_wait_ms``. ``replica_id``
    -1: a consumer.

    ``isolation_level``: :data:`READ_UNCOMMITTED`, :data:`READ_COMMITTED`.
    """

    replica_id: Int32
    max_wait_ms: Int32
    min_bytes: Int32
    max_bytes: Int32
    isolation_level: Int8
    session_id: Int32
    session_epoch: Int32
    topics: tuple[FetchTopic, ...]
    forgotten_topics: tuple[ForgottenTopic, ...]


@dataclass(frozen=True, slots=True)
class AbortedTransaction(KafkaMessage):
    """An aborted transaction, sent to ``read_committed`` consumers: the producer's batches from that offset up to the
    marker are to be skipped.
    """

    producer_id: Int64
    first_offset: Int64


@dataclass(frozen=True, slots=True)
class FetchedPartition(KafkaMessage):
    """Records of one partition. ``records``: as they are in the log; the first batch may begin before the requested
    offset.
    """

    partition: Int32
    error_code: Int16
    high_watermark: Int64
    last_stable_offset: Int64
    log_start_offset: Int64
    aborted_transactions: tuple[AbortedTransaction, ...] | None
    records: Records


@dataclass(frozen=True, slots=True)
class FetchedTopic(KafkaMessage):
    """Fetched partitions of one topic."""

    topic: String
    partitions: tuple[FetchedPartition, ...]


@dataclass(frozen=True, slots=True)
class FetchResponse(KafkaMessage):
    """The response to a fetch, with an error code for each partition; ``error_code`` is for the session."""

    throttle_time_ms: Int32
    error_code: Int16
    session_id: Int32
    responses: tuple[FetchedTopic, ...]

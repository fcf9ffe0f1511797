"""Settings of a consumer (Kafka: ``ConsumerConfig``)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from engine.kafka.wire.fetch import READ_COMMITTED, READ_UNCOMMITTED


class OffsetReset(StrEnum):
    """The position at which a group begins if it has no offset, or if its offset no longer exists."""

    EARLIEST = "earliest"
    LATEST = "latest"
    NONE = "none"


class IsolationLevel(StrEnum):
    """The isolation level of a consumer with respect to transactions."""

    #: All records, as they are appended.
    READ_UNCOMMITTED = "read_uncommitted"
    #: Committed records, up to the first open transaction; in the order of the log, not of the commits.
    READ_COMMITTED = "read_committed"

    @property
    def number(self) -> int:
        """Return the number in the request."""
        return READ_COMMITTED if self is IsolationLevel.READ_COMMITTED else READ_UNCOMMITTED


@dataclass(frozen=True, slots=True)
class ConsumerConfig:
    """The consumer's settings, with Kafka's names and defaults (Kafka 4.1, consumer configuration)."""

    #: ``bootstrap.servers``, one of them: ``"host:port"``.
    bootstrap: str
    #: ``group.id``: the group whose offsets are committed.
    group_id: str
    client_id: str = "consumer"
    #: ``fetch.min.bytes``: the broker answers when it has this many bytes ...
    fetch_min_bytes: int = 1
    #: ``fetch.max.wait.ms``: ... or after this time.
    fetch_max_wait_ms: int = 500
    #: ``fetch.max.bytes``: size of one response; the first batch is sent whole, however large it is.
    fetch_max_bytes: int = 52_428_800
    #: ``max.partition.fetch.bytes``
    max_partition_fetch_bytes: int = 1_048_576
    #: ``max.poll.records``: most records that one ``poll`` returns; further ones that were fetched wait for the next.
    max_poll_records: int = 500
    #: ``auto.offset.reset``
    auto_offset_reset: OffsetReset = OffsetReset.LATEST
    #: ``isolation.level``
    isolation_level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
    #: ``enable.auto.commit``: ``poll`` commits what earlier polls returned ...
    enable_auto_commit: bool = True
    #: ``auto.commit.interval.ms``: ... at this interval.
    auto_commit_interval_ms: int = 5_000
    #: ``request.timeout.ms``
    request_timeout_ms: int = 30_000
    #: ``retry.backoff.ms``: delay of the next fetch after an error.
    retry_backoff_ms: int = 100

    def __post_init__(self) -> None:
        """Raises ``ValueError`` for combinations that Kafka refuses, too."""
        if min(self.max_poll_records, self.fetch_max_bytes, self.max_partition_fetch_bytes) < 1:
            raise ValueError("max_poll_records, fetch_max_bytes and max_partition_fetch_bytes begin at 1")
        if min(self.fetch_min_bytes, self.fetch_max_wait_ms) < 0:
            raise ValueError("fetch_min_bytes and fetch_max_wait_ms begin at 0")

"""The nodes of Kafka, for their cards on the stage."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from app.picture.world.producer import SendCounts


class Batch(TypedDict):
    """A record batch in a segment."""

    #: Of its first record.
    offset: int
    #: How many it has.
    records: int
    size_bytes: int
    codec: str
    #: The segment's index has an entry for it.
    is_indexed: bool
    is_unflushed: bool


class Segment(TypedDict):
    """A segment of a partition's log."""

    name: str
    base_offset: int
    size_bytes: int
    batch_count: int
    index_entries: int
    #: After the last whole batch.
    torn_bytes: int
    #: The newest ones.
    batches: list[Batch]


class PartitionFollower(TypedDict):
    """A follower as the leader of a partition knows it."""

    name: str
    #: End of its log; -1: unknown.
    end: int


class PartitionReplica(TypedDict):
    """A broker's part in a replicated partition."""

    state: str
    #: Empty without one.
    leader: str
    #: Of the leader.
    epoch: int
    high_watermark: int
    replicas: list[str]
    isr: list[str]
    #: The change that is requested, or None.
    asked_isr: list[str] | None
    #: Of a leader.
    followers: list[PartitionFollower]


class Partition(TypedDict):
    """A partition as it is on a broker's disk, also while no process runs."""

    topic: str
    partition: int
    #: Offset of the first record.
    start: int
    #: Offset of the next record.
    end: int
    size_bytes: int
    #: Group -> its committed offset.
    committed: dict[str, int]
    #: The newest ones.
    segments: list[Segment]
    #: None without a cluster, and while no process runs.
    replica: PartitionReplica | None


class KafkaBroker(TypedDict):
    """A broker."""

    partitions: list[Partition]
    #: How many fetches wait for records.
    held_fetches: int


class NoProcess(TypedDict):
    """A controller without a process: nothing is known."""


class BrokerSession(TypedDict):
    """A broker as the controller knows it."""

    name: str
    #: When it was last heard of; None: it counts as dead.
    heard_us: int | None


class PartitionLeader(TypedDict):
    """A partition as the controller knows it."""

    topic: str
    partition: int
    #: Empty without one.
    leader: str
    epoch: int
    replicas: list[str]
    isr: list[str]


class KafkaController(TypedDict):
    """A controller."""

    brokers: list[BrokerSession]
    #: A broker not heard of for this long counts as dead.
    session_us: int
    partitions: list[PartitionLeader]


class AccumulatedBatch(TypedDict):
    """A batch that a producer has not sent yet."""

    records: int
    size_bytes: int
    since_us: int
    attempts: int
    #: It takes no more records.
    is_closed: bool


class AccumulatedPartition(TypedDict):
    """The batches for one partition."""

    topic: str
    partition: int
    #: The next to be sent first.
    batches: list[AccumulatedBatch]


class Accumulator(TypedDict):
    """The record accumulator of a producer."""

    batch_bytes: int
    linger_us: int
    memory_bytes: int
    used_bytes: int
    partitions: list[AccumulatedPartition]


class ClientRequest(TypedDict):
    """A request without an answer."""

    number: int
    name: str
    records: int
    #: None while unsent.
    since_us: int | None


class KafkaProducer(SendCounts):
    """A producer; without a process it has counts only."""

    accumulator: NotRequired[Accumulator]
    requests: NotRequired[list[ClientRequest]]
    max_in_flight: NotRequired[int]
    #: -1: none.
    producer_id: NotRequired[int]


class CompletedFetch(TypedDict):
    """Records that were fetched, and not polled to the end yet."""

    topic: str
    partition: int
    records: int
    records_left: int
    size_bytes: int


class Fetcher(TypedDict):
    """The fetcher of a consumer."""

    unsent: list[ClientRequest]
    in_flight: list[ClientRequest]
    completed: list[CompletedFetch]


class Polled(TypedDict):
    """What the consumer's application has polled."""

    #: The first ones.
    keys: list[str]
    count: int
    #: Key of the record that is processed, or None.
    at: str | None


class Position(TypedDict):
    """A consumer's place in a partition; None: it has none."""

    topic: str
    partition: int
    position: int | None
    committed: int | None


class KafkaConsumer(TypedDict):
    """A consumer; without a process it has neither fetcher nor positions."""

    group: str
    topic: str
    consumed: int
    polled: Polled
    fetcher: NotRequired[Fetcher]
    positions: NotRequired[list[Position]]

"""Topics and their queues."""

from __future__ import annotations

from typing import Literal, TypedDict

#: "system": the broker's own.
TopicKind = Literal["normal", "retry", "dlq", "system"]


class Queue(TypedDict):
    """A queue of a topic."""

    #: Offset of the oldest message.
    min: int
    #: Offset of the next message to be stored.
    max: int
    #: Group -> its committed offset. Groups that broadcast have none.
    committed: dict[str, int]


class Topic(TypedDict):
    """A topic of the live broker."""

    #: How many topics existed before it.
    age: int
    kind: TopicKind
    #: RocketMQ's permission bits.
    perm: int
    read_queues: int
    write_queues: int
    #: Queue id -> queue. A system topic has only the queues that were used.
    queues: dict[str, Queue]
    omitted_queues: int


class FoundTopic(TypedDict):
    """A topic that a search by name found."""

    kind: TopicKind
    #: Number of its queues.
    queues: int
    #: Messages that it stores.
    stored: int


class FoundTopics(TypedDict):
    """The topics that a search by name found."""

    topics: dict[str, FoundTopic]
    omitted: int

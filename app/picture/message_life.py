"""What happened to a message, from the moment it was produced."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

#: How a send failed: it is certainly not stored, or it may be.
FailedSend = Literal["refused", "unknown"]
#: The kinds of stored copies: :class:`engine.protocol.message.message_copies.CopyKind`.
CopyName = Literal["stored", "half", "given-up", "due", "dead", "resent", "delayed"]


class ProducedBatch(TypedDict):
    """The batch that a message travels in."""

    size: int
    #: Keys.
    first: str
    last: str


class ProducedMark(TypedDict):
    """It was produced."""

    kind: Literal["produced"]
    at_us: int
    event: int
    node: str
    batch: NotRequired[ProducedBatch]


class SendFailedMark(TypedDict):
    """The producer knows that it is not stored, or does not know whether it is."""

    kind: FailedSend
    at_us: int
    event: int
    node: str
    detail: str


class CopyMark(TypedDict):
    """A copy was stored in a broker's log."""

    kind: CopyName
    at_us: int
    broker: str
    #: In the commit log.
    offset: int
    topic: str
    queue_id: int
    queue_offset: int
    #: How many times it was redelivered before.
    retry: int
    #: None: all groups.
    group: str | None
    #: Of a delayed one, like the next.
    level: NotRequired[int]
    until_us: NotRequired[int]
    #: Of a resent one.
    to: NotRequired[Literal["topic", "group"]]
    #: A power cut has taken it.
    lost: NotRequired[bool]


class DeliveredMark(TypedDict):
    """It was delivered to a listener."""

    kind: Literal["delivered"]
    at_us: int
    event: int
    node: str
    group: str
    #: From 1, counted per group.
    attempt: int
    retry: int
    topic: str
    broker: str
    queue_id: int
    queue_offset: int
    #: None while the listener has it, like the next.
    until_us: int | None
    end_event: int | None
    #: None, the listener's result, "interrupted" (its process ended) or "timed-out" (its consumer has sent it back).
    result: str | None


#: One event of a message's life.
LifeMark = ProducedMark | SendFailedMark | CopyMark | DeliveredMark


class LifeInGroup(TypedDict):
    """What has become of a message for a group."""

    #: "waiting", "delivering", "consumed", "failed" (and not sent back yet), "delayed", "dead", "filtered" (its
    #: subscription does not want it) or "skipped" (the group's offset passed it without a delivery).
    state: str
    attempts: int
    #: Of a delayed one: when it is due; else None.
    until_us: int | None


class MessageLife(TypedDict):
    """The life of one message."""

    key: str
    topic: str
    #: When it was produced, or first stored.
    at_us: int
    #: A failure, a retry, a duplicate, a loss.
    in_trouble: bool
    #: In the order of time.
    marks: list[LifeMark]
    #: How many of the oldest ones are left out.
    omitted_marks: int
    groups: dict[str, LifeInGroup]


class MessageLives(TypedDict):
    """The lives of the messages of a world."""

    #: Messages that the clients know of.
    total: int
    in_trouble: int
    omitted: int
    #: By key.
    messages: dict[str, MessageLife]

"""What happened to a message, from the moment it was produced."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

#: How a send failed: it is certainly not stored, or it may be.
FailedSend = Literal["refused", "unknown"]
#: The kinds of stored copies: :class:`engine.protocol.message.message_copies.CopyKind`.
CopyName = Literal["stored", "half", "given-up", "due", "dead", "resent", "delayed"]
#: What has become of a message for a group. "waiting": in a queue that the group has not read up to it;
#: "filtered": the group's offset passed it, and its subscription does not want it.
#: In the lab: "delivering" (a listener has it), "consumed", "failed" (and not sent back yet), "skipped" (the group's
#: offset passed it without a delivery). A broker does not learn the listener's result. On the live page: "held" (a
#: member has fetched it and not finished it), "delivering" (an ordered listener has it), "passed" (consumed or
#: filtered), "unread" (the group has no offset there yet).
GroupState = Literal[
    "waiting",
    "held",
    "delivering",
    "consumed",
    "failed",
    "delayed",
    "dead",
    "filtered",
    "skipped",
    "passed",
    "unread",
]


class ProducedBatch(TypedDict):
    """The batch that a message travels in."""

    count: int
    #: Keys.
    first: str
    last: str


class ProducedMark(TypedDict):
    """It was produced."""

    kind: Literal["produced"]
    at_us: int
    #: Of the lab, like the next ones.
    event: NotRequired[int]
    node: NotRequired[str]
    batch: NotRequired[ProducedBatch]
    #: The address from which it was sent, as a live broker stored it.
    host: NotRequired[str]


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
    reconsume_times: int
    #: None: all groups.
    group: str | None
    #: Of a delayed one, like the next.
    level: NotRequired[int]
    #: None: the broker has no such level.
    until_us: NotRequired[int | None]
    #: Of a resent one: the offset message id of the dead letter.
    resends: NotRequired[str]
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
    reconsume_times: int
    topic: str
    broker: str
    queue_id: int
    queue_offset: int
    #: None while the listener has it.
    until_us: int | None
    #: None, the listener's result, "died" or "stopped" (its process did), or "timed-out" (its consumer has sent it
    #: back).
    result: str | None


#: One event of a message's life.
LifeMark = ProducedMark | SendFailedMark | CopyMark | DeliveredMark


class LifeInGroup(TypedDict):
    """What has become of a message for a group."""

    state: GroupState
    #: Of a delayed one: when it is due; else None.
    until_us: int | None
    #: Deliveries, in the lab.
    attempts: NotRequired[int]
    #: Of one that a live group has not confirmed: the messages before it that the group has not confirmed.
    behind: NotRequired[int]
    #: Of a group whose subscription the live page knows.
    expression: NotRequired[str]
    #: Of a held one, or one that is being delivered on the live page: the client id of the member that has it.
    holder: NotRequired[str]


class MessageLife(TypedDict):
    """The life of one message."""

    #: The first of its keys; empty: it has none. In the lab every message has its own.
    key: str
    topic: str
    #: When it was produced, or first stored.
    at_us: int
    #: A failure, a retry, a duplicate, a loss.
    in_trouble: bool
    #: In the order of time. A live producer's clock may be wrong: its mark comes first.
    marks: list[LifeMark]
    #: How many of the oldest ones are left out.
    omitted_marks: int
    groups: dict[str, LifeInGroup]


class StoredMessageLife(MessageLife):
    """The life of one message as far as brokers know it: the copies that they store, and the offsets of the groups."""

    #: The unique id, or else the first offset message id.
    id: str
    keys: list[str]
    tags: str | None
    #: The first characters of the body.
    body_preview: str


class MessageLives(TypedDict):
    """The lives of the messages of a world."""

    #: Messages that the clients know of.
    total: int
    in_trouble: int
    omitted: int
    #: By key.
    messages: dict[str, MessageLife]


class FoundLives(TypedDict):
    """Lives of messages of a world that a search has found, the newest last."""

    messages: list[MessageLife]


class FoundStoredLives(TypedDict):
    """Lives of stored messages that a search has found, the newest first."""

    messages: list[StoredMessageLife]

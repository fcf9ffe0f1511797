"""A consumer of a lab world, for its lane on the stage."""

from __future__ import annotations

from typing import TypedDict

from app.picture.lock import LocalLock
from app.picture.process_queue import WorldProcessQueue
from app.picture.world.bank import Bank
from app.picture.world.producer import MessageTrace
from app.picture.world.work import Idempotence


class ListenerCall(TypedDict):
    """A call of the listener that is under way."""

    topic: str
    broker: str
    queue_id: int
    offsets: list[int]
    keys: list[str]
    since_us: int


class ConsumePermits(TypedDict):
    """The consumer's threads."""

    threads: int
    busy: int


class Listener(TypedDict):
    """How the listener behaves."""

    result: str
    duration_ms: int
    #: See ``engine.lab.nodes.batch_answer``.
    batch_ack: str


class HandedOver(TypedDict):
    """Messages that a listener has handed to a list in memory."""

    count: int
    #: The first ones, the one under way first.
    keys: list[str]
    #: Keys of those in the list when a process ended.
    gone: list[str]


class MovedAside(TypedDict):
    """Messages that the consumer has moved to another topic."""

    topic: str
    #: After this number of deliveries.
    above: int
    count: int


class Suspension(TypedDict):
    """Why a consumer has suspended itself."""

    key: str
    #: How many times that message was delivered.
    times: int


class GivenUp(TypedDict):
    """Broadcast messages that the member has dropped."""

    count: int
    #: Of the last ones.
    keys: list[str]


class Filter(TypedDict):
    """The filter of the subscription, and what it did."""

    expression: str
    #: "TAG" or "SQL92".
    type: str
    #: By the brokers' filters, for the whole group.
    let_through: int
    kept_back: int
    #: By this member, which compares the tags themselves.
    dropped: int


class LossCounts(TypedDict):
    """Counts of the numbers that producers gave, in the words of :class:`app.picture.numbers.NumberCounts`."""

    numbered: int
    #: Different numbers that the group was given.
    met: int
    missing: int
    twice: int
    out_of_order: int
    delivered_again: int
    #: The first stretches that are missing: first and last number.
    ranges: list[list[int]]


class Loss(TypedDict):
    """What a group that looks for losses has found, all members together; None: it knows nothing yet."""

    delivered: LossCounts | None
    done: LossCounts | None


class Replies(TypedDict):
    """The replies of a consumer that answers requests."""

    replied: int
    failed: int
    expired: int


class Consumer(TypedDict):
    """A consumer. A part that does not concern it is None."""

    group: str
    topic: str
    #: None while no process runs.
    client_id: str | None
    orderly: bool
    #: Names of ``engine.lab.scenario.switches``.
    switched_off: list[str]
    #: By "topic@queue id"; with several brokers by "topic@broker@queue id".
    process_queues: dict[str, WorldProcessQueue]
    #: By the same names: of queues that it no longer owns but that a worker still holds.
    local_locks: dict[str, LocalLock]
    listener_calls: list[ListenerCall]
    permits: ConsumePermits
    listener: Listener
    handed_over: HandedOver | None
    moved_aside: MovedAside | None
    alarm: Suspension | None
    given_up: GivenUp | None
    filter: Filter | None
    loss: Loss | None
    replies: Replies | None
    trace: MessageTrace | None
    bank: Bank | None
    idempotence: Idempotence | None

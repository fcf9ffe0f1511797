"""The history of the clients of a world: the data for checkers, breakpoints and pictures.

Clients see less than the world does: if the answer to a send was lost, its producer does not know whether the message
is stored. What a checker may demand follows from what a client knows, so it starts here.
"""

from __future__ import annotations

from typing import NamedTuple

from engine.lab.scenario.scenario import Command


class SendInvoked(NamedTuple):
    """A producer begins to send a message.

    ``batch``: the keys of all messages that travel in the same request, this one's too; empty: it travels alone.
    """

    event: int
    time_us: int
    node: str
    key: str
    topic: str
    batch: tuple[str, ...] = ()


class SendReturned(NamedTuple):
    """A producer receives the result of a send.

    ``status``: ``ok``: the broker has it; ``refused``: it certainly has not; ``unknown``: it may have it. ``detail`` is
    the send status (``SEND_OK``, ``FLUSH_DISK_TIMEOUT``: stored, but perhaps not on the disk yet), or the error.
    Queue and offset are -1 unless ``ok``. ``batch``: see :class:`SendInvoked`; each message has a place of its own.
    """

    event: int
    time_us: int
    node: str
    key: str
    status: str
    topic: str
    queue_id: int
    queue_offset: int
    offset_message_id: str
    broker: str
    detail: str
    batch: tuple[str, ...] = ()


class RequestReturned(NamedTuple):
    """A producer receives the result of a request.

    ``status``: ``replied``: ``detail`` is the reply; ``no-reply``: it was sent, but no reply came in time; ``failed``:
    it was not sent, or may not have been.
    """

    event: int
    time_us: int
    node: str
    key: str
    status: str
    topic: str
    detail: str


class ReplySent(NamedTuple):
    """A consumer has answered a request. ``problem``: why the reply did not get through, or empty."""

    event: int
    time_us: int
    node: str
    key: str
    problem: str


class ConsumeBegan(NamedTuple):
    """A listener gets a message. ``topic`` is where it was pulled from: the retry topic for a redelivery."""

    event: int
    time_us: int
    node: str
    group: str
    topic: str
    broker: str
    queue_id: int
    queue_offset: int
    key: str
    reconsume_times: int


class ConsumeEnded(NamedTuple):
    """A listener is done with a message; ``result`` is ``success``, ``later`` or ``throws``."""

    event: int
    time_us: int
    node: str
    group: str
    topic: str
    broker: str
    queue_id: int
    queue_offset: int
    key: str
    reconsume_times: int
    result: str


class MessageDropped(ConsumeBegan):
    """A broadcasting consumer drops a message that its listener failed to consume: it will not be delivered again."""

    __slots__ = ()


class LocalTransactionEnded(NamedTuple):
    """A transaction listener has answered.

    ``check``: 0: it executed the local transaction; n: it answered the nth check-back. ``result``: ``commit``,
    ``rollback``, ``unknown`` or ``throws``; the broker may never hear of it.
    """

    event: int
    time_us: int
    node: str
    group: str
    key: str
    check: int
    result: str


class BankEntry(NamedTuple):
    """A bank has done something, or could not, as in :class:`~engine.bank.bank_action.BankAction`.

    ``doing``: ``debit``, ``credit`` or ``check``. ``outcome``: ``committed`` (this is the moment of the commit);
    ``duplicate``: a credit that had been made before; else why nothing was done, or what a check was answered.
    ``balance``: committed, after it.
    """

    event: int
    time_us: int
    node: str
    bank: str
    account: str
    doing: str
    key: str
    amount: int
    outcome: str
    balance: int


class BranchChanged(NamedTuple):
    """A resource manager's branch of the global transaction ``xid`` is in another state.

    ``state``: see :class:`~engine.xa.states.BranchState`, or ``forgotten``: the process has ended before it promised
    anything. ``reason``: why it is rolled back or voted no.
    """

    event: int
    time_us: int
    node: str
    xid: str
    key: str
    doing: str
    state: str
    reason: str


class GlobalChanged(NamedTuple):
    """The coordinator ``node`` has begun a global transaction, or moved it to another state.

    ``state``: see :class:`~engine.xa.states.GlobalState`; ``reason``: why it is rolled back.
    """

    event: int
    time_us: int
    node: str
    xid: str
    key: str
    state: str
    reason: str


class TransferEnded(NamedTuple):
    """A transaction manager knows what became of a transfer, or that it will not: ``committed``, ``rolled-back`` or
    ``unknown``.
    """

    event: int
    time_us: int
    node: str
    key: str
    xid: str
    outcome: str
    reason: str


class BalanceLookup(NamedTuple):
    """A cash machine got its answer; ``balance``: None if the account was locked for too long.

    ``holder``: who had the lock when it began to wait: an xid, or the key of a local transaction; empty: it was free.
    """

    event: int
    time_us: int
    node: str
    began_us: int
    holder: str
    balance: int | None


class WorkDone(NamedTuple):
    """A store or a service ``node`` has changed for good because of a message: this is what must happen once.

    ``effect``: ``take`` (from the stock), another step of the work, or the operation of a service; ``key``: of the
    business; ``by``: the consumer. ``undoes``: the effect that it takes back; empty: it takes nothing back.
    """

    event: int
    time_us: int
    node: str
    effect: str
    key: str
    by: str
    undoes: str = ""


class DeliveryJudged(NamedTuple):
    """An idempotent listener has finished a delivery.

    ``order``: what the message is about; ``business_key``: the key under which its work is done once. ``verdict``: see
    :class:`~engine.idempotence.strategies.strategy.DeliveryVerdict`; ``failed``: redelivered; ``handed-over``: it is
    acknowledged, and will be worked on later.
    """

    event: int
    time_us: int
    node: str
    group: str
    key: str
    order: str
    business_key: str
    verdict: str
    is_acknowledged: bool


class AlarmRaised(NamedTuple):
    """A consumer has suspended itself: the work of a message has failed, and this was its delivery ``deliveries``."""

    event: int
    time_us: int
    node: str
    group: str
    key: str
    deliveries: int


class NodeChanged(NamedTuple):
    """A process ended abruptly (``crashed``) or was started again (``restarted``)."""

    event: int
    time_us: int
    node: str
    status: str


class ElectionStep(NamedTuple):
    """A peer of a Raft group has taken a step of an election.

    ``what``: ``asks`` (whether others would vote for it), ``stands``, ``no_majority`` (and asks or stands again),
    ``leads``; ``newer_term``, ``silence`` or ``removed``: why it no longer leads; ``counts_again``: it was joining.
    ``votes``: how many of ``voters`` have voted for it, itself included.
    """

    event: int
    time_us: int
    node: str
    what: str
    term: int
    votes: int
    voters: int


class PartitionDecided(NamedTuple):
    """A Kafka controller has changed the leader or the in-sync replicas of a partition.

    ``what``: ``leads``, ``leads_unclean`` (it was not in sync), ``no_leader``, ``shrinks`` or ``grows``. ``moved``: the
    brokers that left the in-sync replicas, or joined them; ``isr``: the in-sync replicas now.
    """

    event: int
    time_us: int
    node: str
    partition: str
    what: str
    leader: str
    epoch: int
    moved: tuple[str, ...]
    isr: tuple[str, ...]


class PagesFetched(NamedTuple):
    """A node needed pages of a file that were only on its disk, and pauses until they are read."""

    event: int
    time_us: int
    node: str
    path: str
    pages: int


class CommandApplied(NamedTuple):
    """A command from outside changed the world, directly after event ``event``."""

    event: int
    time_us: int
    command: Command


class LabHistory:
    """Append-only lists, each in the order of events."""

    def __init__(self) -> None:
        self.sends_invoked: list[SendInvoked] = []
        self.sends_returned: list[SendReturned] = []
        self.requests_returned: list[RequestReturned] = []
        self.replies_sent: list[ReplySent] = []
        self.consumes_began: list[ConsumeBegan] = []
        self.consumes_ended: list[ConsumeEnded] = []
        self.messages_dropped: list[MessageDropped] = []
        self.transactions_ended: list[LocalTransactionEnded] = []
        self.bank_entries: list[BankEntry] = []
        self.branches_changed: list[BranchChanged] = []
        self.globals_changed: list[GlobalChanged] = []
        self.transfers_ended: list[TransferEnded] = []
        self.balance_lookups: list[BalanceLookup] = []
        self.work_done: list[WorkDone] = []
        self.deliveries_judged: list[DeliveryJudged] = []
        self.alarms_raised: list[AlarmRaised] = []
        self.nodes_changed: list[NodeChanged] = []
        self.election_steps: list[ElectionStep] = []
        self.partitions_decided: list[PartitionDecided] = []
        self.pages_fetched: list[PagesFetched] = []
        self.commands: list[CommandApplied] = []

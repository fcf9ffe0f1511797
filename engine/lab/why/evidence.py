"""The evidence that a run leaves for questions: who stored, held, locked, pulled and committed what, and when.

A world shows the present, and its history what clients saw. Neither records when an offset was committed, or who had a
queue's lock an hour ago. So the run is repeated with this watch: every change becomes an entry that names its event.
Nothing here changes the world.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol, TypeVar

from engine.broker.transactions.half_message import decided_offset
from engine.lab.checkers.watch.broker_watch import BrokerWatch
from engine.lab.checkers.watch.cluster_watch import ClusterWatch, WatchListener
from engine.lab.checkers.watch.group_watch import GroupWatch
from engine.lab.nodes.broker_node import BrokerNode
from engine.lab.nodes.consumer_node import ConsumerNode
from engine.lab.run.run import LabRun
from engine.lab.scenario.kinds.consumer import ConsumerSpec
from engine.lab.witness.logged_message import LoggedMessage
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.message.message_copies import CopyKind, kind_of_copy
from engine.protocol.names import TRANSACTION_OP_HALF_TOPIC

#: Newest parcels that are remembered, and their bytes; they are searched only if a send needs an explanation.
PARCELS_REMEMBERED = 50_000
BYTES_REMEMBERED = 64 << 20


class Stored(NamedTuple):
    """A broker has appended a message, or a copy of one."""

    event: int
    time_us: int
    message: LoggedMessage
    kind: CopyKind


class Gone(NamedTuple):
    """A power cut has taken a message."""

    event: int
    time_us: int
    message: LoggedMessage


class OffsetCommitted(NamedTuple):
    """A broker has another offset of a group; ``before`` is -1 if it had none.

    ``is_reload``: it started with that, after a crash.
    """

    event: int
    time_us: int
    broker: str
    group: str
    topic: str
    queue_id: int
    before: int
    offset: int
    is_reload: bool = False


class Held(NamedTuple):
    """A consumer has taken a queue over, or no longer has it."""

    event: int
    time_us: int
    node: str
    group: str
    queue: MessageQueue
    is_gain: bool


class Locked(NamedTuple):
    """The broker's lock of a queue has another owner: node names; empty: it is free.

    ``is_forgotten``: the broker died, and locks are only in memory.
    """

    event: int
    time_us: int
    broker: str
    group: str
    queue: MessageQueue
    before: str
    after: str
    is_forgotten: bool = False


class MessagesPulled(NamedTuple):
    """Messages up to ``last_offset`` have come into a consumer's process queue; the first in it is ``first``."""

    event: int
    time_us: int
    node: str
    queue: MessageQueue
    first: int
    last_offset: int


class Throttled(NamedTuple):
    """A consumer does not pull a queue, because it holds too much of it; ``reason`` is empty when it resumes."""

    event: int
    time_us: int
    node: str
    queue: MessageQueue
    reason: str


class Decided(NamedTuple):
    """An op message: the half message at that offset of the half queue is decided."""

    event: int
    time_us: int
    broker: str
    half_offset: int


class LockNow(NamedTuple):
    """A lock at present. ``ends_us``: when its lease expires unless it is renewed."""

    broker: str
    group: str
    queue: MessageQueue
    node: str
    ends_us: int


class Happened(Protocol):
    """An effect of one event."""

    @property
    def event(self) -> int: ...


_Entry = TypeVar("_Entry", bound=Happened)


class Evidence(WatchListener):
    """Follow ``run``, which has not been stepped yet.

    :ivar now_event, now_us: the position of the question; what comes after is a look-ahead.
    :ivar locks_now: the lock tables of the brokers, as of then.
    :ivar began, up, paused: names of the nodes that have run, are running, and are paused, as of then.
    :ivar min_offsets: broker -> where its log begins, as of then.
    :ivar beyond: (broker, group, topic, queue id) where the offset is past the queue's end, as of then.
    """

    def __init__(self, run: LabRun) -> None:
        self.run = run
        self.world = run.world
        self.history = run.world.history
        self.stored: list[Stored] = []
        self.gone: list[Gone] = []
        #: (Broker, position in its log) -> (event, time): consumers find it from then on.
        self.dispatched: dict[tuple[str, int], tuple[int, int]] = {}
        self.commits: list[OffsetCommitted] = []
        self.holds: list[Held] = []
        self.locks: list[Locked] = []
        self.pulls: list[MessagesPulled] = []
        self.throttles: list[Throttled] = []
        self.decisions: list[Decided] = []
        self.frames = run.world.witness.frames
        self.frames.remember(PARCELS_REMEMBERED, BYTES_REMEMBERED)
        self.locks_now: tuple[LockNow, ...] = ()
        self.began: frozenset[str] = frozenset()
        self.up: frozenset[str] = frozenset()
        self.paused: frozenset[str] = frozenset()
        self.min_offsets: dict[str, int] = {}
        self.beyond: frozenset[tuple[str, str, str, int]] = frozenset()
        self.now_event = 0
        self.now_us = 0
        self._owned: dict[str, dict[MessageQueue, tuple[object, int, str]]] = {}
        self._lock_tables: dict[str, dict[tuple[str, MessageQueue], str]] = {}
        self._node_of_client: dict[str, str] = {}
        #: Broker, group, topic, queue id -> offset, as far as it was reported.
        self._offsets: dict[tuple[str, str, str, int], int] = {}
        self._subscribers: dict[str, GroupWatch] = {}
        self._changes = 0
        self._watch = ClusterWatch(run.world)
        self._watch.add(self)
        run.on_event.append(self._after_event)

    def stand_here(self) -> None:
        """Mark the present; the run may continue, to look ahead."""
        self.now_event, self.now_us = self.run.event_number, self.run.now_us
        self.locks_now = tuple(self._read_locks_now())
        roles = self.world.nodes.values()
        self.began = frozenset(role.name for role in roles if role.has_run)
        self.paused = frozenset(role.name for role in roles if role.status == "paused")
        self.up = self.paused | {role.name for role in roles if role.status == "running"}
        stores = {role.name: role.broker.store for role in self.world.brokers() if role.broker is not None}
        self.min_offsets = {name: store.commit_log.min_offset for name, store in stores.items()}
        self.beyond = frozenset(
            (name, group, topic, queue_id)
            for (name, group, topic, queue_id), offset in self._offsets.items()
            if name in stores and offset > stores[name].max_offset(topic, queue_id)
        )

    def known(self, entries: Iterable[_Entry], *, ahead: bool = False) -> list[_Entry]:
        """Return the entries up to now; with ``ahead``, those after it."""
        now = self.now_event
        return [entry for entry in entries if (entry.event > now) is ahead]

    def wants(self, role: ConsumerNode, message: LoggedMessage) -> bool:
        """Return whether the subscription of that member lets the message through."""
        if role.name not in self._subscribers:
            self._subscribers[role.name] = GroupWatch(role.spec.group)
            self._subscribers[role.name].add(role.spec)
        return self._subscribers[role.name].wants(message)

    # --- reports -----------------------------------------------------------------------------------------------------

    def message_stored(self, message: LoggedMessage) -> None:
        here = self._watch.event_number, self._watch.now_us
        if message.topic == TRANSACTION_OP_HALF_TOPIC:
            role = self.world.find(BrokerNode, message.broker)
            broker = role.broker if role is not None else None
            op = broker.store.message_at(message.commit_log_offset) if broker is not None else None
            half_offset = decided_offset(op) if op is not None else None
            if half_offset is not None:
                self.decisions.append(Decided(*here, message.broker, half_offset))
            return
        kind = kind_of_copy(message)
        if kind is not None and message.key:
            self.stored.append(Stored(*here, message, kind))

    def message_lost(self, message: LoggedMessage, is_lawful: bool) -> None:
        self.gone.append(Gone(self._watch.event_number, self._watch.now_us, message))

    def messages_dispatched(self, broker: BrokerWatch, messages: Iterable[LoggedMessage]) -> None:
        here = self._watch.event_number, self._watch.now_us
        for message in messages:
            self.dispatched.setdefault((broker.name, message.commit_log_offset), here)

    def offset_committed(
        self, broker: BrokerWatch, group: str, topic: str, queue_id: int, before: int, offset: int
    ) -> None:
        here = self._watch.event_number, self._watch.now_us
        self.commits.append(OffsetCommitted(*here, broker.name, group, topic, queue_id, before, offset))
        self._offsets[broker.name, group, topic, queue_id] = offset

    def broker_loaded(self, broker: BrokerWatch) -> None:
        here = self._watch.event_number, self._watch.now_us
        manager = broker.broker.consumer_offset_manager
        for place, before in self._offsets.items():
            name, group, topic, queue_id = place
            offset = manager.query_offset(group, topic, queue_id) if name == broker.name else before
            if offset != before:
                self.commits.append(
                    OffsetCommitted(*here, name, group, topic, queue_id, before, offset, is_reload=True)
                )
                self._offsets[place] = offset

    # --- checks after each event -------------------------------------------------------------------------------------

    def _after_event(self, number: int) -> None:
        self._watch.after_event(number)
        self._look_at_ends()
        name = self.world.loop.last_actor.node.name
        if (consumer := self.world.find(ConsumerNode, name)) is not None:
            self._look_at_consumer(consumer)
        elif (broker := self.world.find(BrokerNode, name)) is not None:
            self._look_at_locks(broker)

    def _look_at_ends(self) -> None:
        """Note queues of ended processes: such a process has no queues any more, and runs no event that could show
        it.
        """
        changes = self.history.nodes_changed
        if len(changes) == self._changes:
            return
        for change in changes[self._changes :]:
            for (group, queue), owner in self._lock_tables.pop(change.node, {}).items():
                lock = group, queue, self.node_of(owner), ""
                self.locks.append(Locked(change.event, change.time_us, change.node, *lock, is_forgotten=True))
            if owned := self._owned.pop(change.node, {}):
                group = self.world.spec_of(ConsumerSpec, change.node).group
                here = change.event, change.time_us, change.node
                self.holds += [Held(*here, group, queue, is_gain=False) for queue in owned]
        self._changes = len(changes)

    def _look_at_consumer(self, role: ConsumerNode) -> None:
        here = self._watch.event_number, self._watch.now_us
        consumer = role.consumer
        known = self._owned.setdefault(role.name, {})
        queues = {} if consumer is None else consumer.process_queues
        if consumer is not None and not known and queues:
            self._node_of_client[consumer.instance.client_id] = role.name
        for queue in [queue for queue in known if queue not in queues]:
            del known[queue]
            self.holds.append(Held(*here, role.name, role.spec.group, queue, is_gain=False))
        for queue, process_queue in queues.items():
            before = known.get(queue)
            last = process_queue.queue_offset_max if process_queue.queue_offset_max or process_queue.msg_count else -1
            throttle = process_queue.flow_control or ""
            if before is None or before[0] is not process_queue:
                self.holds.append(Held(*here, role.name, role.spec.group, queue, is_gain=True))
                before = process_queue, -1, ""
            elif before[1] == last and before[2] == throttle:
                continue
            if last > before[1]:
                first = process_queue.msg_tree_map.first_key()
                self.pulls.append(MessagesPulled(*here, role.name, queue, last if first is None else first, last))
            if throttle != before[2]:
                self.throttles.append(Throttled(*here, role.name, queue, throttle))
            known[queue] = process_queue, max(last, before[1]), throttle

    def _look_at_locks(self, role: BrokerNode) -> None:
        known = self._lock_tables.get(role.name, {})
        if role.broker is None or not (known or len(role.broker.rebalance_lock_manager)):
            return
        table = {(group, queue): one.client_id for group, queue, one in role.broker.rebalance_lock_manager.entries()}
        if table == known:
            return
        here = self._watch.event_number, self._watch.now_us
        for lock in dict.fromkeys((*known, *table)):
            before, after = known.get(lock, ""), table.get(lock, "")
            if before != after:
                names = self.node_of(before), self.node_of(after)
                self.locks.append(Locked(*here, role.name, *lock, *names))
        self._lock_tables[role.name] = table

    def _read_locks_now(self) -> Iterable[LockNow]:
        for role in self.world.brokers():
            if role.broker is None:
                continue
            manager = role.broker.rebalance_lock_manager
            now_ms = role.broker.runtime.clock.now_ms()
            for group, queue, entry in manager.entries():
                left_ms = entry.last_update_ms + manager.lock_lease_ms - now_ms
                yield LockNow(role.name, group, queue, self.node_of(entry.client_id), self.now_us + left_ms * 1_000)

    def node_of(self, client_id: str) -> str:
        """Return the node whose process has, or had, that client id."""
        if client_id and client_id not in self._node_of_client:
            for role in self.world.consumers():
                if role.consumer is not None:
                    self._node_of_client[role.consumer.instance.client_id] = role.name
        return self._node_of_client.get(client_id, client_id)

"""Detection of what every event changed in a world, for the checkers.

An event usually changes nothing that concerns a checker, so only a few numbers are compared per event: the lengths of
the history's lists, and, if a broker acted, the ends of its log, what it dispatched and its offset table. The checkers
then receive the changes instead of searching for them individually. Nothing here changes the world.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import getmembers, isfunction
from typing import Any, Concatenate, ParamSpec

from engine.lab.checkers.watch.broker_watch import BrokerListener, BrokerWatch
from engine.lab.checkers.watch.group_watch import GroupWatch
from engine.lab.checkers.watch.kafka_watch import KafkaWatch, RecordListener
from engine.lab.checkers.watch.raft_watch import RaftListener, RaftWatch
from engine.lab.checkers.watch.violation import Violation
from engine.lab.kafka.kafka_broker_node import KafkaBrokerNode
from engine.lab.nodes.broker_node import BrokerNode
from engine.lab.nodes.consumer_node import ConsumerNode
from engine.lab.nodes.history import (
    BankEntry,
    BranchChanged,
    ConsumeBegan,
    ConsumeEnded,
    DeliveryJudged,
    SendReturned,
    WorkDone,
)
from engine.lab.raft.raft_peer_node import RaftPeerNode
from engine.lab.scenario.kinds.node_spec import System
from engine.lab.scenario.listener_spec import ListenerResult
from engine.lab.witness.logged_message import LoggedMessage
from engine.lab.world.world import ScenarioWorld
from engine.protocol.names import group_of_retry_or_dlq_topic, is_dlq_topic
from engine.runtime.lab.lab_failures import LabFailure

_News = ParamSpec("_News")

_NONE: tuple[Violation, ...] = ()
_SECOND_US = 1_000_000
#: Commands after which only flushed data is left.
_POWER_CUTS = ("crash-power", "torn-write")
#: A broker forgets a silent client after 120 s, and checks every 10 s (RocketMQ: ``CHANNEL_EXPIRED_TIMEOUT``).
CHANNEL_EXPIRED_US = 130 * _SECOND_US
#: After this long without any fault everything must be back to normal: heartbeat 30 s, rebalance 20 s, a pull whose
#: answer was lost 30 s.
CALM_US = 80 * _SECOND_US
#: Old data may have been damaged long after it was written; it is checked again piece by piece, once per this many
#: events.
_EVENTS_PER_AUDIT = 16


class WatchListener(BrokerListener, RecordListener, RaftListener):
    """Listener for events of a world and its brokers. The methods do nothing; a checker overrides those it needs."""

    def send_returned(self, entry: SendReturned) -> None:
        """A producer has received the result of a send."""

    def consume_began(self, entry: ConsumeBegan) -> None:
        """A listener gets a message."""

    def consume_ended(self, entry: ConsumeEnded) -> None:
        """A listener has finished a message."""

    def command_returned(self, entry: SendReturned) -> None:
        """A client of a Raft group has received the result of a command."""

    def record_send_returned(self, entry: SendReturned) -> None:
        """A Kafka producer has received the result of a send."""

    def record_consume_began(self, entry: ConsumeBegan) -> None:
        """An application begins with a record from its Kafka consumer."""

    def record_consumed(self, entry: ConsumeEnded) -> None:
        """An application has finished a record."""

    def bank_entered(self, entry: BankEntry) -> None:
        """A bank has done something."""

    def branch_changed(self, entry: BranchChanged) -> None:
        """A branch of a global transaction is in another state."""

    def work_done(self, entry: WorkDone) -> None:
        """A store or a service has changed permanently."""

    def delivery_judged(self, entry: DeliveryJudged) -> None:
        """An idempotent listener has finished a delivery."""

    def code_failed(self, failure: LabFailure) -> None:
        """An exception was not caught."""

    def audit(self) -> None:
        """Check one old item again; called every few events."""

    def second_passed(self) -> None:
        """A second of virtual time has passed, or more."""

    def run_ended(self) -> None:
        """The run is over."""


#: All methods that a listener may override.
NEWS: tuple[Callable[..., None], ...] = tuple(method for _, method in getmembers(WatchListener, isfunction))


@dataclass(slots=True)
class _Reading:
    """How far a list of the history was read, and the events for its further entries, for nodes of Kafka and for
    others.
    """

    entries: list[Any]
    news: Callable[..., None]
    news_of_kafka: Callable[..., None] | None = None
    news_of_raft: Callable[..., None] | None = None
    count: int = 0
    is_wanted: bool = False

    def news_for(self, system: System) -> Callable[..., None]:
        """Return the event for an entry of a node of this system."""
        of_raft = self.news_of_raft if system is System.RAFT else None
        return (self.news_of_kafka if system is System.KAFKA else of_raft) or self.news

    def all_news(self) -> tuple[Callable[..., None] | None, ...]:
        """Return all possible events for an entry."""
        return self.news, self.news_of_kafka, self.news_of_raft


class ClusterWatch:
    """Watch a world and notify the checkers.

    :ivar brokers: by node name.
    :ivar slaves: brokers that follow another one, by node name. Their messages are not reported: they are their
        masters'.
    :ivar kafka_brokers: Kafka brokers by node name.
    :ivar raft_peers: peers of a Raft group by node name.
    :ivar groups: the consumer groups by name.
    :ivar found: violations not yet fetched.
    :ivar calm_since_us: since when nothing has been wrong: no command, every broker and name server up, no node paused,
        links and disks good, every broker knows exactly the running members. Timers need a while from then on.
    """

    def __init__(self, world: ScenarioWorld) -> None:
        self.world = world
        self.brokers: dict[str, BrokerWatch] = {}
        self.slaves: dict[str, BrokerWatch] = {}
        self.kafka_brokers: dict[str, KafkaWatch] = {}
        self.raft_peers: dict[str, RaftWatch] = {}
        #: All of these together: the watch to call when an actor of the node has acted.
        self._watches: dict[str, BrokerWatch | KafkaWatch | RaftWatch] = {}
        self.groups: dict[str, GroupWatch] = {}
        self.found: list[Violation] = []
        self.event_number = 0
        self.now_us = 0
        self.calm_since_us = 0
        self._last_command_us = 0
        self._loop = world.loop
        self._history = world.history
        self._next_second_us = 0
        self._node_count = 0
        history = world.history
        self._readings = [
            _Reading(
                history.sends_returned,
                WatchListener.send_returned,
                WatchListener.record_send_returned,
                WatchListener.command_returned,
            ),
            _Reading(history.consumes_began, WatchListener.consume_began, WatchListener.record_consume_began),
            _Reading(history.consumes_ended, WatchListener.consume_ended, WatchListener.record_consumed),
            _Reading(history.bank_entries, WatchListener.bank_entered),
            _Reading(history.branches_changed, WatchListener.branch_changed),
            _Reading(history.work_done, WatchListener.work_done),
            _Reading(history.deliveries_judged, WatchListener.delivery_judged),
        ]
        #: The readings that some listener receives, in order: only these are checked after each event.
        self._wanted: list[_Reading] = []
        self._commands = self._failures = 0
        self._power_cuts: dict[str, None] = {}
        #: Listeners per event: only those that override its method are called.
        self._noted: dict[Callable[..., None], list[Callable[..., None]]] = {news: [] for news in NEWS}
        # The group's state is updated before a checker is notified.
        self._noted[WatchListener.consume_ended].append(self._note_consumed)
        self._noted[WatchListener.message_stored].append(self._note_stored)
        self._noted[WatchListener.message_lost].append(self._note_lost)
        self._choose_readings()
        self._look_for_nodes()

    def add(self, listener: WatchListener) -> None:
        """Notify ``listener`` of the events that it has methods for."""
        for news in NEWS:
            if getattr(type(listener), news.__name__) is not news:
                self._noted[news].append(getattr(listener, news.__name__))
        self._choose_readings()

    def _choose_readings(self) -> None:
        """Choose the readings that are needed. Entries that a list had before are not events."""
        for reading in self._readings:
            if not reading.is_wanted and any(news and self._noted[news] for news in reading.all_news()):
                reading.is_wanted, reading.count = True, len(reading.entries)
        self._wanted = [reading for reading in self._readings if reading.is_wanted]

    def _report(self, news: Callable[Concatenate[Any, _News], None], *what: _News.args, **more: _News.kwargs) -> None:
        for listener in self._noted[news]:
            listener(*what, **more)

    # --- events ------------------------------------------------------------------------------------------------------

    def after_event(self, event_number: int) -> Sequence[Violation]:
        """Check what changed; return what the checkers found."""
        self.event_number = event_number
        loop, history = self._loop, self._history
        now_us = self.now_us = loop.schedule.now_us
        # Only a node's own actors can change what it holds or saw, except for commands.
        acting = self._watches.get(loop.last_actor.node.name)
        if len(history.commands) != self._commands:
            self._read_commands()
            for watch in self._watches.values():
                watch.look()
        elif acting is not None:
            acting.look()
        if acting is None:
            self._read_what_clients_saw()
        failures = loop.failures.failures
        if len(failures) != self._failures:
            for failure in failures[self._failures :]:
                self._report(WatchListener.code_failed, failure)
            self._failures = len(failures)
        if event_number % _EVENTS_PER_AUDIT == 0:
            self._report(WatchListener.audit)
        if now_us >= self._next_second_us:
            self._pass_second()
        if not self.found:
            return _NONE
        found, self.found = self.found, []
        return found

    def _read_what_clients_saw(self) -> None:
        for reading in self._wanted:
            if len(reading.entries) != reading.count:
                new = reading.entries[reading.count :]
                reading.count += len(new)
                for entry in new:
                    self._report(reading.news_for(self.world.nodes[entry.node].spec.system), entry)

    def _note_consumed(self, entry: ConsumeEnded) -> None:
        group = self.groups.get(entry.group)
        if group is not None and entry.result == "success":
            place = (entry.broker, entry.topic, entry.queue_id, entry.queue_offset)
            group.positions[place] = None
            message = self.message_at(*place)
            if message is not None and entry.key == message.first_key:
                group.consumed[message.unique_key] = None

    def end(self) -> Sequence[Violation]:
        """Let the checkers examine what is missing at the end of the run."""
        self.now_us = self._loop.now_us
        self._report(WatchListener.run_ended)
        found, self.found = self.found, []
        return found

    def _read_commands(self) -> None:
        history = self._history
        for entry in history.commands[self._commands :]:
            if entry.command.kind in _POWER_CUTS:
                self._power_cuts[entry.command.target] = None
        self._commands = len(history.commands)
        self.calm_since_us = self._last_command_us = self.now_us
        self._look_for_nodes()

    def _look_for_nodes(self) -> None:
        """Find new nodes: they may join while the world runs, and never leave the list."""
        world, first = self.world, self._node_count
        for broker in world.roles(BrokerNode, first):
            watches, report = (self.slaves, _report_nobody) if broker.spec.slave_of else (self.brokers, self._report)
            log = world.witness.broker_log(broker)
            watches[broker.name] = BrokerWatch(broker, log, report, self._power_cuts)
        for kafka_broker in world.roles(KafkaBrokerNode, first):
            self.kafka_brokers[kafka_broker.name] = KafkaWatch(kafka_broker, self._report, self._power_cuts)
        for peer in world.roles(RaftPeerNode, first):
            self.raft_peers[peer.name] = RaftWatch(peer, self._report)
        for consumer in world.roles(ConsumerNode, first):
            group = consumer.spec.group
            self.groups.setdefault(group, GroupWatch(group)).add(consumer.spec)
        self._watches = {**self.brokers, **self.slaves, **self.kafka_brokers, **self.raft_peers}
        self._node_count = len(world.nodes)

    def _pass_second(self) -> None:
        self._next_second_us = self.now_us - self.now_us % _SECOND_US + _SECOND_US
        if not self._is_calm():
            self.calm_since_us = self.now_us
        self._report(WatchListener.second_passed)

    @property
    def has_been_calm(self) -> bool:
        """Return whether nothing has been wrong for long enough to expect the cluster to be in order."""
        return self.now_us - self.calm_since_us >= CALM_US

    def is_idle(self, group: GroupWatch) -> bool:
        """Return whether a member of ``group`` runs, and no listener call is in progress or would take forever."""
        consumers = [role for role in self.world.consumers() if role.spec.group == group.name]
        members = [role for role in consumers if role.consumer is not None]
        return bool(members) and not any(
            role.listener_calls
            or role.listener.result is ListenerResult.HANGS
            or role.listener.duration_ms * 1_000 >= CALM_US
            for role in members
        )

    def _is_calm(self) -> bool:
        if self._is_a_link_faulty() or any(broker.is_disk_faulty for broker in self.brokers.values()):
            return False
        for role in self.world.nodes.values():
            if role.spec.has_bank and self.world.disk_of(role.name).occupied_bytes:
                return False
            status = role.status
            if status == "paused" or (status != "running" and role.spec.must_run):
                return False
        # A member that vanished without notice is on the brokers' lists until its channel expires.
        return self.now_us > self._last_command_us + CHANNEL_EXPIRED_US or self._members_are_known()

    def _is_a_link_faulty(self) -> bool:
        faults = self.world.link_faults
        return bool(faults.partitions or faults.next_frames) or any(
            link.delay_us or link.loss_ratio or link.duplicate_ratio or link.reorder_ratio
            for link in faults.poor_links.values()
        )

    def _members_are_known(self) -> bool:
        """Return whether every broker lists exactly the running members of each group."""
        running: dict[str, list[str]] = {name: [] for name in self.groups}
        for role in self.world.consumers():
            if role.consumer is not None and role.status == "running":
                running[role.spec.group].append(role.consumer.instance.client_id)
        for broker in self.brokers.values():
            for group, client_ids in running.items():
                info = broker.broker.consumer_manager.get_consumer_group_info(group) if broker.is_up else None
                known = sorted(info.client_ids) if info is not None else []
                if known != sorted(client_ids):
                    return False
        return True

    def message_at(self, broker: str, topic: str, queue_id: int, queue_offset: int) -> LoggedMessage | None:
        """Return the message that a consumer finds at this queue offset."""
        watch = self.brokers.get(broker)
        return watch.by_place.get((topic, queue_id, queue_offset)) if watch is not None else None

    # --- reports of brokers ------------------------------------------------------------------------------------------

    def _note_stored(self, message: LoggedMessage) -> None:
        if message.resends >= 0 and message.reconsume_times == 0:
            for resending in self.groups.values():
                resending.dead_letter_resent(message.broker, message)
        group = self._group_of_copy(message)
        if group is not None:
            key = message.unique_key
            group.copies[key] = max(group.copies.get(key, -1), message.reconsume_times)
            if is_dlq_topic(message.destination):
                group.dead.setdefault(key, message)

    def _note_lost(self, message: LoggedMessage, is_lawful: bool) -> None:
        """Note a lost message: a copy is lost to its group, any other message to all groups."""
        copy_of = self._group_of_copy(message)
        for group in self.groups.values() if copy_of is None else (copy_of,):
            group.lost[message.unique_key] = None

    def _group_of_copy(self, message: LoggedMessage) -> GroupWatch | None:
        name = group_of_retry_or_dlq_topic(message.destination)
        return self.groups.get(name) if name is not None else None


def _report_nobody(news: Callable[Concatenate[Any, _News], None], *what: _News.args, **more: _News.kwargs) -> None:
    """Report nothing; used for slaves."""

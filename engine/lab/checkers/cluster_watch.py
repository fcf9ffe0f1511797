"""Sees what every event changed in a world, and tells the checkers.

An event usually changes nothing that a checker asks about, so this compares only a few numbers per event: the lengths
of the history's lists, and, when a broker acted, the ends of its log, what it dispatched and its offset table. The
checkers then get news instead of looking for it each by itself. Nothing here changes the world.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from engine.lab.checkers.broker_watch import BrokerWatch
from engine.lab.checkers.group_watch import GroupWatch
from engine.lab.checkers.logged_message import LoggedMessage
from engine.lab.checkers.violation import Violation
from engine.lab.consumer_role import ConsumerRole
from engine.lab.listener_spec import ListenerResult
from engine.lab.scenario import Role
from engine.protocol.names import group_of_retry_or_dlq_topic, is_dlq_topic

if TYPE_CHECKING:
    from engine.lab.checkers.checker import Checker
    from engine.lab.history import BankEntry, BranchChanged, ConsumeBegan, ConsumeEnded, SendReturned
    from engine.lab.world import ScenarioWorld
    from engine.runtime.lab_failures import LabFailure

_Entry = TypeVar("_Entry")

_NONE: tuple[Violation, ...] = ()
_SECOND_US = 1_000_000
#: Commands after which only what was flushed is left.
_POWER_CUTS = ("crash-power", "torn-write")
#: A broker forgets a silent client after 120 s, and looks every 10 s (RocketMQ: ``CHANNEL_EXPIRED_TIMEOUT``).
CHANNEL_EXPIRED_US = 130 * _SECOND_US
#: After so long without any fault everything has to go its usual way again: heartbeat 30 s, rebalance 20 s, a pull
#: whose answer was lost 30 s.
CALM_US = 80 * _SECOND_US
#: What may have been damaged long after it was written is looked at again bit by bit, every so many events.
_EVENTS_PER_AUDIT = 16


class ClusterWatch:
    """See the module.

    What a checker may define, and when it is called:

    * ``message_stored(message)``: a broker appended it.
    * ``message_lost(message, is_lawful)``: it was in the log before a crash and is not any more; lawful when the power
      was cut and it was not flushed.
    * ``hole_found(broker, commit_log_offset)``: there is neither message nor end of file.
    * ``messages_dispatched(broker, messages)``: they became visible to consumers.
    * ``broker_loaded(broker)``: a process came up; ``message_lost`` and ``message_stored`` came before.
    * ``offset_committed(broker, group, topic, queue_id, before, offset)``: a broker has another offset stored for the
      group; ``before`` is -1 when it had none.
    * ``send_returned(entry)``, ``consume_began(entry)``, ``consume_ended(entry)``: see the history.
    * ``bank_entered(entry)``, ``branch_changed(entry)``: a bank has done something; see the history.
    * ``code_failed(failure)``: an exception that nobody caught.
    * ``audit()``: every few events: time to look at one old thing again.
    * ``second_passed()``: a second of virtual time went by, or more.
    * ``run_ended()``: the run is over.

    :ivar brokers: by node name.
    :ivar groups: the consumer groups by name.
    :ivar found: violations not yet fetched.
    :ivar calm_since_us: since when nothing has been wrong: no command, every broker and name server up, no node paused,
        links and disks good, every broker knows exactly the running members. Timers need a while from then on.
    """

    def __init__(self, world: ScenarioWorld) -> None:
        self.world = world
        self.brokers: dict[str, BrokerWatch] = {}
        self.groups: dict[str, GroupWatch] = {}
        self.found: list[Violation] = []
        self.event_number = 0
        self.now_us = 0
        self.calm_since_us = 0
        self._last_command_us = 0
        self._loop = world.lab.loop
        self._history = world.history
        self._next_second_us = 0
        self._node_count = 0
        self._sends_returned = self._consumes_began = self._consumes_ended = self._commands = self._failures = 0
        self._bank_entries = self._branches_changed = 0
        self._power_cuts: dict[str, None] = {}
        self._stored: list[Callable[[LoggedMessage], None]] = []
        self._lost: list[Callable[[LoggedMessage, bool], None]] = []
        self._hole: list[Callable[[BrokerWatch, int], None]] = []
        self._dispatched: list[Callable[[BrokerWatch, Sequence[LoggedMessage]], None]] = []
        self._loaded: list[Callable[[BrokerWatch], None]] = []
        self._committed: list[Callable[[BrokerWatch, str, str, int, int, int], None]] = []
        self._returned: list[Callable[[SendReturned], None]] = []
        self._began: list[Callable[[ConsumeBegan], None]] = []
        self._ended: list[Callable[[ConsumeEnded], None]] = []
        self._entered: list[Callable[[BankEntry], None]] = []
        self._changed: list[Callable[[BranchChanged], None]] = []
        self._failed: list[Callable[[LabFailure], None]] = []
        self._audit: list[Callable[[], None]] = []
        self._second: list[Callable[[], None]] = []
        self._end: list[Callable[[], None]] = []
        self._look_for_nodes()

    def add(self, checker: Checker) -> None:
        """Tell ``checker`` the news that it has methods for."""
        wishes: tuple[tuple[str, list[Callable[..., None]]], ...] = (
            ("message_stored", self._stored),
            ("message_lost", self._lost),
            ("hole_found", self._hole),
            ("messages_dispatched", self._dispatched),
            ("broker_loaded", self._loaded),
            ("offset_committed", self._committed),
            ("send_returned", self._returned),
            ("consume_began", self._began),
            ("consume_ended", self._ended),
            ("bank_entered", self._entered),
            ("branch_changed", self._changed),
            ("code_failed", self._failed),
            ("audit", self._audit),
            ("second_passed", self._second),
            ("run_ended", self._end),
        )
        for name, listeners in wishes:
            method = getattr(checker, name, None)
            if method is not None:
                listeners.append(method)

    # --- events ------------------------------------------------------------------------------------------------------

    def after_event(self, event_number: int) -> Sequence[Violation]:
        """Look what changed; returns what the checkers found."""
        self.event_number = event_number
        loop, history = self._loop, self._history
        now_us = self.now_us = loop.schedule.now_us
        # Nobody but its own actors can change what a node holds or saw, except for commands.
        acting = self.brokers.get(loop.last_actor.node.name)
        if len(history.commands) != self._commands:
            self._read_commands()
            for broker in self.brokers.values():
                broker.look()
        elif acting is not None:
            acting.look()
        if acting is None:
            self._read_what_clients_saw()
        failures = loop.failures.failures
        if failures and len(failures) != self._failures:
            self._failures = _tell(failures, self._failures, self._failed)
        if event_number % _EVENTS_PER_AUDIT == 0:
            for audit in self._audit:
                audit()
        if now_us >= self._next_second_us:
            self._pass_second()
        if not self.found:
            return _NONE
        found, self.found = self.found, []
        return found

    def _read_what_clients_saw(self) -> None:
        history = self._history
        if len(history.sends_returned) != self._sends_returned:
            self._sends_returned = _tell(history.sends_returned, self._sends_returned, self._returned)
        if len(history.consumes_began) != self._consumes_began:
            self._consumes_began = _tell(history.consumes_began, self._consumes_began, self._began)
        if len(history.consumes_ended) != self._consumes_ended:
            self._read_consumes_ended()
        if len(history.bank_entries) != self._bank_entries:
            self._bank_entries = _tell(history.bank_entries, self._bank_entries, self._entered)
        if len(history.branches_changed) != self._branches_changed:
            self._branches_changed = _tell(history.branches_changed, self._branches_changed, self._changed)

    def end(self) -> Sequence[Violation]:
        """The run is over."""
        self.now_us = self._loop.now_us
        for listener in self._end:
            listener()
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
        """Nodes may join while the world runs; none ever leaves the list."""
        nodes = self.world.nodes
        for name in list(nodes)[self._node_count :]:
            role = nodes[name]
            if role.role is Role.BROKER:
                self.brokers[name] = BrokerWatch(name, role, self)  # type: ignore[arg-type]  # a broker's role
            elif role.role is Role.CONSUMER:
                self.groups.setdefault(role.spec.group, GroupWatch(role.spec.group)).add(role.spec)
        self._node_count = len(nodes)

    def _pass_second(self) -> None:
        self._next_second_us = self.now_us - self.now_us % _SECOND_US + _SECOND_US
        if not self._is_calm():
            self.calm_since_us = self.now_us
        for listener in self._second:
            listener()

    @property
    def has_been_calm(self) -> bool:
        """Whether nothing has been wrong for long enough to expect the cluster in order."""
        return self.now_us - self.calm_since_us >= CALM_US

    def is_idle(self, group: GroupWatch) -> bool:
        """Whether a member of ``group`` runs, and no listener call is under way or would take for ever."""
        roles = [role for role in self.world.nodes.values() if role.spec.group == group.name]
        members = [role for role in roles if isinstance(role, ConsumerRole) and role.consumer is not None]
        return bool(members) and not any(
            role.listener_calls
            or role.listener.result is ListenerResult.HANGS
            or role.listener.duration_ms * 1_000 >= CALM_US
            for role in members
        )

    def _is_calm(self) -> bool:
        if self._is_a_link_faulty() or any(broker.is_disk_faulty for broker in self.brokers.values()):
            return False
        storages = self.world.lab.storages
        for role in self.world.nodes.values():
            if role.spec.bank is not None and storages[role.name].occupied_bytes:
                return False
            status = role.status
            if status == "paused" or (status != "running" and role.role in (Role.BROKER, Role.NAME_SERVER)):
                return False
        # A member that vanished without a word is on the brokers' lists until its channel expires.
        return self.now_us > self._last_command_us + CHANNEL_EXPIRED_US or self._members_are_known()

    def _is_a_link_faulty(self) -> bool:
        faults = self.world.link_faults
        return bool(faults.partitions or faults.next_frames) or any(
            link.delay_us or link.loss_ratio or link.duplicate_ratio or link.reorder_ratio
            for link in faults.poor_links.values()
        )

    def _members_are_known(self) -> bool:
        """Whether every broker lists exactly the running members of each group."""
        running: dict[str, list[str]] = {name: [] for name in self.groups}
        for role in self.world.nodes.values():
            if isinstance(role, ConsumerRole) and role.consumer is not None and role.status == "running":
                running[role.spec.group].append(role.consumer.instance.client_id)
        for broker in self.brokers.values():
            for group, client_ids in running.items():
                info = broker.broker.consumer_manager.get_consumer_group_info(group) if broker.is_up else None
                known = sorted(info.client_ids) if info is not None else []
                if known != sorted(client_ids):
                    return False
        return True

    def had_power_cut(self, node: str) -> bool:
        """Whether the power of ``node`` was ever cut: what its process wrote and nobody flushed may be gone."""
        return node in self._power_cuts

    def message_at(self, broker: str, topic: str, queue_id: int, queue_offset: int) -> LoggedMessage | None:
        """What a consumer finds there."""
        watch = self.brokers.get(broker)
        return watch.by_place.get((topic, queue_id, queue_offset)) if watch is not None else None

    def _read_consumes_ended(self) -> None:
        history = self._history
        for entry in history.consumes_ended[self._consumes_ended :]:
            group = self.groups.get(entry.group)
            if group is not None and entry.result == "success":
                group.positions[entry.broker, entry.topic, entry.queue_id, entry.queue_offset] = None
                message = self.message_at(entry.broker, entry.topic, entry.queue_id, entry.queue_offset)
                if message is not None and entry.key == message.first_key:
                    group.consumed[message.unique_key] = None
        self._consumes_ended = _tell(history.consumes_ended, self._consumes_ended, self._ended)

    # --- what brokers report -----------------------------------------------------------------------------------------

    def tell_stored(self, broker: BrokerWatch, message: LoggedMessage) -> None:
        """``broker`` appended ``message``."""
        if message.resends >= 0 and message.reconsume_times == 0:
            for resending in self.groups.values():
                resending.dead_letter_resent(broker.name, message)
        group = self._group_of_copy(message)
        if group is not None:
            key = message.unique_key
            group.copies[key] = max(group.copies.get(key, -1), message.reconsume_times)
            if is_dlq_topic(message.destination):
                group.dead.setdefault(key, message)
        for listener in self._stored:
            listener(message)

    def tell_lost(self, broker: BrokerWatch, message: LoggedMessage, is_lawful: bool) -> None:
        """``message`` is not in the log of ``broker`` any more."""
        copy_of = self._group_of_copy(message)
        for group in self.groups.values() if copy_of is None else (copy_of,):
            group.lost[message.unique_key] = None
        for listener in self._lost:
            listener(message, is_lawful)

    def tell_hole(self, broker: BrokerWatch, commit_log_offset: int) -> None:
        """What lies there can not be read."""
        for listener in self._hole:
            listener(broker, commit_log_offset)

    def tell_dispatched(self, broker: BrokerWatch, messages: Sequence[LoggedMessage]) -> None:
        """``messages`` became visible."""
        for listener in self._dispatched:
            listener(broker, messages)

    def tell_loaded(self, broker: BrokerWatch) -> None:
        """``broker`` came up."""
        for listener in self._loaded:
            listener(broker)

    def tell_committed(
        self, broker: BrokerWatch, group: str, topic: str, queue_id: int, before: int, offset: int
    ) -> None:
        """``broker`` stores another offset."""
        for listener in self._committed:
            listener(broker, group, topic, queue_id, before, offset)

    def _group_of_copy(self, message: LoggedMessage) -> GroupWatch | None:
        name = group_of_retry_or_dlq_topic(message.destination)
        return self.groups.get(name) if name is not None else None


def _tell(entries: Sequence[_Entry], first: int, listeners: Sequence[Callable[[_Entry], None]]) -> int:
    """Tell of the entries from ``first`` on; how many there are."""
    for entry in entries[first:]:
        for listener in listeners:
            listener(entry)
    return len(entries)

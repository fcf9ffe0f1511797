"""What a crash at each point does: one transfer, run again for every step of its protocol, with the node that has just
made the step killed right after it and started again some time later.

The transfer is the last one of the scenario, both of a transaction manager and of a paying bank with transactional
messages; what comes before it, faults of the script included, goes as it always does. A point is where something has
just become different: a step of the engine's code, a state of a transaction or branch, a message in the broker's store.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from engine.lab.checkers.watch.cluster_watch import WatchListener
from engine.lab.checkers.watch.logged_message import LoggedMessage
from engine.lab.nodes.consumer_role import ConsumerRole
from engine.lab.nodes.history import BranchChanged, GlobalChanged, SendInvoked
from engine.lab.nodes.money_flow import MoneyFlow
from engine.lab.nodes.node_role import LabNodeRole
from engine.lab.nodes.producer_role import ProducerRole
from engine.lab.nodes.xa_roles import ResourceManagerRole
from engine.lab.run.run import LabRun
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.scenario import Role, Scenario
from engine.lab.world.world import ScenarioWorld
from engine.protocol.names import TRANSACTION_HALF_TOPIC, TRANSACTION_OP_HALF_TOPIC
from engine.texts import Text

#: How long the killed node is away.
RESTART_AFTER_MS = 3_000

TWO_PHASE = "two-phase"
MESSAGE = "message"


class NothingToCrash(Exception):
    """The scenario has no transfer of which one could look at the steps."""


class CrashPoint(NamedTuple):
    """Right after event ``event`` ``node`` has done ``step``: ``crash_point.STEP`` of the catalogue.

    ``way``: which transfer, :data:`TWO_PHASE` or :data:`MESSAGE`. ``nth``: the how manieth time it does that, from 1.
    """

    way: str
    node: str
    step: str
    event: int
    time_us: int
    nth: int = 1

    @property
    def texts(self) -> Text:
        """What has just happened."""
        text = Text(f"crash_point.{self.step}")
        return text if self.nth == 1 else Text("crash_point.again", step=text, nth=self.nth)


@dataclass(frozen=True, slots=True)
class CrashOutcome:
    """What came of a crash there.

    :ivar outcome: ``committed``, ``rolled-back``, or ``open`` at the end of the story.
    :ivar locked_us: how long an account was locked for the transfer, the longer of both.
    :ivar window_us: how long one bank had done its part and the other had not; None: for ever, or nobody did.
    :ivar is_conserved: whether no invariant was violated.
    :ivar link: the run, as far as the crash; see :meth:`engine.lab.run.recording.Recording.link`.
    """

    point: CrashPoint
    outcome: str
    locked_us: int
    window_us: int | None
    is_conserved: bool
    link: str

    def to_dict(self) -> dict[str, object]:
        """As JSON, with the step's texts."""
        point = self.point
        return {
            "way": point.way,
            "node": point.node,
            "step": dict(point.texts),
            "event": point.event,
            "time_us": point.time_us,
            "outcome": self.outcome,
            "locked_us": self.locked_us,
            "window_us": self.window_us,
            "is_conserved": self.is_conserved,
            "link": self.link,
        }


# --- the points ----------------------------------------------------------------------------------------------------


def find_points(scenario: Scenario) -> list[CrashPoint]:
    """The steps of the last transfers when nothing else goes wrong. Raises :class:`NothingToCrash`."""
    keys = _last_keys(scenario)
    if not keys:
        raise NothingToCrash(f"{scenario.name} has neither a transaction manager nor a bank that sends in transactions")
    points: list[CrashPoint] = []
    with LabRun(scenario) as run:
        assert run.checkers is not None, "runs are checked unless said otherwise"
        stored = _StoreWatch(run.world, points, keys)
        run.checkers.watch.add(stored)
        run.run_to_time(scenario.duration_ms * 1_000)
        points += _points_of_states(run.world, keys)
        for way, begin_us, end_us in _stretches(points):
            points += _points_of_labels(run, way, begin_us, end_us)
    known: dict[tuple[str, int], CrashPoint] = {}
    for point in sorted(points, key=lambda point: (point.way != TWO_PHASE, point.event)):
        # A state says more than the label of the same event.
        known.setdefault((point.node, point.event), point)
    counts: dict[tuple[str, str], int] = {}
    numbered: list[CrashPoint] = []
    for point in known.values():
        counts[point.node, point.step] = counts.get((point.node, point.step), 0) + 1
        numbered.append(point._replace(nth=counts[point.node, point.step]))
    return numbered


def _last_keys(scenario: Scenario) -> dict[str, str]:
    """Key of the last transfer -> way."""
    keys: dict[str, str] = {}
    for spec in scenario.nodes:
        if spec.transfers is not None and spec.transfers.count:
            keys[spec.transfers.key_of(spec.transfers.count - 1)] = TWO_PHASE
        if spec.bank is not None and spec.transaction is not None and spec.traffic and spec.traffic[0].count:
            traffic = spec.traffic[0]
            keys[traffic.fill_in(traffic.key, spec.name, traffic.count - 1)] = MESSAGE
    return keys


class _StoreWatch(WatchListener):
    """Notes when a broker stores something about the transfer."""

    def __init__(self, world: ScenarioWorld, points: list[CrashPoint], keys: Mapping[str, str]) -> None:
        self._world = world
        self._points = points
        self._keys = keys

    def message_stored(self, message: LoggedMessage) -> None:
        """One of the transfer's."""
        if message.topic == TRANSACTION_OP_HALF_TOPIC or message.first_key not in self._keys:
            return
        step = "stores the half message" if message.topic == TRANSACTION_HALF_TOPIC else "makes the message visible"
        world = self._world
        self._points.append(CrashPoint(MESSAGE, message.broker, step, world.event_number, world.now_us))


def _points_of_states(world: ScenarioWorld, keys: Mapping[str, str]) -> list[CrashPoint]:
    history = world.history
    steps: list[tuple[str, str, SendInvoked | GlobalChanged | BranchChanged]] = [
        *((TWO_PHASE, f"global {entry.state}", entry) for entry in history.globals_changed),
        # With a free lock waiting and executing are one step.
        *(
            (TWO_PHASE, f"branch {entry.state}", entry)
            for entry in history.branches_changed
            if entry.state != "waiting"
        ),
        *((MESSAGE, "begins to send", entry) for entry in history.sends_invoked),
    ]
    return [
        CrashPoint(way, entry.node, step, entry.event, entry.time_us) for way, step, entry in steps if entry.key in keys
    ]


def _stretches(points: list[CrashPoint]) -> Iterator[tuple[str, int, int]]:
    """From when until when each way is at its transfer."""
    for way in (TWO_PHASE, MESSAGE):
        times = [point.time_us for point in points if point.way == way]
        if times:
            yield way, min(times) - _BEFORE_US, max(times) + _AFTER_US


#: A transaction manager begins before the coordinator hears of it; a consumer ends after the broker has told.
_BEFORE_US = 100_000
_AFTER_US = 1_000_000

#: Role -> labels of its steps that are points, see :mod:`engine.runtime.step`.
_LABELS: Mapping[Role, tuple[str, ...]] = {
    Role.TRANSACTION_MANAGER: (
        "begins the global transaction",
        "enlists a resource manager",
        "asks for the votes",
        "orders the commit",
    ),
    Role.TRANSACTION_COORDINATOR: ("asks for a vote", "orders the commit of a branch"),
    Role.PRODUCER: ("debits the account", "commits the local transaction", "ends the transaction"),
    Role.CONSUMER: ("credits the account", "commits the credit", "updates the offset"),
}
_WAYS = {
    Role.TRANSACTION_MANAGER: TWO_PHASE,
    Role.TRANSACTION_COORDINATOR: TWO_PHASE,
    Role.PRODUCER: MESSAGE,
    Role.CONSUMER: MESSAGE,
}


def _points_of_labels(run: LabRun, way: str, begin_us: int, end_us: int) -> list[CrashPoint]:
    nodes = {spec.name: spec.role for spec in run.scenario.nodes if _WAYS.get(spec.role) == way}
    found: list[CrashPoint] = []
    for entry in run.world.journal.entries:
        node = entry.actor.partition("/")[0]
        if begin_us <= entry.time_us <= end_us and node in nodes and entry.label in _LABELS[nodes[node]]:
            found.append(CrashPoint(way, node, entry.label, entry.number, entry.time_us))
    return found


class LockClock:
    """Measures how long accounts are locked for one transfer, whoever locks them and whatever crashes meanwhile.

    Ask it to look after each event. A lock is one on an account in two-phase commit (that of a promise outlives the
    process), and the one writer's in a local transaction.
    """

    def __init__(self, world: ScenarioWorld, key: str) -> None:
        self._world = world
        self._key = key
        self._roles = [
            role
            for role in world.nodes.values()
            if isinstance(role, ResourceManagerRole | ProducerRole | ConsumerRole) and role.node_bank is not None
        ]
        #: Node -> since when it is locked.
        self._since_us: dict[str, int] = {}
        self._total_us: dict[str, int] = {}

    @property
    def longest_us(self) -> int:
        """The longest of all banks, up to now."""
        now_us = self._world.now_us
        open_us = {node: now_us - since_us for node, since_us in self._since_us.items()}
        nodes = dict.fromkeys((*self._total_us, *open_us))
        return max((self._total_us.get(node, 0) + open_us.get(node, 0) for node in nodes), default=0)

    def after_event(self, number: int) -> None:
        """Look."""
        now_us = self._world.now_us
        for role in self._roles:
            begun_us = self._locked_since(role)
            known_us = self._since_us.get(role.name)
            if begun_us is not None and known_us is None:
                self._since_us[role.name] = begun_us
            elif begun_us is None and known_us is not None:
                self._total_us[role.name] = self._total_us.get(role.name, 0) + now_us - self._since_us.pop(role.name)

    def _locked_since(self, role: LabNodeRole) -> int | None:
        """Since when an account of it is locked for the transfer; None: it is not."""
        if isinstance(role, ResourceManagerRole):
            manager = role.resource_manager
            if manager is None:
                # Nobody runs, so nobody is let in; but only a promise is still kept afterwards.
                return self._since_us.get(role.name) if role.is_moving(self._key) else None
            for branch in manager.open.values():
                held = manager.locks.holders.get(branch.account)
                if branch.work.transfer.key == self._key and held is not None and held[0] == branch.xid:
                    return held[1]
            return None
        assert isinstance(role, ProducerRole | ConsumerRole), "others have no bank"
        bank = role.node_bank.bank if role.node_bank is not None else None
        if bank is None or not bank.accounts.database.in_transaction:
            return None
        return next((deed.since_us for deed in bank.open.values() if deed.key == self._key), None)


# --- the crashes ---------------------------------------------------------------------------------------------------


def crash_at(scenario: Scenario, point: CrashPoint, restart_after_ms: int = RESTART_AFTER_MS) -> CrashOutcome:
    """Run the story again, with a crash there."""
    (key,) = (key for key, way in _last_keys(scenario).items() if way == point.way)
    with LabRun(scenario) as run:
        clock = LockClock(run.world, key)
        run.on_event.append(clock.after_event)
        run.run_events(point.event)
        run.apply(parse_command({"kind": "crash", "target": point.node}))
        link = run.link()
        clock.after_event(run.event_number)
        run.run_to_time(run.now_us + restart_after_ms * 1_000)
        run.apply(parse_command({"kind": "restart", "target": point.node}))
        run.run_to_time(scenario.duration_ms * 1_000)
        outcome, window_us = _end_of(run.world, key)
        return CrashOutcome(point, outcome, clock.longest_us, window_us, not run.violations, link)


def _end_of(world: ScenarioWorld, key: str) -> tuple[str, int | None]:
    flow = MoneyFlow()
    for entry in world.history.bank_entries:
        flow.take(entry)
    transfer = flow.transfers.get(key)
    if transfer is None or not (transfer.debited or transfer.credited):
        return "rolled-back", None
    if transfer.debited and transfer.credited:
        return "committed", transfer.window_us
    return "open", None

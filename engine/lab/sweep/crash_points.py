"""Crash points: one transfer, or the work for one order, is run again for every step of its protocol, with the node
that has just made the step killed directly after it and started again some time later.

The transfer is the last one of the scenario, both of a transaction manager and of a paying bank with transactional
messages; the order is the last one that is sent. What comes before, faults of the script included, goes as it always
does. A point is where something has just become different: a step of the engine's code, a state of a transaction or
branch, a message in the broker's store, a change in a database or at a service.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from engine.lab.checkers.watch.cluster_watch import WatchListener
from engine.lab.checkers.watch.violation import Violation
from engine.lab.nodes.history import BranchChanged, GlobalChanged, SendInvoked
from engine.lab.nodes.money_flow import MoneyFlow
from engine.lab.nodes.relay import ORDER_PROPERTY
from engine.lab.run.run import LabRun
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.errors import LabError
from engine.lab.scenario.kinds.consumer import ConsumerSpec
from engine.lab.scenario.kinds.node_spec import MESSAGE, TWO_PHASE, WORK
from engine.lab.scenario.kinds.producer import ProducerSpec
from engine.lab.scenario.kinds.xa import ManagerSpec
from engine.lab.scenario.scenario import Scenario
from engine.lab.scenario.traffic_spec import TrafficSpec
from engine.lab.witness.logged_message import LoggedMessage
from engine.lab.work.work_spec import StepKind
from engine.lab.world.world import ScenarioWorld
from engine.protocol.message.message_properties import PROPERTY_TRANSACTION_PREPARED
from engine.protocol.names import TRANSACTION_HALF_TOPIC, TRANSACTION_OP_HALF_TOPIC
from engine.texts import Text

#: Downtime of the killed node.
RESTART_AFTER_MS = 3_000


class NothingToCrash(LabError):
    """The scenario has neither a transfer nor work whose steps could be examined."""


class CrashPoint(NamedTuple):
    """A crash point: directly after event ``event``, ``node`` has done ``step``: ``crash_point.STEP`` of the catalogue.

    ``way``: which transfer, :data:`TWO_PHASE` or :data:`MESSAGE`; or :data:`WORK`. ``nth``: the step is made for the
    nth time, from 1. ``effect``: what a store or a service has done.
    """

    way: str
    node: str
    step: str
    event: int
    time_us: int
    nth: int = 1
    effect: str = ""

    @property
    def texts(self) -> Text:
        """Return what has just happened."""
        text = Text(f"crash_point.{self.step}", effect=self.effect) if self.effect else Text(f"crash_point.{self.step}")
        return text if self.nth == 1 else Text("crash_point.again", step=text, nth=self.nth)


@dataclass(frozen=True, slots=True)
class CrashOutcome:
    """Outcome of a crash at a point.

    :ivar outcome: ``committed``, ``rolled-back``, or ``open`` at the end of the story; of work ``done``, ``nothing`` or
        ``half``.
    :ivar locked_us: how long an account was locked for the transfer, the longer of both.
    :ivar window_us: how long one bank had done its part and the other had not; None: it never ended, or neither did.
    :ivar is_conserved: whether no invariant was violated; of work: none that is about the order.
    :ivar times: of work: how often that was done which was done most often, without what was taken back.
    :ivar link: the run, as far as the crash; see :meth:`engine.lab.run.recording.Recording.link`.
    """

    point: CrashPoint
    outcome: str
    locked_us: int
    window_us: int | None
    is_conserved: bool
    link: str
    times: int | None = None

    def to_dict(self) -> dict[str, object]:
        """Return the outcome as JSON, with the step's texts."""
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
            **({} if self.times is None else {"times": self.times}),
        }


# --- the points ------------------------------------------------------------------------------------------------------


def find_points(scenario: Scenario) -> list[CrashPoint]:
    """Return the steps of the last transfers without other faults. Raises :class:`NothingToCrash`."""
    keys = _last_keys(scenario)
    if not keys:
        raise NothingToCrash("refusal.nothing_to_crash", scenario=scenario.name)
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
        # A state is more informative than the label of the same event.
        known.setdefault((point.node, point.event), point)
    counts: dict[tuple[str, str, str], int] = {}
    numbered: list[CrashPoint] = []
    for point in known.values():
        action = point.node, point.step, point.effect
        counts[action] = counts.get(action, 0) + 1
        numbered.append(point._replace(nth=counts[action]))
    return numbered


def _last_keys(scenario: Scenario) -> dict[str, str]:
    """Return key of the last transfer -> way."""
    keys: dict[str, str] = {}
    for manager in scenario.of_kind(ManagerSpec):
        if manager.transfers is not None and manager.transfers.count:
            keys[manager.transfers.key_of(manager.transfers.count - 1)] = TWO_PHASE
    for spec in scenario.of_kind(ProducerSpec):
        if spec.bank is not None and spec.transaction is not None and spec.traffic and spec.traffic[0].count:
            traffic = spec.traffic[0]
            keys[traffic.fill_in(traffic.key, spec.name, traffic.count - 1)] = MESSAGE
    if scenario.has_work:
        orders = [
            (traffic.start_ms + (traffic.sends - 1) * traffic.every_ms, _last_order(spec.name, traffic))
            for spec in scenario.of_kind(ProducerSpec)
            for traffic in spec.traffic
            if traffic.count
        ]
        keys |= {order: WORK for _, order in sorted(orders)[-1:]}
    return keys


def _last_order(producer: str, traffic: TrafficSpec) -> str:
    number = traffic.count - 1
    order = traffic.properties_of(producer, number).get(ORDER_PROPERTY)
    return order or traffic.fill_in(traffic.key, producer, number)


class _StoreWatch(WatchListener):
    """Note when a broker stores something about the transfer, or the order."""

    def __init__(self, world: ScenarioWorld, points: list[CrashPoint], keys: Mapping[str, str]) -> None:
        self._world = world
        self._points = points
        self._keys = keys

    def message_stored(self, message: LoggedMessage) -> None:
        about = message.properties.get(ORDER_PROPERTY) or message.first_key
        way = self._keys.get(about)
        if message.topic == TRANSACTION_OP_HALF_TOPIC or way is None:
            return
        is_sent_in_transaction = PROPERTY_TRANSACTION_PREPARED in message.properties or way is not WORK
        step = "makes the message visible" if is_sent_in_transaction else "stores the message"
        if message.topic == TRANSACTION_HALF_TOPIC:
            step = "stores the half message"
        world = self._world
        self._points.append(CrashPoint(way, message.broker, step, world.event_number, world.now_us))


def _points_of_states(world: ScenarioWorld, keys: Mapping[str, str]) -> list[CrashPoint]:
    history = world.history
    steps: list[tuple[str, str, SendInvoked | GlobalChanged | BranchChanged]] = [
        *((TWO_PHASE, f"global {entry.state}", entry) for entry in history.globals_changed),
        # With a free lock, waiting and executing are one step.
        *(
            (TWO_PHASE, f"branch {entry.state}", entry)
            for entry in history.branches_changed
            if entry.state != "waiting"
        ),
        *((MESSAGE, "begins to send", entry) for entry in history.sends_invoked),
    ]
    points = [
        CrashPoint(way, entry.node, step, entry.event, entry.time_us)
        for way, step, entry in steps
        if entry.key in keys and keys[entry.key] is not WORK
    ]
    done = [entry for entry in history.work_done if entry.key in keys]
    return points + [
        CrashPoint(WORK, entry.node, "has done", entry.event, entry.time_us, effect=entry.effect) for entry in done
    ]


def _stretches(points: list[CrashPoint]) -> Iterator[tuple[str, int, int]]:
    """Yield the start and end of each way's transfer."""
    for way in (TWO_PHASE, MESSAGE, WORK):
        times = [point.time_us for point in points if point.way == way]
        if times:
            yield way, min(times) - _BEFORE_US, max(times) + _AFTER_US


#: A transaction manager begins before the coordinator receives it; a consumer ends after the broker has received its
#: result.
_BEFORE_US = 100_000
_AFTER_US = 1_000_000


def _points_of_labels(run: LabRun, way: str, begin_us: int, end_us: int) -> list[CrashPoint]:
    labels = {spec.name: spec.crash_steps.get(way, ()) for spec in run.scenario.nodes}
    found: list[CrashPoint] = []
    for entry in run.world.journal.entries:
        node = entry.actor.partition("/")[0]
        if begin_us <= entry.time_us <= end_us and entry.label in labels.get(node, ()):
            found.append(CrashPoint(way, node, entry.label, entry.number, entry.time_us))
    return found


class LockClock:
    """Measure how long accounts are locked for one transfer, by any node and across crashes.

    Ask it to look after each event. A lock is one on an account in two-phase commit (that of a promise outlives the
    process), and the one writer's in a local transaction.
    """

    def __init__(self, world: ScenarioWorld, key: str) -> None:
        self._world = world
        self._key = key
        self._roles = [role for role in world.nodes.values() if role.spec.has_bank]
        #: Node -> start of its lock.
        self._since_us: dict[str, int] = {}
        self._total_us: dict[str, int] = {}

    @property
    def longest_us(self) -> int:
        """Return the longest time of all banks, up to now."""
        now_us = self._world.now_us
        open_us = {node: now_us - since_us for node, since_us in self._since_us.items()}
        nodes = dict.fromkeys((*self._total_us, *open_us))
        return max((self._total_us.get(node, 0) + open_us.get(node, 0) for node in nodes), default=0)

    def after_event(self, number: int) -> None:
        """Update the measurement."""
        now_us = self._world.now_us
        for role in self._roles:
            known_us = self._since_us.get(role.name)
            begun_us = role.locked_since_us(self._key, known_us)
            if begun_us is not None and known_us is None:
                self._since_us[role.name] = begun_us
            elif begun_us is None and known_us is not None:
                self._total_us[role.name] = self._total_us.get(role.name, 0) + now_us - self._since_us.pop(role.name)


# --- the crashes -----------------------------------------------------------------------------------------------------


def crash_at(scenario: Scenario, point: CrashPoint, restart_after_ms: int = RESTART_AFTER_MS) -> CrashOutcome:
    """Run the scenario again with a crash at this point."""
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
        if point.way == WORK:
            outcome, times = _end_of_work(run.world, key)
            is_kept = not any(_is_about(violation, key) for violation in run.violations)
            return CrashOutcome(point, outcome, 0, None, is_kept, link, times)
        outcome, window_us = _end_of(run.world, key)
        return CrashOutcome(point, outcome, clock.longest_us, window_us, not run.violations, link)


def _is_about(violation: Violation, order: str) -> bool:
    """Return whether it is about the order. The messages of a relay are named after their order."""
    return not violation.messages or any(f"{key}-".startswith(f"{order}-") for key in violation.messages)


def _end_of_work(world: ScenarioWorld, order: str) -> tuple[str, int]:
    """Return the outcome, and the count of the step that was done most often."""
    times = {
        (one.service or spec.work.database, one.operation or one.kind.value): 0
        for spec in world.scenario.of_kind(ConsumerSpec)
        if spec.work is not None
        for one in spec.work.steps
        if one.kind not in (StepKind.ASK, StepKind.ORDER)
    }
    for entry in world.history.work_done:
        effect = entry.node, entry.undoes or entry.effect
        if entry.key == order and effect in times:  # a reservation that is tried or cancelled does not end the work
            times[effect] += -1 if entry.undoes else 1
    counts = times.values()
    outcome = "done" if all(counts) else "half" if any(counts) else "nothing"
    return outcome, max(counts, default=0)


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

"""Duplicates caught by each strategy of idempotence: one scenario, with the same random faults, under each.

    figures = run_chunk(WayTask("order-and-stock", text, "state-table"), SeedRange(1, 20))
    figures.caught.ratio, figures.caught.interval

RocketMQ has no counterpart: it leaves duplicates to applications. What is counted:

``deliveries``      calls of a listener with a message, but for those that were only put off (bounced, or failed: the
                    same delivery comes again)
``duplicates``      deliveries of an order that had been delivered before to the same group
``again``           how many of them took from the stock (or called a service) what had been done for that order
``by_faults``       deliveries of one message beyond those that the same way has without any fault: what faults have
                    made, apart from the button that the story presses twice
``again_by_faults`` how many of them did again what had been done for that order, by this message or another
``lost``            orders that were acknowledged, and a step of the work, or more, was never done
``open``            orders that were delivered and, when the story ends, neither acknowledged nor done nor dead letters
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from math import inf
from typing import NamedTuple

from engine.idempotence.idempotence_config import STRATEGIES
from engine.lab.nodes.store_nodes import DatabaseNode
from engine.lab.run.run import LabRun
from engine.lab.run.spread import silence_logging
from engine.lab.scenario.errors import LabError
from engine.lab.scenario.kinds.consumer import ConsumerSpec
from engine.lab.scenario.kinds.node_spec import SettingValue
from engine.lab.scenario.kinds.producer import ProducerSpec
from engine.lab.scenario.listener_spec import ListenerResult
from engine.lab.scenario.scenario import Scenario
from engine.lab.scenario.scenario_text import parse_scenario
from engine.lab.sweep.fault_plan import draw_faults
from engine.lab.sweep.seed_chunk import SeedRange
from engine.lab.sweep.sweep import run_with_faults
from engine.lab.sweep.wilson import wilson_interval
from engine.lab.work.work_spec import ORDER_AND_STOCK, StepKind, WorkSpec
from engine.protocol.names import DLQ_GROUP_TOPIC_PREFIX

#: With :attr:`ConsumptionVariant.fails_half_way`, every Nth message of the first traffic fails at its first delivery.
_FAILS_EVERY = 3


class NoWork(LabError):
    """The scenario has no listeners with work."""


@dataclass(frozen=True, slots=True)
class ConsumptionVariant:
    """A strategy, and other changes to the scenario.

    :ivar settings: settings of all consumers with work.
    :ivar in_database: the records are in the application's database, wherever the scenario has them.
    :ivar fails_half_way: the stock is taken first, and then the work of some messages fails, once.
    """

    strategy: str
    settings: Mapping[str, SettingValue] = field(default_factory=dict)
    in_database: bool = False
    fails_half_way: bool = False


#: Ways by the names in tables.
WAYS: Mapping[str, ConsumptionVariant] = {
    "message-table": ConsumptionVariant("message-table"),
    "message-table, work fails half-way": ConsumptionVariant("message-table", fails_half_way=True),
    "state-table": ConsumptionVariant("state-table"),
    "state-table, records in the database": ConsumptionVariant("state-table", in_database=True),
    "state-table, expiry 5 s": ConsumptionVariant("state-table", {"idempotence_expiry_ms": 5_000}),
    "state-table, work fails half-way": ConsumptionVariant("state-table", fails_half_way=True),
    **{name: ConsumptionVariant(name) for name in STRATEGIES if name not in ("message-table", "state-table")},
}


class Share(NamedTuple):
    """The share of duplicates that caused no repeated work."""

    caught: int
    duplicates: int

    @property
    def ratio(self) -> float | None:
        """Return the ratio; None if there were no duplicates."""
        return self.caught / self.duplicates if self.duplicates else None

    @property
    def interval(self) -> tuple[float, float]:
        """Return the 95 % interval, as if the duplicates of one run were independent."""
        return wilson_interval(self.caught, self.duplicates)


@dataclass(slots=True)
class DuplicateFigures:
    """Counts of deliveries and repeated work over some seeds.

    :ivar orders: pairs of an order and a group that it was delivered to; ``orders_again``: pairs for which something
        was done more than once.
    :ivar dead_letters: in all groups, at the end.
    """

    runs: int = 0
    deliveries: int = 0
    duplicates: int = 0
    again: int = 0
    by_faults: int = 0
    again_by_faults: int = 0
    orders: int = 0
    orders_again: int = 0
    lost: int = 0
    dead_letters: int = 0
    open: int = 0

    def add(self, other: DuplicateFigures) -> None:
        """Add the figures of another."""
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))

    @property
    def caught(self) -> Share:
        """Return the share of all duplicates."""
        return Share(self.duplicates - self.again, self.duplicates)

    @property
    def caught_by_faults(self) -> Share:
        """Return the share of the duplicates caused by faults."""
        return Share(self.by_faults - self.again_by_faults, self.by_faults)


@dataclass(frozen=True, slots=True)
class WayTask:
    """Task for some seeds. ``scenario`` is the name, ``text`` its YAML, ``way`` one of :data:`WAYS`."""

    scenario: str
    text: str
    way: str


def run_portion(portion: tuple[WayTask, SeedRange]) -> DuplicateFigures:
    """Run as :func:`run_chunk` does, with one argument for a spread."""
    return run_chunk(*portion)


def run_chunk(task: WayTask, seeds: SeedRange) -> DuplicateFigures:
    """Run each seed with its own random faults, the same ones under every way. Raises :class:`NoWork`."""
    silence_logging()
    original = parse_scenario(task.text, task.scenario)
    scenario = with_way(original, WAYS[task.way])
    figures, usual = DuplicateFigures(), _seen_without_faults(scenario)
    for seed in range(seeds.first, seeds.end):
        run_with_faults(scenario, seed, draw_faults(original, seed), lambda run: figures.add(_figures_of(run, usual)))
    return figures


def with_way(scenario: Scenario, way: ConsumptionVariant) -> Scenario:
    """Return ``scenario`` with another strategy from the beginning. Raises :class:`NoWork`."""
    if not scenario.has_work:
        raise NoWork("refusal.no_work", scenario=scenario.name)
    failing = _failing(scenario) if way.fails_half_way else ()
    return scenario.with_each(ConsumerSpec, lambda spec: _changed(spec, way, failing))


def _changed(spec: ConsumerSpec, way: ConsumptionVariant, failing: tuple[str, ...]) -> ConsumerSpec:
    work, listener = spec.work, spec.listener
    if work is None:
        return spec
    if way.in_database:
        work = dataclasses.replace(work, records=work.database)
    if way.fails_half_way:
        work = dataclasses.replace(work, steps=tuple(reversed(ORDER_AND_STOCK)))
        listener = dataclasses.replace(listener, result=ListenerResult.LATER, fails_first=1, only_keys=failing)
    settings = {**spec.settings, "idempotence_strategy": way.strategy, **way.settings}
    return dataclasses.replace(spec, work=work, listener=listener, settings=settings)


def _failing(scenario: Scenario) -> tuple[str, ...]:
    """Return the keys of messages that fail."""
    spec = scenario.of_kind(ProducerSpec)[0]
    traffic = spec.traffic[0]
    return tuple(traffic.fill_in(traffic.key, spec.name, number) for number in range(0, traffic.count, _FAILS_EVERY))


# --- counting --------------------------------------------------------------------------------------------------------


#: A group, and the order of its messages.
_Order = tuple[str, str]


class _Seen(NamedTuple):
    """Observations of one run.

    :ivar deliveries: deliveries of each message, except for those that were put off.
    :ivar done: how often the step was done that was done most often; orders of which nothing was done are not there.
    :ivar redone: how often a message did a step that was done, when it was delivered again or had done it itself.
    """

    deliveries: Mapping[_Order, Counter[str]]
    done: Mapping[_Order, int]
    redone: Mapping[_Order, int]


def _seen_without_faults(scenario: Scenario) -> _Seen:
    with LabRun(scenario, scenario.seed) as run:
        run.run_to_time(scenario.duration_ms * 1_000)
        return _seen_in(run)


def _seen_in(run: LabRun) -> _Seen:
    history = run.world.history
    orders = {entry.key: entry.order for entry in history.deliveries_judged}
    deliveries: dict[_Order, Counter[str]] = {}
    for began in history.consumes_began:
        deliveries.setdefault((began.group, orders.get(began.key, began.key)), Counter())[began.key] += 1
    for judged in history.deliveries_judged:
        if not judged.is_acknowledged:
            deliveries.setdefault((judged.group, judged.order), Counter())[judged.key] -= 1
    done: dict[_Order, int] = {}
    redone: dict[_Order, int] = {}
    for (order, _, _), by in _work_of(run, orders).items():
        if by:
            done[order] = max(done.get(order, 0), len(by))
            keys = [delivery.key for delivery in by]
            again = sum(one.is_again or one.key in keys[:number] for number, one in enumerate(by) if number)
            redone[order] = max(redone.get(order, 0), again)
    return _Seen(deliveries, done, redone)


@dataclass(slots=True)
class _Delivery:
    """A delivery. ``is_again``: the group had this message before, and had not put it off."""

    key: str
    began_us: int
    is_again: bool
    ended_us: float


def _deliveries(run: LabRun, orders: Mapping[str, str]) -> dict[tuple[str, str], list[_Delivery]]:
    """Return the deliveries by node and order, in the order of time."""
    deliveries: dict[tuple[str, str], list[_Delivery]] = {}
    had: Counter[tuple[str, str]] = Counter()
    put_off_us: dict[tuple[str, str], list[int]] = {}
    for judged in run.world.history.deliveries_judged:
        if not judged.is_acknowledged:
            put_off_us.setdefault((judged.group, judged.key), []).append(judged.time_us)
    for delivery in run.world.witness.deliveries.all():
        began, ended = delivery.began, delivery.ended
        message = began.group, began.key
        put_off = sum(time_us <= began.time_us for time_us in put_off_us.get(message, ()))
        one = _Delivery(began.key, began.time_us, had[message] > put_off, inf if ended is None else ended.time_us)
        had[message] += 1
        deliveries.setdefault((began.node, orders.get(began.key, began.key)), []).append(one)
    return deliveries


def _work_of(run: LabRun, orders: Mapping[str, str]) -> dict[tuple[_Order, str, str], list[_Delivery]]:
    """Return, by order, node and effect, the deliveries that did it, in the order of time, less what was taken back."""
    deliveries = _deliveries(run, orders)
    work_of: dict[tuple[_Order, str, str], list[_Delivery]] = {}
    for work in run.world.history.work_done:
        order = run.world.spec_of(ConsumerSpec, work.by).group, work.key
        by = work_of.setdefault((order, work.node, work.undoes or work.effect), [])
        begun = [one for one in deliveries.get((work.by, work.key), ()) if one.began_us <= work.time_us]
        if work.undoes:
            del by[-1:]
        elif begun:
            # A delivery in progress that has not done it; otherwise late work belongs to the last one.
            at_work = [one for one in begun if one.ended_us >= work.time_us and one not in by]
            by.append((at_work or begun[-1:])[0])
    return work_of


def _figures_of(run: LabRun, usual: _Seen) -> DuplicateFigures:
    """Return the figures. ``usual``: observations without faults."""
    seen = _seen_in(run)
    figures = DuplicateFigures(runs=1, orders=len(seen.deliveries), dead_letters=_dead_letters(run))
    for order, by_key in seen.deliveries.items():
        usually = usual.deliveries.get(order, Counter())
        again = max(0, seen.done.get(order, 0) - 1)
        again_by_faults = max(0, seen.redone.get(order, 0) - usual.redone.get(order, 0))
        figures.deliveries += by_key.total()
        # Work that failed after it was done was put off, and yet done twice when it came again: there was a duplicate.
        figures.duplicates += max(by_key.total() - 1, again)
        figures.again += again
        beyond = sum(max(0, count - max(1, usually[key])) for key, count in by_key.items())
        figures.by_faults += max(beyond, again_by_faults)
        figures.again_by_faults += again_by_faults
        figures.orders_again += again > 0
    acknowledged = {(one.group, one.order): None for one in run.world.history.deliveries_judged if one.is_acknowledged}
    figures.lost = len(_not_done(run, acknowledged))
    waiting = sum(order not in acknowledged and order not in seen.done for order in seen.deliveries)
    figures.open = max(0, waiting - figures.dead_letters)
    return figures


def _not_done(run: LabRun, acknowledged: Iterable[_Order]) -> list[_Order]:
    """Return the orders with a missing step."""
    orders = {entry.key: entry.order for entry in run.world.history.deliveries_judged}
    times = Counter({what: len(by) for what, by in _work_of(run, orders).items()})
    for role in run.world.roles(DatabaseNode):
        paid = role.paid_orders()
        for order in acknowledged:
            times[order, role.name, StepKind.ORDER] += order[1] in paid
    steps = {spec.group: _effects(spec.work) for spec in run.scenario.of_kind(ConsumerSpec) if spec.work is not None}
    return [one for one in acknowledged if any(times[one, *effect] < 1 for effect in steps.get(one[0], ()))]


def _effects(work: WorkSpec) -> list[tuple[str, str]]:
    """Return (node, effect) of all steps that change something."""
    return [
        (step.service, step.operation) if step.kind is StepKind.CALL else (work.database, step.kind)
        for step in work.steps
        if step.kind not in (StepKind.ASK, StepKind.RESERVE)
    ]


def _dead_letters(run: LabRun) -> int:
    return sum(
        queue.max_offset
        for role in run.world.brokers()
        if role.broker is not None
        for topic, _, queue in role.broker.store.consume_queues()
        if topic.startswith(DLQ_GROUP_TOPIC_PREFIX)
    )

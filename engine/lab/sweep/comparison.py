"""One scenario, run once per value of a setting: its cost and its benefit.

    for value in parse_values(scenario, "C1", "pullBatchSize", "1,8,32"):
        run = run_with(scenario, Change("C1", "pullBatchSize", value))
        run.figures.per_second

Besides the engine's settings, fields of the scenario itself can be varied: the ``compared_fields`` of the node's kind,
such as ``threads`` of a consumer. The figures are counted while the engine runs, see
:mod:`engine.lab.sweep.client_figures`.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from engine.fields.field import Field
from engine.lab.run.run import LabRun
from engine.lab.scenario.errors import CommandRefused, SettingRefused
from engine.lab.scenario.kinds.node_spec import NodeSpec, SettingValue
from engine.lab.scenario.scenario import Command, Scenario
from engine.lab.scenario.settings import check_settings, find_setting, read_setting
from engine.lab.sweep.client_figures import METERS, ConsumerFigures, ProducerFigures

#: Most runs of one comparison.
VALUES_MAX = 20


@dataclass(frozen=True, slots=True)
class Change:
    """A node's setting, by our name or RocketMQ's, and its value."""

    node: str
    name: str
    value: SettingValue


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """The result of a run with one value of the setting.

    :ivar figures: figures of the watched node.
    :ivar link: the run as the node starts, see :meth:`engine.lab.run.run.LabRun.link`; empty for fields of the scenario
        itself, which no command can change.
    :ivar violations: how many the checkers found.
    :ivar events: how many events ran.
    """

    change: Change
    figures: ConsumerFigures | ProducerFigures
    violations: int
    events: int
    link: str

    def to_dict(self) -> dict[str, object]:
        """Return the compared run as JSON."""
        return {
            "node": self.change.node,
            "setting": self.change.name,
            "value": self.change.value,
            **self.figures._asdict(),
            "violations": self.violations,
            "events": self.events,
            "link": self.link,
        }


def parse_values(scenario: Scenario, node: str, name: str, text: str) -> list[SettingValue]:
    """Return the values in ``text``, separated by commas. Raises :class:`CommandRefused`, :class:`SettingRefused`."""
    spec = find_node(scenario, node)
    words = [word.strip() for word in text.split(",") if word.strip()]
    if not 1 <= len(words) <= VALUES_MAX:
        raise SettingRefused("refusal.values_to_compare", limit=VALUES_MAX, count=len(words))
    return [_parse_value(spec, name, word) for word in words]


def _parse_value(spec: NodeSpec, name: str, word: str) -> SettingValue:
    value = _checked(spec, name, word, of_text=True)
    _changed(spec, name, value)
    return value


def _checked(spec: NodeSpec, name: str, value: object, *, of_text: bool = False) -> SettingValue:
    own = spec.compared_fields
    if name in own:
        return read_setting(Field(name, "integer", *own[name]), value, of_text=of_text)
    return find_setting(spec.role, name).check(value, name, of_text=of_text)


def find_node(scenario: Scenario, name: str) -> NodeSpec:
    """Return the node with this name. Raises :class:`CommandRefused`."""
    try:
        return scenario.node(name)
    except KeyError:
        raise CommandRefused(
            "refusal.no_node", name=name, known=", ".join(one.name for one in scenario.nodes)
        ) from None


def with_change(scenario: Scenario, change: Change) -> Scenario:
    """Return ``scenario`` in which the node has another setting from the beginning. Raises as :func:`parse_values`."""
    find_node(scenario, change.node)
    nodes = [_changed(spec, change.name, change.value) if spec.name == change.node else spec for spec in scenario.nodes]
    return dataclasses.replace(scenario, nodes=tuple(nodes))


def _changed(spec: NodeSpec, name: str, value: SettingValue) -> NodeSpec:
    value = _checked(spec, name, value)
    if name not in spec.compared_fields:
        settings = {**spec.settings, find_setting(spec.role, name).name: value}
        check_settings(spec.role, settings)
        return dataclasses.replace(spec, settings=settings)
    assert isinstance(value, int)
    return spec.with_field(name, value)


def node_to_watch(scenario: Scenario, node: str) -> NodeSpec:
    """Return the node whose figures best show a setting of ``node``: itself if it is a client, else a consumer.

    Raises :class:`CommandRefused` if no node has figures.
    """
    spec = find_node(scenario, node)
    if spec.activity:
        return spec
    clients = [one for activity in METERS for one in scenario.nodes if one.activity == activity]
    if not clients:
        raise CommandRefused("refusal.nobody_to_watch", name=node)
    return clients[0]


def run_with(scenario: Scenario, change: Change, watch: str | None = None, seed: int | None = None) -> ComparedRun:
    """Run the story to its end. ``watch``: as :func:`node_to_watch` returns it. Raises as :func:`parse_values`."""
    spec = node_to_watch(scenario, change.node if watch is None else watch)
    own = find_node(scenario, change.node)
    is_setting = change.name not in own.compared_fields
    with LabRun(scenario if is_setting else with_change(scenario, change), seed) as run:
        meter = METERS[spec.activity](run.world, spec.name)
        link = ""
        if is_setting:
            # Before the first event, so it applies from the node's first start.
            run.apply(Command("setting", change.node, {"name": change.name, "value": change.value}))
            run.run_to_time(own.life_ms[0] * 1_000)
            link = run.link()
        run.run_to_time(run.world.end_us)
        return ComparedRun(change, meter.figures(), len(run.violations), run.event_number, link)

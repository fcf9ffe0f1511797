"""A new kind of node needs its specification, its node, its view, and an entry of each in the three tables.

Random faults, comparisons, captions and searches then know it, without an edit there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import pytest

from app.foundation.json_types import JsonObject
from app.lab.routes.setting_table import setting_table
from app.lab.views.node_views import NODE_VIEWS, plain_view
from app.lab.views.world_view import view_of
from engine.client.producer.default_mq_producer import DefaultMQProducer
from engine.fields.field import Field
from engine.lab.explorer.plan import crashable_nodes
from engine.lab.narration.narrator import Narrator
from engine.lab.nodes.history import SendInvoked, SendReturned
from engine.lab.nodes.scenario_node import ScenarioNode
from engine.lab.run.run import LabRun
from engine.lab.scenario.errors import ScenarioError
from engine.lab.scenario.kinds.node_kind import NodeKind
from engine.lab.scenario.kinds.node_kinds import NODE_KINDS
from engine.lab.scenario.kinds.node_spec import NodeSpec
from engine.lab.scenario.scenario import FaultKind, FaultModel, Scenario
from engine.lab.scenario.scenario_names import TopicName
from engine.lab.scenario.scenario_yaml import Section
from engine.lab.sweep.comparison import Change, parse_values, run_with
from engine.lab.sweep.fault_plan import draw_faults, lay_out
from engine.lab.sweep.message_links import message_links
from engine.lab.sweep.sweep import run_with_faults
from engine.lab.world.node_classes import NODE_CLASSES
from engine.protocol.message.message import Message
from tests.support.lab.lab_scenarios import apply, run_to_ms, small, successes


@dataclass(frozen=True, kw_only=True)
class AlarmSpec(NodeSpec):
    """A fire alarm that sends its messages when it is switched on."""

    role: ClassVar[str] = "alarm"
    activity = "sending"
    compared_fields: ClassVar = {"rings": (1, 9)}
    message_requests = ("SEND_MESSAGE_V2",)

    topic: TopicName
    alarm_text: Annotated[str, Field("", "text", 0, 20)] = "fire"
    rings: Annotated[int, Field("", "integer", 1, 9)] = 1

    @property
    def topics(self) -> tuple[str, ...]:
        return (self.topic,)


@dataclass(frozen=True, slots=True)
class AlarmConfig:
    """The settings of an alarm."""

    volume_ratio: float = 0.5


def check_alarms(nodes: Section, scenario: Scenario) -> None:
    for spec in scenario.of_kind(AlarmSpec):
        if spec.topic not in [topic.name for topic in scenario.topics]:
            raise nodes.fail(spec.name, f"topic {spec.topic!r} is not among topics")


class AlarmNode(ScenarioNode):
    """The node of an alarm."""

    spec: AlarmSpec
    sent = 0

    async def _start(self) -> None:
        producer = DefaultMQProducer(self.runtime, "alarms", self.world.name_server_address)
        await producer.start()
        for _ in range(self.spec.rings):
            await self._send(producer, f"{self.name}-{self.sent}")
        await producer.shutdown()

    async def _send(self, producer: DefaultMQProducer, key: str) -> None:
        history, topic = self.world.history, self.spec.topic
        # The checkers know by it what was sent.
        history.sends_invoked.append(SendInvoked(*self.here_and_now, key, topic))
        result = await producer.send(Message(topic, self.spec.alarm_text.encode(), keys=[key]))
        queue = result.message_queue
        place = (queue.queue_id, result.queue_offset, result.offset_message_id, queue.broker_name)
        returned = (*self.here_and_now, key, "ok", topic, *place, result.status.name)
        history.sends_returned.append(SendReturned(*returned))
        self.sent += 1

    async def _stop(self) -> None:
        """Do nothing: its producer has stopped."""

    def _forget(self) -> None:
        """Do nothing: it keeps no process."""


def alarm_view(role: AlarmNode) -> JsonObject:
    volume = role.config(AlarmConfig).volume_ratio
    return {"text": role.spec.alarm_text, "sent": role.sent, "volume": volume}


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    kind = NodeKind(AlarmSpec, (AlarmConfig,), (check_alarms,))
    monkeypatch.setitem(NODE_KINDS, "alarm", kind)
    monkeypatch.setitem(NODE_CLASSES, "alarm", AlarmNode)
    monkeypatch.setitem(NODE_VIEWS, *plain_view(AlarmNode, alarm_view))


def with_alarm(fields: str = "topic: T, alarm_text: smoke, settings: {volume_ratio: 1}") -> Scenario:
    return small(("nodes:\n", f"nodes:\n  A1: {{role: alarm, {fields}}}\n"))


def test_a_new_kind_of_node_sends_a_message_and_is_in_the_picture():
    with LabRun(with_alarm()) as run:
        run_to_ms(run, 5_000)
        assert "A1-0" in successes(run)
        node = view_of(run)["nodes"]["A1"]
        assert (node["role"], node["status"], node["text"], node["sent"], node["volume"]) == (
            *("alarm", "running", "smoke", 1, 1.0),
        )
        apply(run, "crash", "A1")
        apply(run, "restart", "A1")
        run_to_ms(run, 10_000)
        assert "A1-1" in successes(run)
        assert view_of(run)["nodes"]["A1"]["sent"] == 2
        assert not run.violations
        assert not run.world.failures


@pytest.mark.parametrize(
    ("fields", "field", "problem"),
    [
        (
            "topic: T, threads: 2",
            "nodes.A1.threads",
            "only with role consumer; allowed: role, topic, alarm_text, rings, settings",
        ),
        ("topic: U", "nodes.A1", "topic 'U' is not among topics"),
        ("topic: T, settings: {volume: 1}", "nodes.A1.settings.volume", "volume_ratio"),
        ("topic: T, settings: {volume_ratio: 2}", "nodes.A1.settings.volume_ratio", "allowed: a number from 0 to 1"),
    ],
)
def test_a_mistake_in_a_new_kind_of_node_is_refused_as_in_any_other(fields, field, problem):
    with pytest.raises(ScenarioError) as caught:
        with_alarm(fields)
    assert caught.value.field == field
    assert problem in str(caught.value)


def test_a_field_of_a_new_kind_is_refused_elsewhere_by_naming_that_kind():
    with pytest.raises(ScenarioError, match="only with role alarm"):
        small(("role: broker\n", "role: broker\n    alarm_text: x\n"))


def test_the_settings_of_a_new_kind_are_in_the_table_of_settings():
    assert setting_table()["settings"]["alarm"]["volume_ratio"]["default"] == 0.5


def test_a_new_kind_is_hit_by_random_faults_and_repaired():
    scenario = replace(with_alarm(), fault_model=FaultModel((FaultKind.CRASH,), max_faults=1))
    plans = [draw_faults(scenario, seed) for seed in range(30)]
    faults = next(plan for plan in plans if plan[0].begin.command["target"] == "A1")
    assert {"kind": "restart", "target": "A1"} in [planned.command for planned in lay_out(scenario, faults)[2:]]
    result = run_with_faults(scenario, 0, faults)
    assert (result.fault_kinds, result.violations) == ((FaultKind.CRASH,), ())


def test_the_messages_of_a_new_kind_travel_on_links_that_random_faults_break():
    assert ("A1", "B1", ("SEND_MESSAGE_V2",)) in message_links(with_alarm())


def test_a_search_may_crash_a_new_kind():
    assert "A1" in crashable_nodes(with_alarm())


def test_a_field_of_a_new_kind_is_compared():
    scenario = with_alarm()
    values = parse_values(scenario, "A1", "rings", "1, 3")
    figures = [run_with(scenario, Change("A1", "rings", value)).figures for value in values]
    assert [one.messages for one in figures] == [1, 3]


def test_a_new_kind_that_consumes_has_the_figures_of_a_consumer(monkeypatch):
    monkeypatch.setattr(AlarmSpec, "activity", "consuming")
    assert run_with(with_alarm(), Change("A1", "rings", 1)).figures.calls == 0


def test_captions_say_what_a_new_kind_does():
    with LabRun(with_alarm()) as run:
        narrator, sentences = Narrator(run), {}
        while run.now_us < 3_000_000 and run.step():
            if narrator.caption is not None:
                sentences[str(narrator.caption.text)] = None
        assert "A1 receives the acknowledgement: A1-0 is stored." in sentences

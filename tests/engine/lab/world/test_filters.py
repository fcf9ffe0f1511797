"""The lab's filters: what scenarios say of them, and the two scenarios that show them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest

from app.lab.views.client_view import consumer_view
from engine.lab.run.run import LabRun
from engine.lab.scenario.errors import ScenarioError
from engine.lab.scenario.kinds.consumer import ConsumerSpec
from engine.lab.scenario.kinds.producer import ProducerSpec
from engine.lab.scenario.scenario_files import load_scenario
from engine.protocol.enums import ExpressionType
from tests.support.lab.lab_scenarios import small

SQL_CONSUMER = ("    topic: T\n    start_ms: 100\n", '    topic: T\n    sql: "age > 6"\n    start_ms: 100\n')


def finished(name: str) -> LabRun:
    scenario = load_scenario(name)
    run = LabRun(scenario)
    run.run_to_time(scenario.duration_ms * 1_000)
    assert run.violations == []
    return run


def consumed(run: LabRun, node: str) -> list[str]:
    return [entry.key for entry in run.world.history.consumes_began if entry.node == node]


def filter_of(run: LabRun, node: str) -> Mapping[str, object]:
    (role,) = [role for role in run.world.consumers() if role.name == node]
    view = consumer_view(role)["filter"]
    assert isinstance(view, dict)
    return view


def test_a_tag_with_the_same_hash_code_reaches_the_client_and_no_further():
    run = finished("tag-collision")
    assert consumed(run, "C1") == ["0", "3", "6", "9"]
    assert filter_of(run, "C1") == {
        "expression": "Aa",
        "type": "TAG",
        "let_through": 8,  # four of Aa and four of BB
        "kept_back": 4,  # of Cc
        "dropped": 4,
    }
    broker = run.world.brokers()[0].broker
    assert broker is not None
    assert broker.consumer_offset_manager.query_offset("wants-aa", "Tagged", 0) == 12
    run.close()


def test_unknown_is_in_neither_half_and_retries_are_not_filtered():
    run = finished("sql-filter")
    young = [f"age-{age}" for age in range(7)]
    assert Counter(consumed(run, "C1")) == dict.fromkeys(young, 2)
    assert sorted(consumed(run, "C2")) == ["age-7", "age-8", "age-9"]
    assert sorted(consumed(run, "C3")) == ["nobody-0", "nobody-1", "nobody-2"]
    retried = [entry.topic for entry in run.world.history.consumes_began if entry.reconsume_times]
    assert retried == ["%RETRY%young"] * 7
    for node, through in (("C1", 7), ("C2", 3), ("C3", 3)):
        counts = filter_of(run, node)
        assert (counts["let_through"], counts["kept_back"], counts["dropped"]) == (through, 13 - through, 0)
    broker = run.world.brokers()[0].broker
    assert broker is not None
    assert ("young", "%RETRY%young") not in broker.filter_statistics.counts
    run.close()


def test_without_the_setting_a_consumer_by_sql_does_not_start():
    run = LabRun(small(SQL_CONSUMER))
    run.run_to_time(5_000_000)
    (consumer,) = run.world.consumers()
    assert "enablePropertyFilter=false" in (consumer.failure or "")
    assert consumed(run, "C1") == []
    run.close()


def test_a_scenario_names_properties_and_an_expression():
    scenario = small(
        SQL_CONSUMER, ('tag: "a|b"', 'properties: {age: "{n}", who: "{node}"}'), ("role: broker\n", "role: broker\n")
    )
    consumer = scenario.spec_of(ConsumerSpec, "C1")
    assert scenario.spec_of(ProducerSpec, "P1").traffic[0].properties_of("P1", 7) == {"age": "7", "who": "P1"}
    assert (consumer.expression, consumer.expression_type) == ("age > 6", ExpressionType.SQL92)


@pytest.mark.parametrize(
    ("replacement", "field", "problem"),
    [
        ((SQL_CONSUMER[0], SQL_CONSUMER[1].replace("age > 6", "age >")), "nodes.C1.sql", "column 6"),
        ((SQL_CONSUMER[0], SQL_CONSUMER[1] + "    expression: a\n"), "nodes.C1.sql", "with expression"),
        (('tag: "a|b"', "properties: {TAGS: x}"), "properties.TAGS", "belongs to RocketMQ"),
        (('tag: "a|b"', 'properties: {age: ""}'), "properties.age", "1 to 200"),
        (('tag: "a|b"', f"properties: {{{'x' * 61}: x}}"), "properties", "60 printable"),
        (
            ('tag: "a|b"', "properties: {" + ", ".join(f"p{n}: x" for n in range(21)) + "}"),
            "properties.p20",
            "allowed: 20",
        ),
    ],
)
def test_what_a_scenario_may_not_say_is_refused_by_name(replacement, field, problem):
    with pytest.raises(ScenarioError) as caught:
        small(replacement)
    assert field in str(caught.value)
    assert problem in str(caught.value)


def test_a_checker_does_not_miss_what_a_group_filters_out_and_does_miss_what_it_wants(monkeypatch):
    with_filter = ("role: broker\n    settings: {", "role: broker\n    settings: {enablePropertyFilter: true, ")
    traffic = ('tag: "a|b"', 'properties: {age: "{n}"}')
    calm = LabRun(small(SQL_CONSUMER, with_filter, traffic))
    calm.run_to_time(30_000_000)
    assert calm.violations == []
    assert len(consumed(calm, "C1")) == 13
    calm.close()
    # A broker that keeps back too much.
    monkeypatch.setattr(
        "engine.broker.filters.expression_message_filter.ExpressionMessageFilter.matches_commit_log", lambda *_: False
    )
    broken = LabRun(small(SQL_CONSUMER, with_filter, traffic))
    broken.run_to_time(30_000_000)
    assert {violation.checker for violation in broken.violations} == {
        "consumed-in-the-end",
        "offsets-never-pass-unconsumed",
    }
    broken.close()

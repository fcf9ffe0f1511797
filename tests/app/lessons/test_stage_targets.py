"""What a lesson points at exists in its scenario. That the page finds it: tests/e2e/lessons/test_lessons.py."""

import pytest

from app.lessons.stage_targets import StageTarget, WrongTarget, parse_target
from engine.lab.scenario.scenario_files import load_scenario


@pytest.fixture(scope="module")
def scenario():
    return load_scenario("01-first-message")


@pytest.mark.parametrize(
    "text",
    [
        "node B1",
        "node C2",
        "routes N1",
        "sends P1",
        "commit-log B1",
        "copies B1",
        "record B1 hello-0",
        "queue B1 Greetings 1",
        "entry B1 Greetings 1 17",
        "committed B1 Greetings 0 listeners",
        "held-pulls B1",
        "page-cache B1",
        "disk-arm B1",
        "process-queue C1 Greetings@1",
        "waiting-tree C1 Greetings@0",
        "consuming-tree C1 Greetings@1",
        "lock B1 listeners Greetings@0",
        "listener C1",
        "half-messages B1",
        "local-transactions P1",
        "bank P1",
        "fault-menu B1",
        "panel timers",
        "panel explorer",
        "panel money",
        "control run-until",
    ],
)
def test_a_thing_of_the_stage_can_be_named(scenario, text):
    assert str(parse_target(text, scenario)) == text


def test_a_target_is_a_kind_and_its_words(scenario):
    assert parse_target("queue B1 Greetings 1", scenario) == StageTarget("queue", ("B1", "Greetings", "1"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["not an element of the stage", "node, routes"]),
        ("nodes B1", ["not an element of the stage", "node, routes"]),
        ("node", ["allowed: node NODE"]),
        ("node B1 B2", ["allowed: node NODE"]),
        ("node B2", ["'B2'", "N1, B1, P1, C1"]),
        ("commit-log C1", ["'C1'", "allowed: B1"]),
        ("queue B1 Orders 0", ["'Orders'", "Greetings"]),
        ("queue B1 Greetings x", ["'x'", "number"]),
        ("process-queue C1 Greetings@2", ["Greetings@0, Greetings@1"]),
        ("committed B1 Greetings 0 strangers", ["listeners"]),
        ("panel clocks", ["source, invariants"]),
        ("control jump", ["restart, back"]),
    ],
)
def test_what_is_not_on_the_stage_is_refused_with_what_is(scenario, text, words):
    with pytest.raises(WrongTarget) as refused:
        parse_target(text, scenario)
    for word in words:
        assert word in str(refused.value)


def test_the_queues_of_half_messages_are_there_where_something_is_sent_in_transactions(scenario):
    with pytest.raises(WrongTarget):
        parse_target("queue B1 RMQ_SYS_TRANS_HALF_TOPIC 0", scenario)
    lesson = load_scenario("07-half-messages")
    assert parse_target("queue B1 RMQ_SYS_TRANS_HALF_TOPIC 0", lesson).words[1] == "RMQ_SYS_TRANS_HALF_TOPIC"


@pytest.mark.parametrize("text", ["partition K1 All 0", "isr K2 All 0", "isr Q1 All 0", "high-watermark K3 One 0"])
def test_what_a_broker_of_kafka_knows_of_a_partition_can_be_pointed_at(scenario, text):
    kafka = load_scenario("27-in-sync-replicas")
    assert str(parse_target(text, kafka)) == text
    for wrong in (text.replace(text.split()[1], "All"), text.replace(text.split()[2], "Orders")):
        with pytest.raises(WrongTarget):
            parse_target(wrong, kafka)
    with pytest.raises(WrongTarget):
        parse_target(text, scenario)


def test_the_log_of_a_raft_peer_can_be_pointed_at(scenario):
    with pytest.raises(WrongTarget):
        parse_target("raft-log B1", scenario)
    assert parse_target("raft-log R4", load_scenario("26-majority-and-election")) == StageTarget("raft-log", ("R4",))

"""The page's view of transactions: half messages, the time until each check-back, local transactions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.lab.views.world_view import WorldView, view_of
from engine.lab.run.run import LabRun
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.scenario_files import load_scenario


@pytest.fixture
def run() -> Iterator[LabRun]:
    with LabRun(load_scenario("unknown-and-check-back")) as made:
        yield made


def transactions(run: LabRun, time_ms: int, node: str = "B1"):
    run.run_to_time(time_ms * 1_000)
    return view_of(run)["nodes"][node]["transactions"]


def test_a_broker_without_half_messages_has_no_such_part(run):
    assert transactions(run, 900) is None
    assert view_of(run)["nodes"]["C1"].get("transactions") is None


def test_a_half_message_shows_where_it_is_to_go_and_when_it_may_be_asked_about(run):
    part = transactions(run, 2_600)
    decided, waits = part["messages"]
    assert (decided["key"], decided["decided_by"], decided["outcome"]) == ("transfer-0", 0, "committed")
    assert (waits["key"], waits["decided_by"]) == ("transfer-1", None)
    assert (waits["topic"], waits["group"], waits["check_times"]) == ("Transfers", "bank-producers", 0)
    assert waits["ask_from_us"] == waits["born_us"] + 6_000_000
    assert waits["born_us"] == 2_500_000
    assert (part["half_offset"], part["half_end"], part["op_offset"], part["op_end"]) == (0, 2, 0, 1)
    assert part["next_round_us"] == 10_000_000


def test_a_message_that_was_asked_about_lies_at_the_end_with_its_counter(run):
    part = transactions(run, 12_000)
    assert [(m["queue_offset"], m["key"], m["check_times"]) for m in part["messages"]] == [
        (4, "transfer-4", 0),
        (5, "transfer-5", 0),
        (6, "transfer-1", 1),
        (7, "transfer-2", 1),
    ]
    assert (part["checks_sent"], part["check_max"], part["next_round_us"]) == (2, 5, 20_000_000)


def test_op_messages_carry_the_key_of_what_they_decide(run):
    run.run_to_time(12_000_000)
    topics = view_of(run)["nodes"]["B1"]["topics"]
    assert {name: topic["kind"] for name, topic in topics.items() if "TRANS" in name} == {
        "RMQ_SYS_TRANS_HALF_TOPIC": "system",
        "RMQ_SYS_TRANS_OP_HALF_TOPIC": "system",
    }
    entries = topics["RMQ_SYS_TRANS_OP_HALF_TOPIC"]["queues"]["0"]["entries"]
    assert [entry["key"] for entry in entries] == ["transfer-0", "transfer-3"]


def test_the_waits_are_those_of_the_brokers_own_clock(run):
    before = transactions(run, 2_600)
    run.apply(parse_command({"kind": "clock-skew", "target": "B1", "ms": 4_000}))
    after = transactions(run, 2_600)
    assert after["messages"][1]["ask_from_us"] == before["messages"][1]["ask_from_us"] - 4_000_000


def test_nothing_of_it_changes_while_nothing_happens(run):
    run.run_to_time(2_400_000)
    world_view = WorldView(run)
    first = world_view.build()["nodes"]["B1"]["transactions"]
    run.run_to_time(2_450_000)
    assert world_view.build()["nodes"]["B1"]["transactions"] == first


def test_those_that_are_given_up_are_counted():
    with LabRun(load_scenario("check-max-discard")) as run:
        run.run_to_time(run.world.end_us)
        part = view_of(run)["nodes"]["B1"]["transactions"]
        assert (part["discarded"], part["messages"]) == (3, [])


def test_a_producer_shows_what_its_listener_does_and_said(run):
    part = transactions(run, 2_600, "P1")
    assert part["running"] == [{"key": "transfer-1", "check": 0, "since_us": part["running"][0]["since_us"]}]
    assert [(call["key"], call["check"], call["result"]) for call in part["ended"]] == [("transfer-0", 0, "commit")]
    part = transactions(run, 12_000, "P1")
    assert (part["running"], part["ended"][-1]["check"], part["ended"][-1]["result"]) == ([], 1, "unknown")

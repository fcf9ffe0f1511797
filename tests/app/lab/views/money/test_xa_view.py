"""The picture of a two-phase commit: who plays which part, what each node holds, and all of it over time."""

from __future__ import annotations

import pytest

from app.lab.views.world_view import WorldView
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario
from tests.support.lab.lab_scenarios import small


@pytest.fixture(scope="module")
def in_doubt():
    """The preset at 8 s: both coordinators are down."""
    with LabRun(load_scenario("xa-two-phase"), check=False) as run:
        view = WorldView(run)
        run.run_to_time(8_000_000)
        yield view.build()


@pytest.fixture(scope="module")
def at_the_end():
    with LabRun(load_scenario("xa-two-phase"), check=False) as run:
        view = WorldView(run)
        run.run_to_time(30_000_000)
        yield view.build()


def test_every_node_that_plays_a_part_says_which(in_doubt):
    parts = {name: node["xa_roles"] for name, node in in_doubt["nodes"].items() if node["xa_roles"]}
    assert parts == {
        "B1": ["TC", "RM"],
        "P1": ["TM", "RM"],
        "TC": ["TC"],
        "TM": ["TM"],
        "R1": ["RM"],
        "R2": ["RM"],
    }


def test_a_world_without_transactions_over_several_nodes_has_no_parts():
    with LabRun(small(), check=False) as run:
        view = WorldView(run).build()
    assert view["xa"] is None
    assert all(node["xa_roles"] is None for node in view["nodes"].values())


def test_a_bank_in_doubt_shows_its_promise_its_lock_and_who_waits(in_doubt):
    resource = in_doubt["nodes"]["R1"]["resource"]
    assert resource["branches"][0]["state"] == "prepared"
    assert resource["holder"] == "TC-1-2"
    assert [wait["waiter"] for wait in resource["waiting"]] == ["cash machine"]
    bank = in_doubt["nodes"]["R1"]["bank"]
    assert (bank["way"], bank["committed_balance"], bank["is_locked"]) == ("two-phase-commit", 90_000, True)
    assert in_doubt["nodes"]["P1"]["bank"]["is_locked"] is False


def test_a_transaction_is_shown_over_time_though_its_coordinator_is_down(in_doubt):
    assert in_doubt["nodes"]["TC"]["coordinator"] is None
    last = in_doubt["xa"]["transactions"][-1]
    assert (last["key"], last["state"]) == ("xa-1", "prepared")
    assert [state for _, state in last["steps"]] == ["active", "voting", "prepared"]
    assert [(branch["node"], branch["doing"], branch["state"]) for branch in last["branches"]] == [
        ("R1", "debit", "prepared"),
        ("R2", "credit", "prepared"),
    ]
    times = [time_us for time_us, _ in last["steps"]]
    assert times == sorted(times)


def test_a_message_that_nobody_credited_is_shown_as_waiting(in_doubt):
    last = in_doubt["xa"]["messages"][-1]
    assert (last["key"], last["credited_us"], last["end"]) == ("message-1", None, None)
    assert last["debited_us"] - last["debit_us"] == 300_000


def test_how_it_ends_and_who_had_to_wait(at_the_end):
    xa = at_the_end["xa"]
    assert [one["state"] for one in xa["transactions"]] == ["committed", "rolled-back", *["committed"] * 3]
    assert [one["end"] for one in xa["messages"]] == ["credited", "credited", "refused", "credited", "credited"]
    waits = {one["node"]: one for one in xa["waits"]}
    assert waits["R1"]["longest_us"] == 5_000_000
    assert waits["R1"]["in_vain"] == 1
    assert waits["P1"]["longest_us"] < 100_000
    assert {wait["node"] for wait in xa["blocked"]} == {"P1", "R1"}
    assert at_the_end["nodes"]["TM"]["manager"]["counts"] == {"committed": 4, "rolled-back": 1, "unknown": 0}
    rows = at_the_end["nodes"]["R2"]["bank"]["rows"]
    assert {row["doing"] for row in rows} == {"credit"}


def test_a_coordinator_that_is_gone_is_not_shown_collecting_votes(in_doubt, at_the_end):
    gone = {one["node"]: one["until_us"] for one in in_doubt["xa"]["down"]}
    assert gone == {"B1": None, "TC": None}
    back = {one["node"]: one["until_us"] - one["since_us"] for one in at_the_end["xa"]["down"]}
    assert back == {"B1": 5_000_000, "TC": 5_000_000}


def test_the_same_object_comes_as_long_as_nothing_happens():
    with LabRun(load_scenario("xa-two-phase"), check=False) as run:
        view = WorldView(run)
        run.run_to_time(3_000_000)
        first = view.build()["xa"]
        assert view.build()["xa"] is first

"""What a crash at each point does: the table that the page shows is the one that the engine of today makes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.lab.run.recording import parse_link
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.scenario.scenario_text import parse_scenario
from engine.lab.sweep.crash_points import NothingToCrash, crash_at, find_points
from tests.support.lab.lab_scenarios import small
from tests.support.lab.xa_scenarios import TEXT

TABLE = Path(__file__).parents[2] / "static" / "lab" / "crash_points" / "xa-two-phase.json"
HOW_TO = "glassmq lab study crash-points xa-two-phase --json static/lab/crash_points/xa-two-phase.json"


@pytest.fixture(scope="module")
def table() -> dict:
    return json.loads(TABLE.read_text(encoding="utf-8"))


def test_the_table_of_the_page_has_the_points_of_the_scenario_as_it_is_now(table):
    found = [
        {"way": point.way, "node": point.node, "step": dict(point.texts), "event": point.event}
        for point in find_points(load_scenario("xa-two-phase"))
    ]
    shown = [{name: row[name] for name in ("way", "node", "step", "event")} for row in table["points"]]
    assert shown == found, f"refresh it: {HOW_TO}"


def test_its_links_lead_to_the_run_right_after_the_crash(table):
    for row in table["points"]:
        recording = parse_link(row["link"])
        assert not recording.is_changed
        (crash,) = recording.commands
        assert (crash.command.kind, crash.command.target, crash.event) == ("crash", row["node"], row["event"])


def test_money_is_conserved_whatever_crashes_when(table):
    assert len(table["points"]) > 25
    assert all(row["is_conserved"] and row["outcome"] != "open" for row in table["points"])


@pytest.mark.parametrize("step", ["receives all votes, all of them yes", "commits the debit"])
def test_a_row_says_what_happens_when_it_is_run_again(table, step):
    scenario = load_scenario("xa-two-phase")
    (row,) = [row for row in table["points"] if row["step"]["en"] == step]
    (point,) = [point for point in find_points(scenario) if point.texts["en"] == step]
    assert crash_at(scenario, point, table["restart_after_ms"]).to_dict() == row, f"refresh it: {HOW_TO}"


def test_a_lock_lasts_as_long_as_the_coordinator_is_away():
    scenario = parse_scenario(TEXT, "xa-test")
    (point,) = [point for point in find_points(scenario) if point.step == "global prepared"]
    for away_ms in (1_000, 20_000):
        outcome = crash_at(scenario, point, away_ms)
        assert outcome.outcome == "rolled-back"
        assert away_ms < outcome.locked_us / 1_000 < away_ms + 500


def test_a_scenario_without_transfers_and_work_has_no_points():
    with pytest.raises(NothingToCrash, match="neither a transaction manager, nor a bank"):
        find_points(small())


@pytest.fixture(scope="module")
def tables_of_work() -> dict[str, list[dict]]:
    return {
        name: json.loads((TABLE.parent / f"{name}.json").read_text(encoding="utf-8"))["points"]
        for name in ("six-steps", "sub-messages")
    }


@pytest.mark.parametrize("name", ["six-steps", "sub-messages"])
def test_the_table_of_work_has_the_points_of_the_scenario_as_it_is_now(tables_of_work, name):
    found = [(point.node, dict(point.texts), point.event) for point in find_points(load_scenario(name))]
    refresh = HOW_TO.replace("xa-two-phase", name)
    assert [(row["node"], row["step"], row["event"]) for row in tables_of_work[name]] == found, f"refresh it: {refresh}"


def test_sub_messages_do_the_work_once_whatever_crashes_when_and_the_six_steps_do_not(tables_of_work):
    safe, unsafe = tables_of_work["sub-messages"], tables_of_work["six-steps"]
    assert len(safe) > 30
    assert {(row["outcome"], row["times"], row["is_conserved"]) for row in safe} == {("done", 1, True)}
    assert {row["node"] for row in safe} == {"B1", "C1", "C2", "C3", "C4", "D1", "D2", "D3"}
    broken = [row for row in unsafe if not row["is_conserved"]]
    assert {(row["node"], row["times"]) for row in broken} == {("C1", 2)}
    assert {row["is_conserved"] for row in unsafe if row["node"] in ("S1", "D1")} == {True}


@pytest.mark.parametrize(("name", "step"), [("six-steps", "sends COMMIT"), ("sub-messages", "sends COMMIT")])
def test_a_row_of_work_says_what_happens_when_it_is_run_again(tables_of_work, name, step):
    scenario = load_scenario(name)
    row = next(row for row in tables_of_work[name] if row["step"]["en"] == step)
    point = next(point for point in find_points(scenario) if point.texts["en"] == step)
    assert crash_at(scenario, point).to_dict() == row

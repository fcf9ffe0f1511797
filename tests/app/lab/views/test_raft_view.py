"""What the stage gets of a Raft group."""

from __future__ import annotations

from typing import Any

from app.lab.views.world_view import WorldView
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario
from tests.support.lab.lab_scenarios import apply


def node(view: WorldView, name: str) -> Any:
    nodes: Any = view.build()["nodes"]
    return nodes[name]


def test_a_peer_shows_its_office_its_timer_and_its_log_by_terms():
    with LabRun(load_scenario("majority-log")) as run:
        view = WorldView(run)
        run.run_to_time(1_000_000)
        raft = node(view, "R1")["raft"]
        assert (raft["role"], raft["term"], raft["leader"], raft["voters"]) == ("leader", 1, "R1", ["R1", "R2", "R3"])
        assert run.now_us < raft["due_us"] <= run.now_us + raft["wait_us"] == run.now_us + 50_000
        assert raft["applied_index"] == raft["commit_index"] == raft["last_index"] == 6
        assert (raft["last_term"], raft["checks_log"]) == (1, True)
        assert [one["name"] for one in raft["followers"]] == ["R2", "R3"]
        follower = node(view, "R2")
        assert follower["raft"]["obstacles"] == [{"reason": "follows", "names": "R1"}]
        assert [entry["kind"] for entry in follower["log"]["entries"]] == ["no_op"] + ["data"] * 5
        assert follower["log"]["entries"][-1]["text"] == "order-4"


def test_a_dead_peer_shows_what_its_disk_holds_and_a_lonely_one_who_is_silent():
    with LabRun(load_scenario("majority-log")) as run:
        view = WorldView(run)
        run.run_to_time(1_000_000)
        alive = node(view, "R1")["log"]["entries"]
        apply(run, "crash", "R1")
        dead = node(view, "R1")
        assert "raft" not in dead
        assert [(one["index"], one["text"]) for one in dead["log"]["entries"]] == [
            (one["index"], one["text"]) for one in alive
        ]
        apply(run, "crash", "R2")
        run.run_to_time(2_000_000)
        raft = node(view, "R3")["raft"]
        assert raft["role"] == "pre-candidate"
        assert raft["answers"] == [{"name": "R3", "verdict": "granted"}]
        assert raft["obstacles"] == [{"reason": "silent", "names": "R1, R2"}]


def test_who_is_refused_learns_by_whom_and_why():
    with LabRun(load_scenario("majority-log")) as run:
        view = WorldView(run)
        run.run_to_time(800_000)
        apply(run, "partition", left=["R1"], right=["R3"], one_way=True)
        run.run_to_time(1_900_000)
        assert "hears_leader" in [one["reason"] for one in node(view, "R3")["raft"]["obstacles"]]


def test_a_client_shows_the_command_that_it_waits_for():
    with LabRun(load_scenario("split-brain")) as run:
        view = WorldView(run)
        run.run_to_time(3_000_000)
        (waiting,) = node(view, "C1")["in_flight"]
        assert waiting["key"] == "left-7"
        assert node(view, "C2")["acknowledged"] > node(view, "C1")["acknowledged"]

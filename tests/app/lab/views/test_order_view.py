"""The page's view of ordered consumption: locks, their owners, their remaining time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from app.lab.views.world_view import WorldView, view_of
from engine.lab.run.run import LabRun
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.scenario_files import load_scenario


@pytest.fixture
def run() -> Iterator[LabRun]:
    with LabRun(load_scenario("three-locks")) as made:
        made.run_to_time(4_200_000)
        yield made


def queues(run: LabRun, node: str = "C1") -> dict:
    return view_of(run)["nodes"][node]["process_queues"]


def test_a_queue_that_is_being_consumed_shows_its_three_locks_and_the_slice(run):
    queue = queues(run)["Orders@0"]
    worker = queue["local_lock"]["owner"]
    assert worker.startswith("C1/worker-")
    assert queue["local_lock"] == queue["consume_lock"] == {"owner": worker, "waiter_count": 0, "on": True}
    assert (queue["locked"], queue["consuming"], queue["lock_lease_ms"], queue["slice_ms"]) == (
        True,
        True,
        30_000,
        60_000,
    )
    assert 1_000_000 < queue["locked_us"] < queue["slice_us"] < 4_200_000
    assert queue["consuming_tree"]["key"].startswith("order-")


def test_a_queue_at_rest_shows_free_locks(run):
    queue = queues(run)["%RETRY%shop@0"]
    assert queue["local_lock"] == queue["consume_lock"] == {"owner": None, "waiter_count": 0, "on": True}
    assert queue["slice_us"] is None
    assert not queue["consuming"]


def test_the_age_of_a_lock_is_what_the_nodes_own_clock_makes_of_it(run):
    before = queues(run)["Orders@0"]["locked_us"]
    run.apply(parse_command({"kind": "clock-skew", "target": "C1", "ms": 5_000}))
    assert queues(run)["Orders@0"]["locked_us"] == before - 5_000_000, "its clock jumped: it trusts the lock less long"


def broker_of(view: WorldView) -> Any:
    return view.build()["nodes"]["B1"]


def test_times_of_a_broker_s_locks_and_held_pulls_are_the_world_s(run):
    broker = broker_of(WorldView(run))
    lock = broker["locks"]["shop"]["Orders@0"]
    assert (lock["topic"], lock["queue_id"], lock["lease_ms"]) == ("Orders", 0, 60_000)
    assert 1_000_000 < lock["since_us"] <= queues(run)["Orders@0"]["locked_us"]
    pulls = [pull for group in broker["groups"].values() for pull in group["held_pulls"].values()]
    assert pulls
    assert all(0 < pull["since_us"] <= run.world.now_us for pull in pulls)


def test_locks_in_a_view_that_goes_on_follow_the_broker_s_clock_and_its_table(run):
    view = WorldView(run)
    before = broker_of(view)["locks"]["shop"]["Orders@0"]
    run.apply(parse_command({"kind": "clock-skew", "target": "B1", "ms": 5_000}))
    assert broker_of(view)["locks"]["shop"]["Orders@0"] == {**before, "since_us": before["since_us"] - 5_000_000}
    run.apply(parse_command({"kind": "forced-unlock", "target": "C1", "queue_id": 0}))
    run.run_to_time(4_300_000)
    again = broker_of(view)["locks"]["shop"]["Orders@0"]
    assert 4_200_000 < again["since_us"] < 4_300_000, "the member has locked it again"


def test_the_trees_of_a_queue_and_what_is_in_them_are_the_same(run):
    for queue in queues(run).values():
        for tree, held in (("tree", "waiting"), ("consuming_tree", "in_hand")):
            assert (queue[tree] is None) == (queue[held]["count"] == 0)
        assert queue["message_count"] == queue["waiting"]["count"] + queue["in_hand"]["count"]


def test_a_switch_that_is_off_shows_at_the_locks_at_the_node_and_among_the_faults(run):
    run.apply(parse_command({"kind": "lock-switch", "lock": "message-queue-lock", "on": False}))
    run.apply(parse_command({"kind": "lock-switch", "lock": "broker-lock", "on": False}))
    view = view_of(run)
    assert view["nodes"]["C1"]["switched_off"] == ["message-queue-lock"]
    assert view["nodes"]["B1"]["switched_off"] == ["broker-lock"]
    queue = view["nodes"]["C1"]["process_queues"]["%RETRY%shop@0"]
    assert (queue["local_lock"]["on"], queue["consume_lock"]["on"]) == (False, True)
    shown = {(fault["kind"], fault["target"], fault["text"]["en"]) for fault in view["faults"]}
    assert ("lock-switch", "B1", "B1: Toggle a lock (broker-lock: off)") in shown


def test_the_lock_of_a_queue_that_a_worker_still_holds_after_it_was_lost_is_shown(run):
    run.apply(parse_command({"kind": "listener", "target": "C1", "result": "hangs"}))
    run.run_to_time(5_000_000)
    run.apply(parse_command({"kind": "forced-unlock", "target": "C1", "queue_id": 0}))
    run.run_to_time(5_001_000)
    node = view_of(run)["nodes"]["C1"]
    assert "Orders@0" not in node["process_queues"]
    assert node["local_locks"]["Orders@0"]["owner"].startswith("C1/worker-")


def test_a_concurrent_consumer_has_none_of_it():
    with LabRun(load_scenario("hello")) as run:
        run.run_to_time(3_000_000)
        node = view_of(run)["nodes"]["C1"]
        assert not node["orderly"]
        assert all(queue["local_lock"] is None for queue in node["process_queues"].values())

"""The same fault under each policy of replication, counted by runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.lab.run.recording import parse_link
from engine.lab.run.run import LabRun
from engine.lab.sweep.replication_compare import ComparisonCell, cell_of, first_acknowledgement_ms, place_of
from engine.lab.sweep.replication_policy import AFTER_ACKNOWLEDGEMENT_MS, POLICIES, PolicyFault, world_of

TABLE = json.loads((Path(__file__).parents[4] / "static/lab/comparisons/replication-compare.json").read_text("utf-8"))
KAFKA = [name for name in POLICIES if name.startswith("kafka-")]


def cells(fault: PolicyFault) -> dict[str, ComparisonCell]:
    """As the page has them. That they are what runs say today is tested below for three of them, and for all by
    ``tests/app/commands/lab/studies/test_replication_compare.py``."""
    return {one["policy"]: ComparisonCell(**one) for one in TABLE["cells"] if one["fault"] == fault.value}


def those(found: dict[str, ComparisonCell], holds: Callable[[ComparisonCell], bool]) -> set[str]:
    return {name for name, cell in found.items() if holds(cell)}


def test_when_the_leader_dies_only_what_nobody_waited_for_is_lost_and_who_elects_goes_on() -> None:
    found = cells(PolicyFault.LEADER_DIES)
    assert those(found, lambda cell: cell.lost > 0) == {"async-master", "kafka-acks-1"}
    assert those(found, lambda cell: cell.is_back) == {"raft-majority", *KAFKA}
    assert 150 < found["raft-majority"].unavailable_ms < 1_000, "an election timeout and an election"
    assert all(9_000 < found[name].unavailable_ms < 10_000 for name in KAFKA), "the session of a broker is 9 s"
    assert found["raft-majority"].duplicates <= 1, "only the order whose answer died with the leader is sent again"
    assert not found["kafka-acks-all"].duplicates, "its producer numbers what it sends"
    assert not any(cell.violations for cell in found.values())


def test_a_slow_follower_delays_only_whoever_waits_for_it() -> None:
    found = cells(PolicyFault.SLOW_FOLLOWER)
    assert those(found, lambda cell: cell.unavailable_ms >= 300) == {"sync-master-two", "kafka-acks-all"}
    assert not any(cell.lost for cell in found.values())


def test_a_follower_that_is_cut_off_stops_only_whoever_waits_for_both() -> None:
    found = cells(PolicyFault.MINORITY_CUT)
    assert those(found, lambda cell: cell.unavailable_ms >= 1_000) == {"sync-master-two", "kafka-acks-all"}
    assert found["sync-master-two"].in_doubt > 0, "FLUSH_SLAVE_TIMEOUT, SLAVE_NOT_AVAILABLE, or no answer in time"
    assert found["sync-master-two"].is_back
    assert not found["kafka-acks-all"].is_back, "who is silent stays in sync for 30 s"


def test_a_leader_without_followers_promises_nothing_unless_it_never_waited_and_raft_elects_another() -> None:
    found = cells(PolicyFault.MAJORITY_CUT)
    for name in ("async-master", "kafka-acks-0", "kafka-acks-1"):
        assert found[name].on_one_machine > 500, "all that was acknowledged meanwhile"
        assert found[name].unavailable_ms < 20
    for name in ("sync-master-one", "sync-master-two", "sync-master-majority", "kafka-acks-all"):
        assert found[name].unavailable_ms > 10_000, "until the cut heals, and the copies have connected again"
        assert found[name].on_one_machine == 0
    assert found["raft-majority"].unavailable_ms < 1_000
    assert not any(cell.lost or cell.violations for cell in found.values())


@pytest.mark.parametrize(
    "name",
    ["async-master", *(pytest.param(name, marks=pytest.mark.thorough) for name in ("raft-majority", "kafka-acks-1"))],
)
def test_a_cell_is_what_its_run_says_and_leads_to_it_shortly_before_the_fault(name) -> None:
    policy = POLICIES[name]
    place = place_of(policy)
    fault_ms = first_acknowledgement_ms(policy, place) + AFTER_ACKNOWLEDGEMENT_MS
    cell = cell_of(policy, PolicyFault.LEADER_DIES)
    assert cell == cells(PolicyFault.LEADER_DIES)[name]
    with LabRun.replay(parse_link(cell.link)) as run:
        assert run.now_us == (fault_ms - 100) * 1_000
        assert run.world.nodes[place.leader].status == "running"
        run.run_to_time(fault_ms * 1_000)
        assert run.world.nodes[place.leader].status == "crashed"
        run.run_to_time(run.world.end_us)
        assert run.event_number == cell.events


def test_a_world_says_in_both_languages_what_it_is_about() -> None:
    world = world_of(POLICIES["sync-master-two"], PolicyFault.SLOW_FOLLOWER)
    assert "both slaves" in world.about["en"]
    assert "SYNC_MASTER" in world.title["zh"]

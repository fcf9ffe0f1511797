"""Peers whose disks lose what they should have kept: the group stands still, or goes on, and loses nothing.

``GLASSMQ_SWEEP_SEEDS=1000 make test TESTS=tests/lab/raft/test_lost_disks.py`` runs a thousand seeds of each kind.
"""

from __future__ import annotations

import dataclasses
from collections import Counter

import pytest

from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario import Command, FaultKind, FaultModel
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.sweep.fault_plan import draw_faults
from engine.lab.sweep.sweep import run_with_faults
from engine.lab.world.peer_damage import PEER_DAMAGES
from engine.replication.raft.hard_state import JoinReason
from engine.replication.raft.raft_role import RaftRole
from tests.support.raft.raft_scenarios import core_of, leaders, peer_of

pytestmark = pytest.mark.seeds(quick=2, full=20)
DAMAGES = (FaultKind.WIPE, FaultKind.FLIP, FaultKind.LAST_SECOND)
OTHERS = (FaultKind.CRASH, FaultKind.CRASH_POWER, FaultKind.PARTITION, FaultKind.DELAY, FaultKind.DUPLICATE)


def test_a_member_without_its_disk_waits_for_who_has_what_was_committed():
    with LabRun(load_scenario("wiped-member")) as run:
        run.run_to_time(5_000_000)
        assert leaders(run) == []
        assert core_of(run, "R2").role is RaftRole.JOINING
        run.run_to_time(10_000_000)
        assert leaders(run) == ["R1"]
        assert core_of(run, "R2").role is RaftRole.FOLLOWER
        run.run_to_time(run.scenario.duration_ms * 1_000)
        assert run.violations == []
        assert [core_of(run, name).log.entries for name in ("R2", "R3")] == [core_of(run, "R1").log.entries] * 2


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("damage", DAMAGES)
def test_under_random_faults_no_lost_disk_loses_what_was_acknowledged(damage, seeds):
    scenario = load_scenario("majority-log")
    model = FaultModel(kinds=(*OTHERS, damage), max_faults=scenario.fault_model.max_faults)
    scenario = dataclasses.replace(scenario, fault_model=model)
    figures: Counter[str] = Counter()

    def count(run: LabRun) -> None:
        figures["damages"] += sum(done.command.kind in PEER_DAMAGES for done in run.world.history.commands)
        figures["acknowledged"] += sum(entry.status == "ok" for entry in run.world.history.sends_returned)

    for seed in range(1, seeds + 1):
        assert run_with_faults(scenario, seed, draw_faults(scenario, seed), count).violations == (), seed
    assert figures["damages"] >= seeds // 2, figures
    assert figures["acknowledged"] > 20 * seeds, figures


@pytest.mark.parametrize("name", ["R1", "R2", "R3"])
@pytest.mark.parametrize("damage", PEER_DAMAGES)
def test_at_whatever_moment_a_disk_is_lost_the_peer_comes_back_and_nothing_is_lost(damage, name):
    scenario = dataclasses.replace(load_scenario("majority-log"), script=())
    reasons: Counter[JoinReason] = Counter()
    for time_ms in range(600, 5_000, 1_100):
        with LabRun(scenario, time_ms) as run:
            run.run_to_time(time_ms * 1_000)
            fields = {"bit": time_ms} if damage.startswith("flip") else {}
            run.apply(Command(damage, name, fields))
            run.apply(Command("restart", name))
            run.run_to_time(time_ms * 1_000 + 1_000)
            reasons[core_of(run, name).hard_state.reason] += 1
            run.run_to_time(12_000_000)
            assert run.violations == []
            assert core_of(run, name).role is not RaftRole.JOINING
            logs = [core_of(run, other).log.entries for other in ("R1", "R2", "R3")]
            assert logs[0] == logs[1] == logs[2]
            acknowledged = [one.key for one in run.world.history.sends_returned if one.status == "ok"]
            assert len(acknowledged) > 50
    # One bit of the state never matters: there is a second copy.
    assert (reasons[JoinReason.NONE] == reasons.total()) == (damage == "flip-in-state"), reasons


def test_two_lost_disks_of_three_stop_the_group_and_lose_nothing():
    scenario = dataclasses.replace(load_scenario("majority-log"), script=())
    with LabRun(scenario) as run:
        run.run_to_time(2_000_000)
        for name in ("R2", "R3"):
            run.apply(Command("wipe", name))
            run.apply(Command("restart", name))
        run.run_to_time(20_000_000)
        assert leaders(run) == []
        assert run.violations == []
        assert peer_of(run, "R1").peer.core.log.last_index > 10

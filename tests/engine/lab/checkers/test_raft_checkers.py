"""The checkers of a Raft group: each in a world in which a rule is off and it fires; with the rule none does."""

from __future__ import annotations

import pytest

from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario import Command
from engine.lab.scenario.scenario_files import load_scenario
from tests.support.lab.lab_scenarios import apply
from tests.support.raft.raft_scenarios import leaders, peer_of, small

SECOND_CLIENT = '  C2: {role: raft_client, traffic: {count: 20, every_ms: 100, start_ms: 1000, key: "other-{n}"}}\n'


def broken(run: LabRun) -> set[str]:
    run.run_to_time(run.world.end_us)
    return {violation.checker for violation in run.violations}


def test_in_a_calm_run_all_five_look_and_find_nothing():
    with LabRun(small()) as run:
        assert run.checkers is not None
        assert [checker.name for checker in run.checkers.checkers] == [
            "election-safety",
            "log-matching",
            "leader-completeness",
            "state-machine-safety",
            "acknowledged-commands-are-committed",
            "no-code-fails",
        ]
        assert broken(run) == set()


@pytest.mark.parametrize("is_flushed", [True, False])
def test_a_vote_that_is_forgotten_elects_two_leaders_of_one_term(is_flushed):
    rules = f"checks_quorum: false, persists_vote_before_answering: {str(is_flushed).lower()}"
    with LabRun(small(rules=rules, extra=SECOND_CLIENT)) as run:
        while leaders(run) != ["R1"]:
            run.step()
        apply(run, "crash-power", "R3")
        apply(run, "partition", left=["R1", "C1"], right=["R2", "R3", "C2"])
        apply(run, "crash-power", "R2")
        apply(run, "restart", "R2")
        apply(run, "restart", "R3")
        run.run_to_time(2_900_000)
        assert len(leaders(run)) == 2
        apply(run, "heal")
        two_leaders = {"election-safety", "log-matching"}
        found = broken(run)
        assert found == set() if is_flushed else two_leaders <= found, found


@pytest.mark.parametrize("checks", [True, False])
def test_a_leader_that_lacks_a_committed_entry_loses_it(checks):
    with LabRun(small(rules=f"checks_log_is_up_to_date: {str(checks).lower()}")) as run:
        run.run_to_time(800_000)
        apply(run, "partition", left=["R3"], right=["R1", "R2", "C1"])
        run.run_to_time(1_500_000)
        apply(run, "crash", "R1")
        apply(run, "heal")
        expected = {"leader-completeness", "acknowledged-commands-are-committed"}
        assert broken(run) == (set() if checks else expected)
        # What R2 has committed does not give way: nobody applies another entry there.
        assert ("is committed here" in peer_of(run, "R2").peer.failure) is not checks


@pytest.mark.parametrize("own_term_only", [True, False])
def test_an_older_terms_entry_that_is_committed_by_counting_is_lost(own_term_only):
    with LabRun(load_scenario("old-term-commit")) as run:
        run.apply(Command("setting", "R1", {"name": "commits_only_own_term", "value": own_term_only}))
        assert broken(run) == (set() if own_term_only else {"leader-completeness", "state-machine-safety"})

"""The checker of two-phase commit fires where a bank breaks its promise, and only there."""

from __future__ import annotations

from engine.xa.states import Decision
from tests.support.lab.xa_scenarios import coordinator_of, do, manager_of, run_to_ms, until_branch, until_global, xa_run


def complaints(run) -> list[tuple[str, str]]:
    return [(one.anomaly.value, one.text["en"]) for one in run.violations if one.checker == "xa-branches-agree"]


def test_a_bank_that_ends_a_branch_in_doubt_by_itself_is_caught():
    with xa_run() as run:
        until_branch(run, "R1", "prepared")
        # What an administrator may do to a database: a heuristic decision.
        manager_of(run, "R1")._obey("TC-1-1", Decision.ROLLBACK)
        until_branch(run, "R2", "committed")
        run_to_ms(run, 20_000)
        assert complaints(run)[0] == (
            "lost write",
            "TC-1-1 (xa-0): the branch at R2 is committed, but the branch at R1 is rolled-back.",
        )


def test_a_branch_that_stays_in_doubt_in_a_calm_world_is_stuck():
    with xa_run() as run:
        until_global(run, "prepared")
        coordinator = coordinator_of(run)
        for transaction in coordinator.open.values():
            transaction.begun_us = 10**15
        coordinator._find_or_remember = coordinator._find = lambda xid: (_ for _ in ()).throw(RuntimeError("deaf"))
        run_to_ms(run, 200_000)
        assert [anomaly for anomaly, _ in complaints(run)] == ["stuck", "stuck"]


def test_being_in_doubt_while_the_coordinator_is_down_is_no_violation():
    with xa_run() as run:
        until_global(run, "prepared")
        do(run, "crash", "TC")
        run_to_ms(run, 200_000)
        assert manager_of(run, "R1").in_doubt
        assert complaints(run) == []


def test_it_does_not_concern_worlds_without_resource_managers():
    from engine.lab.checkers.transactions.xa_branches_agree import XaBranchesAgree
    from tests.support.lab.lab_scenarios import small

    assert not XaBranchesAgree.applies(small())

"""Two-phase commit as a whole, over simulated links and disks: what everybody does when nothing goes wrong, and when a
node dies or a frame is lost at each place where that matters.
"""

from __future__ import annotations

import pytest

from tests.support.lab.xa_scenarios import (
    balances,
    coordinator_of,
    do,
    ends,
    manager_of,
    outcomes,
    run_to_ms,
    until_branch,
    until_global,
    until_label,
    xa_run,
)

BOTH_COMMITTED = {"R1": "committed", "R2": "committed"}
BOTH_ROLLED_BACK = {"R1": "rolled-back", "R2": "rolled-back"}


@pytest.fixture
def run():
    with xa_run() as run:
        yield run
        assert run.violations == []
        assert run.world.lab.loop.failures.failures == []


def test_both_banks_do_their_part_of_every_transfer(run):
    run_to_ms(run, 5_000)
    assert balances(run) == (80, 20)
    assert outcomes(run) == ["committed", "committed"]
    assert ends(run) == BOTH_COMMITTED


def test_neither_bank_does_anything_when_one_cannot():
    with xa_run(("opening: 100", "opening: 15")) as run:
        run_to_ms(run, 5_000)
        assert outcomes(run) == ["committed", "rolled-back"]
        assert balances(run) == (5, 10)
        assert "less than 10" in run.world.history.transfers_ended[1].reason


def test_a_commit_is_reported_only_once_it_is_durable():
    with xa_run(("fsync_ms: 5", "fsync_ms: 500")) as run:
        until_global(run, "committing")
        do(run, "crash-power", "TC")
        assert ends(run) == {"R1": "prepared", "R2": "prepared"}
        do(run, "restart", "TC")
        run_to_ms(run, 20_000)
        assert ends(run) == BOTH_ROLLED_BACK
        # Its begin was not flushed either: the banks must roll back, and the manager gets the answer "unknown".
        assert outcomes(run)[0] == "unknown"


def test_a_durable_decision_is_carried_out_by_the_next_process(run):
    until_label(run, "TC", "orders the commit of a branch")
    do(run, "crash-power", "TC")
    run_to_ms(run, 4_000)
    do(run, "restart", "TC")
    run_to_ms(run, 8_000)
    assert ends(run) == BOTH_COMMITTED
    assert outcomes(run)[0] == "committed"


def test_a_coordinator_that_dies_before_its_decision_leaves_the_banks_in_doubt_and_then_rolls_back(run):
    until_global(run, "prepared")
    do(run, "crash", "TC")
    run_to_ms(run, 60_000)
    manager = manager_of(run, "R1")
    assert [branch.xid for branch in manager.in_doubt] == ["TC-1-1"]
    assert manager.locks.holder_of("A") == "TC-1-1"
    do(run, "restart", "TC")
    run_to_ms(run, 70_000)
    assert ends(run) == BOTH_ROLLED_BACK
    assert manager.locks.holder_of("A") is None


def test_a_bank_that_dies_after_its_yes_comes_back_with_its_lock_and_obeys(run):
    until_branch(run, "R1", "prepared")
    do(run, "crash-power", "R1")
    run_to_ms(run, 3_000)
    assert ends(run)["R2"] == "committed"
    do(run, "restart", "R1")
    until_label(run, "R1", "boot")
    manager = manager_of(run, "R1")
    assert manager.locks.holder_of("A") == "TC-1-1"
    run_to_ms(run, 8_000)
    assert ends(run) == BOTH_COMMITTED
    assert balances(run)[0] in (80, 90)


def test_a_bank_that_dies_before_its_yes_has_promised_nothing(run):
    until_branch(run, "R1", "executing")
    do(run, "crash", "R1")
    run_to_ms(run, 3_000)
    do(run, "restart", "R1")
    run_to_ms(run, 8_000)
    assert outcomes(run)[0] == "rolled-back"
    assert ends(run) == {"R1": "forgotten", "R2": "rolled-back"}


def test_a_transaction_whose_manager_is_gone_is_rolled_back_when_its_time_is_up(run):
    until_global(run, "voting")
    do(run, "crash", "TM")
    run_to_ms(run, 9_000)
    assert ends(run) == {"R1": "prepared", "R2": "prepared"}
    run_to_ms(run, 13_000)
    assert ends(run) == BOTH_ROLLED_BACK


def test_an_order_that_is_lost_is_given_again(run):
    for frame in ("XA_COMMIT_BRANCH", "reply to XA_COMMIT_BRANCH"):
        do(run, "drop-next", "", frame=frame)
    run_to_ms(run, 20_000)
    assert ends(run) == BOTH_COMMITTED
    assert balances(run) == (80, 20)


def test_a_bank_that_hears_nothing_asks(run):
    until_branch(run, "R1", "prepared")
    # Orders do not get through, but the bank's own questions do: they go over another connection, the other way.
    for _ in range(8):
        do(run, "drop-next", "TC->R1", frame="XA_COMMIT_BRANCH")
    run_to_ms(run, 6_000)
    do(run, "heal")
    assert ends(run)["R1"] == "committed"
    assert any("asks for the decision" in entry.label for entry in run.world.lab.journal.entries)


@pytest.mark.parametrize(
    "frame",
    [
        "XA_BEGIN",
        "XA_ENLIST",
        "XA_REGISTER_BRANCH",
        "XA_PREPARE_GLOBAL",
        "XA_PREPARE_BRANCH",
        "XA_COMMIT_GLOBAL",
        "XA_COMMIT_BRANCH",
    ],
)
def test_a_frame_that_comes_twice_does_nothing_twice(run, frame):
    do(run, "duplicate-next", "", frame=frame)
    run_to_ms(run, 30_000)
    assert outcomes(run) == ["committed", "committed"]
    assert balances(run) == (80, 20)


@pytest.mark.parametrize(
    "frame",
    [
        "XA_BEGIN",
        "XA_ENLIST",
        "XA_REGISTER_BRANCH",
        "XA_PREPARE_GLOBAL",
        "XA_PREPARE_BRANCH",
        "XA_COMMIT_GLOBAL",
        "reply to XA_BEGIN",
        "reply to XA_ENLIST",
        "reply to XA_REGISTER_BRANCH",
        "reply to XA_PREPARE_GLOBAL",
        "reply to XA_PREPARE_BRANCH",
        "reply to XA_COMMIT_GLOBAL",
    ],
)
def test_a_frame_that_is_lost_leaves_both_banks_with_one_answer(run, frame):
    do(run, "drop-next", "", frame=frame)
    run_to_ms(run, 60_000)
    states = list(ends(run).values())
    assert len({state for state in states if state != "enlisted"}) <= 1
    assert sum(balances(run)) == 100
    assert outcomes(run)[1] == "committed"


#: A second manager that moves money between the same accounts at the same time.
SECOND_MANAGER = (
    "  R1:",
    """  TM2:
    role: transaction_manager
    transfers: {from: R1, to: R2, amount: 1, count: 1, start_ms: 1060, key: "other-{n}"}
  R1:""",
)


def test_a_second_transfer_on_a_locked_account_waits_for_the_first():
    with xa_run(SECOND_MANAGER) as run:
        run_to_ms(run, 5_000)
        assert balances(run) == (79, 21)
        (wait, *_) = manager_of(run, "R1").locks.waits
        assert (wait.holder, wait.waiter) == ("TC-1-1", "TC-1-2")
        committed_us = [e.time_us for e in run.world.history.branches_changed if e.state == "committed"]
        assert wait.until_us == committed_us[0]


def test_a_transfer_that_waits_too_long_for_a_lock_is_rolled_back_as_a_whole():
    settings = ("duration_ms: 50}}\n  R2", "duration_ms: 50}, settings: {lock_wait_timeout_ms: 20}}\n  R2")
    with xa_run(SECOND_MANAGER, settings) as run:
        run_to_ms(run, 5_000)
        assert ends(run, "other-0") == {"R1": "rolled-back", "R2": "rolled-back"}
        (reason,) = [e.reason for e in run.world.history.transfers_ended if e.key == "other-0"]
        assert "A is locked by TC-1-1" in reason


def test_two_transfers_that_lock_each_others_accounts_end_by_the_timeout():
    both_ways = (SECOND_MANAGER[0], SECOND_MANAGER[1].replace("from: R1, to: R2", "from: R2, to: R1"))
    with xa_run(both_ways, ("opening: 0", "opening: 50")) as run:
        run_to_ms(run, 20_000)
        assert sum(balances(run)) == 150
        assert {"committed", "rolled-back"} >= set(outcomes(run))
        assert not manager_of(run, "R1").open
        assert not run.violations


def test_a_vote_that_comes_after_the_rollback_keeps_nothing_open():
    slow_credit = ("opening: 0, duration_ms: 50", "opening: 0, duration_ms: 500")
    with xa_run(("opening: 100", "opening: 5"), slow_credit) as run:
        run_to_ms(run, 5_000)
        assert outcomes(run) == ["rolled-back", "rolled-back"]
        assert not coordinator_of(run).open


def test_a_coordinator_forgets_what_has_ended_when_its_log_is_full():
    small_log = ("transaction_timeout_ms: 10000", "transaction_timeout_ms: 10000, log_file_bytes: 2048")
    with xa_run(small_log, ("count: 2, every_ms: 1000", "count: 8, every_ms: 300")) as run:
        run_to_ms(run, 10_000)
        assert outcomes(run) == ["committed"] * 8
        assert coordinator_of(run).log.end < 2_048


RICH = ("opening: 100", "opening: 1000")


def test_a_coordinator_whose_disk_is_full_begins_nothing_and_goes_on_when_there_is_room():
    tiny_log = ("transaction_timeout_ms: 10000", "transaction_timeout_ms: 10000, log_file_bytes: 4096")
    with xa_run(tiny_log, ("count: 2, every_ms: 1000", "count: 30, every_ms: 200"), RICH) as run:
        until_global(run, "committed")
        storage = run.world.lab.storages["TC"]
        storage.occupied_bytes = storage.capacity_bytes - storage.used_bytes
        run_to_ms(run, 5_000)
        refused = [e.reason for e in run.world.history.transfers_ended if e.outcome == "rolled-back"]
        assert refused
        assert all("the disk is full" in reason for reason in refused)
        storage.occupied_bytes = 0
        run_to_ms(run, 20_000)
        assert outcomes(run)[-1] == "committed"
        assert not coordinator_of(run).open
        assert run.violations == []


def test_xids_of_two_processes_of_a_coordinator_differ(run):
    run_to_ms(run, 1_500)
    do(run, "crash", "TC")
    do(run, "restart", "TC")
    run_to_ms(run, 5_000)
    assert [entry.xid for entry in run.world.history.transfers_ended] == ["TC-1-1", "TC-2-1"]

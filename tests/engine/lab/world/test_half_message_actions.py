"""Commands on half messages, and a doubled END_TRANSACTION: what each leads to; a run with them can be repeated."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from app.lab.views.world_view import view_of
from engine.lab.run.run import LabRun
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.errors import CommandRefused
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.world.administrator_actions import HalfMessageCommandRefused
from tests.support.lab.lab_scenarios import apply, run_to_ms, successes


@pytest.fixture
def begun() -> Iterator[Callable[[str, int], LabRun]]:
    """``begun(scenario, ms)``: a run at that time."""
    runs: list[LabRun] = []

    def begin(scenario: str, time_ms: int) -> LabRun:
        runs.append(LabRun(load_scenario(scenario)))
        return run_to_ms(runs[-1], time_ms)

    yield begin
    for run in runs:
        run.close()


def transactions(run: LabRun):
    return view_of(run)["nodes"]["B1"]["transactions"]


def test_an_administrator_commits_what_the_producer_knows_nothing_of_and_that_is_a_ghost_read(begun):
    run = begun("unknown-and-check-back", 12_000)
    apply(run, "commit-half", "B1", message="transfer-1")
    run_to_ms(run, 13_000)
    assert successes(run).count("transfer-1") == 1
    assert [message["decided_by"] for message in transactions(run)["messages"]] == [None, None, 2, None]
    assert [violation.checker for violation in run.violations] == ["no-half-message-consumed"]


def test_what_was_rolled_back_by_hand_is_never_consumed_and_never_asked_about(begun):
    run = begun("unknown-and-check-back", 12_000)
    apply(run, "rollback-half", "B1", message="transfer-1")
    run_to_ms(run, 60_000)
    assert "transfer-1" not in successes(run)
    assert sorted(successes(run)) == [f"transfer-{number}" for number in (0, 2, 3, 4, 5)]
    assert not run.violations


def test_a_message_keeps_its_name_when_a_check_stores_it_again(begun):
    run = begun("unknown-and-check-back", 3_000)
    (first,) = [message for message in transactions(run)["messages"] if message["key"] == "transfer-1"]
    run_to_ms(run, 12_000)
    apply(run, "rollback-half", "B1", message=first["id"])
    run_to_ms(run, 12_100)
    (newest,) = [message for message in transactions(run)["messages"] if message["id"] == first["id"]]
    assert newest["queue_offset"] > first["queue_offset"]
    assert newest["decided_by"] is not None


def test_a_second_commit_is_refused_and_anyway_consumers_get_the_message_twice(begun):
    run = begun("unknown-and-check-back", 2_400)
    with pytest.raises(
        HalfMessageCommandRefused, match="'transfer-0' is already decided, according to op message 0"
    ) as refused:
        apply(run, "commit-half", "B1", message="transfer-0")
    assert "已有结论" in refused.value.text["zh"]
    apply(run, "commit-half", "B1", message="transfer-0", anyway=True)
    run_to_ms(run, 3_000)
    assert successes(run) == ["transfer-0", "transfer-0"]
    assert not run.violations


def test_a_message_that_was_given_up_is_checked_again(begun):
    run = begun("check-max-discard", 80_500)
    given_up = transactions(run)["given_up"]
    assert [(one["key"], one["check_times"], one["checked_again"]) for one in given_up] == [
        ("transfer-0", 5, None),
        ("lost-0", 5, None),
        ("transfer-1", 5, None),
    ]
    assert all(one["given_up_us"] > one["born_us"] for one in given_up)
    with pytest.raises(HalfMessageCommandRefused, match="gave up on 'lost-0' after 5 check-backs"):
        apply(run, "commit-half", "B1", message="lost-0")
    apply(run, "restart", "P2")
    run_to_ms(run, 81_000)
    apply(run, "resume-half", "B1", message="lost-0")
    run_to_ms(run, 81_100)
    part = transactions(run)
    (again,) = part["messages"]
    assert (again["key"], again["check_times"]) == ("lost-0", 0)
    assert [one["checked_again"] for one in part["given_up"]] == [None, again["queue_offset"], None]
    # P2 is back and finds no row of that transfer.
    run_to_ms(run, 100_000)
    assert transactions(run)["given_up_end"] == 3
    assert run.world.history.transactions_ended[-1].result == "rollback"
    assert not run.violations


@pytest.mark.parametrize(
    ("kind", "target", "message", "words"),
    [
        ("commit-half", "C1", "transfer-1", "commit-half applies to brokers only"),
        ("commit-half", "B1", "nobody", "there is no half message with the unique id or key 'nobody'"),
        ("rollback-half", "B1", "nobody", "there is no half message with the unique id or key 'nobody'"),
        ("resume-half", "B1", "transfer-1", "has not given up on any message"),
        ("commit-half", "B1", "", "commit-half.message: has 0 characters"),
    ],
)
def test_actions_that_cannot_be_are_refused_and_change_nothing(begun, kind, target, message, words):
    run = begun("unknown-and-check-back", 3_000)
    before = run.journal_hash
    with pytest.raises(CommandRefused, match=words):
        apply(run, kind, target, message=message)
    assert (run.journal_hash, run.commands) == (before, [])


def test_a_broker_that_does_not_run_decides_nothing(begun):
    run = begun("unknown-and-check-back", 3_000)
    for kind in ("pause-node", "crash"):
        apply(run, kind, "B1")
        with pytest.raises(CommandRefused, match="only a node that is running can decide half messages"):
            apply(run, "commit-half", "B1", message="transfer-1")


def test_of_two_actions_in_the_same_moment_only_the_first_is_done(begun):
    """Both are allowed when they are given; each looks once more when it is its turn."""
    run = begun("unknown-and-check-back", 12_000)
    apply(run, "rollback-half", "B1", message="transfer-1")
    apply(run, "commit-half", "B1", message="transfer-1")
    run_to_ms(run, 12_500)
    topics = view_of(run)["nodes"]["B1"]["topics"]
    ops = topics["RMQ_SYS_TRANS_OP_HALF_TOPIC"]["queues"]["0"]["entries"]
    assert [op["key"] for op in ops].count("transfer-1") == 1
    assert "transfer-1" not in successes(run)


def test_a_run_with_such_actions_is_repeated_from_its_export(begun):
    run = begun("check-max-discard", 80_500)
    apply(run, "resume-half", "B1", message="lost-0")
    run_to_ms(run, 81_000)
    apply(run, "commit-half", "B1", message="lost-0")
    run_to_ms(run, 82_000)
    with LabRun.load(json.loads(json.dumps(run.export()))) as again:
        assert again.is_faithful
        assert successes(again) == ["lost-0"]


def test_an_end_transaction_that_arrives_twice_commits_twice(begun):
    """RocketMQ's broker does the same; the consumer has to notice by the key."""
    run = begun("unknown-and-check-back", 900)
    run.apply(parse_command({"kind": "duplicate-next", "target": "P1->B1", "frame": "END_TRANSACTION"}))
    run_to_ms(run, 2_400)
    broker = view_of(run)["nodes"]["B1"]
    records = [record for record in broker["commit_log"]["records"] if record["topic"] == "Transfers"]
    assert [record["key"] for record in records] == ["transfer-0", "transfer-0"]
    ops = broker["topics"]["RMQ_SYS_TRANS_OP_HALF_TOPIC"]["queues"]["0"]["entries"]
    assert [op["key"] for op in ops] == ["transfer-0", "transfer-0"]
    assert successes(run) == ["transfer-0", "transfer-0"]
    assert not run.violations

"""``glassmq explore``."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from app.command_line import main
from engine.lab.run.recording import parse_link


def explore(*arguments):
    return CliRunner().invoke(main, ["explore", *arguments], prog_name="glassmq")


def test_a_found_schedule_is_reported_hold_by_hold_with_a_link_and_exit_code_1():
    result = explore("two-consumers", "--without", "process-queue-lock", "--max-stalls", "1")
    assert result.exit_code == 1, result.output
    assert "no-call-after-takeover (duplicate)" in result.output
    assert "1. C1/worker-0 is held for" in result.output
    assert "Meanwhile" in result.output
    link = result.output.strip().rsplit("#", 1)[1]
    assert [timed.command.kind for timed in parse_link(link).commands] == ["lock-switch", "hold"]


def test_nothing_found_is_exit_code_0_and_says_what_was_searched():
    result = explore("two-consumers", "--max-stalls", "1")
    assert result.exit_code == 0, result.output
    assert "nothing found: all schedules with up to 1 stalls were run" in result.output


def test_a_search_that_ends_at_its_bound_does_not_claim_to_be_complete():
    result = explore("two-consumers", "--max-schedules", "5")
    assert result.exit_code == 0
    assert "nothing found: the search is not complete" in result.output


def test_the_missing_local_lock_alone_is_explained():
    result = explore("two-consumers", "--without", "message-queue-lock", "--max-stalls", "0")
    assert "consuming" in result.output


def test_json_has_the_figures_and_the_finding():
    result = explore("two-consumers", "--without", "broker-lock", "--json")
    report = json.loads(result.stdout)
    assert result.exit_code == 1
    assert report["finding"]["holds"] == []
    assert report["schedules"] >= 1
    assert report["search_cpu_seconds"] >= 0


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["nothing-like-it"], "nothing-like-it"),
        (["hello"], "no ordered consumers"),
        (["two-consumers", "--without", "x"], "allowed: broker-lock, message-queue-lock"),
        (["two-consumers", "--forced-unlock", "C1"], "allowed: NODE:QUEUE@MS"),
        (["two-consumers", "--max-stalls", "7"], "allowed: 0 to 3"),
        (["two-consumers", "--losses", "3"], "allowed: 0 to 2"),
        (["two-consumers", "--lose", "SEND"], "common names: SEND_MESSAGE_V2"),
        (
            ["order-and-stock", "--set", "consumers.idempotence_strategy=x"],
            "'x' is not allowed; allowed: message-table",
        ),
        (["order-and-stock", "--set", "C9.idempotence_strategy=none"], "C9"),
    ],
)
def test_what_cannot_be_searched_is_an_error_that_names_it(arguments, problem):
    result = explore(*arguments)
    assert result.exit_code == 2
    assert problem in result.output
    assert isinstance(result.exception, SystemExit)


def test_processes_find_the_same_after_as_many_schedules():
    alone = explore("bank-naive", "--json")
    shared = explore("bank-naive", "--json", "--processes", "2")
    left_out = ("seconds", "search_cpu_seconds")

    def report(result):
        return {name: value for name, value in json.loads(result.stdout).items() if name not in left_out}

    assert (shared.exit_code, report(shared)) == (1, report(alone))


def test_a_lost_frame_is_reported_and_replayed_by_the_link():
    only_losses = ("--max-stalls", "0", "--crashes", "0")
    result = explore("bank-naive", *only_losses, "--lose", "reply to SEND_MESSAGE_V2")
    assert result.exit_code == 1, result.output
    assert "(1 with 0, 1 with 1 stalls or lost frames)" in result.output
    assert "1. The response of B1 to SEND_MESSAGE_V2 from P1 is lost in transit." in result.output
    link = result.output.strip().rsplit("#", 1)[1]
    assert [timed.command.kind for timed in parse_link(link).commands] == ["drop-next"]
    nothing = explore("bank-naive", *only_losses, "--losses", "1", "--lose", "END_TRANSACTION")
    assert nothing.exit_code == 0, nothing.output
    assert "all schedules with up to 0 stalls and 1 lost frames were run" in nothing.output


def test_processes_and_spark_are_not_asked_for_together():
    result = explore("two-consumers", "--processes", "2", "--spark", "local[2]")
    assert result.exit_code == 2
    assert "--spark excludes --processes: both share the work" in result.output

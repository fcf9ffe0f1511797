"""The search where banks send each other money: what it finds in the naive transfer, and that it finds nothing else."""

from __future__ import annotations

import pytest

from engine.lab.checkers import Violation
from engine.lab.explorer.plan import ExplorationRefused, ExplorationRequest, make_plan, useful_switches
from engine.lab.explorer.stage import ORDER_CHECKERS, ends_when_consumed
from engine.lab.explorer.stall import FOR_EVER_MS, StallKind
from engine.lab.run.recording import parse_link
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario import Scenario
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.scenario.scenario_text import parse_scenario
from tests.support.lab.exploring import explore, found_by

NAIVE = load_scenario("bank-naive")
TRANSACTION = load_scenario("bank-transaction")
#: One transfer. Check-backs come soon, and the story ends soon.
SHORT = """
title: {en: A transfer, zh: 一笔转账}
about: {en: A transfer., zh: 一笔转账。}
seed: 1
duration_ms: 10000
network: {latency_ms: 2}
nodes:
  N1: {role: name_server}
  B1: {role: broker, settings: {transactionTimeOut: 1000, transactionCheckInterval: 1000}}
  P1:
    role: producer
    group: icbc
    traffic: {topic: Transfers, count: 1, start_ms: 1000, key: "transfer-{n}"}
    bank: {name: ICBC, account: A, opening: 100000, amount: 10000, way: WAY}
  C1: {role: consumer, group: ccb, topic: Transfers, bank: {name: CCB, account: B, opening: 0}}
topics: {Transfers: {queues: 1}}
"""


def short(way: str) -> Scenario:
    return parse_scenario(SHORT.replace("WAY", way), "short")


def balances(run: LabRun) -> dict[str, int]:
    """What the last commits left on the accounts that moved."""
    return {entry.account: entry.balance for entry in run.world.history.bank_entries}


def test_sending_first_gives_b_money_that_a_never_loses_when_the_producer_dies_after_send_ok() -> None:
    state = explore(NAIVE)
    finding = state.finding
    assert finding is not None
    assert state.bounded.schedules == 2, "the story as it is, then the first crash"
    (crash,) = finding.holds
    assert crash.stall.kind is StallKind.CRASH
    assert crash.stall.point.node == "P1"
    assert crash.caption["en"].startswith("P1 dies here, just before P1/sends Transfers «acquires the bank database lock»")
    assert crash.caption["zh"].startswith("P1 在这里被杀死")
    assert "CCB has credited B with 10000 (transfer-0)" in crash.meanwhile["en"]
    assert finding.violation.checker == "no-money-from-nowhere"
    assert [later.checker for later in finding.later] == ["money-is-conserved"]


def test_the_link_of_a_finding_with_a_crash_repeats_it_and_the_banks_never_agree_again() -> None:
    finding = found_by(NAIVE)
    recording = parse_link(finding.link)
    with LabRun(recording.scenario, recording.seed, recording.commands) as run:
        run.stand_at(recording.event, recording.time_us)
        assert run.violations == []
        run.stops_at_violations = True
        run.run_to_time(run.world.end_us)
        assert isinstance(run.stopped_by, Violation)
        assert run.stopped_by == finding.violation
        run.stops_at_violations = False
        run.run_to_time(run.world.end_us)
        assert [timed.command.kind for timed in run.commands] == ["crash", "restart"]
        assert balances(run) == {"A": 80_000, "B": 30_000}
    with LabRun.replay(parse_link(finding.end_link)) as run:
        assert finding.violation in run.violations


def test_without_crashes_a_hold_is_found_after_which_the_banks_agree_again() -> None:
    finding = found_by(NAIVE, max_crashes=0)
    assert [hold.stall.kind for hold in finding.holds] == [StallKind.HOLD]
    assert finding.violation.checker == "no-money-from-nowhere"
    assert finding.later == ()


def test_debiting_first_loses_money_which_shows_at_the_end_of_the_story() -> None:
    finding = found_by(short("debit-then-send"))
    assert finding.violation.checker == "money-is-conserved"
    assert finding.violation.anomaly == "skipped"
    assert [hold.stall.kind for hold in finding.holds] == [StallKind.CRASH]
    with LabRun.replay(parse_link(finding.end_link)) as run:
        assert run.is_over
        assert balances(run) == {"A": 90_000}


@pytest.mark.thorough
def test_by_transactional_message_no_crash_and_no_hold_breaks_anything() -> None:
    state = explore(short("transaction"), max_stalls=1, hold_ms=(50,), max_crashes=1, restart_ms=(100,), to_ms=1_100)
    assert state.finding is None
    assert state.is_complete
    one, two = state.bounded.by_depth[1:]
    assert one > 20, "each step of P1 and C1: a crash and a hold"
    assert two > 100, "a crash and a hold, in either order"


def test_a_process_that_never_starts_again_may_be_searched_too() -> None:
    finding = found_by(NAIVE, max_stalls=0, restart_ms=(FOR_EVER_MS,))
    (crash,) = finding.holds
    assert crash.stall.ms == FOR_EVER_MS
    assert "never restarts" in crash.caption["en"]
    with LabRun.replay(parse_link(finding.end_link)) as run:
        assert run.world.nodes["P1"].status == "crashed"


def test_a_bank_that_is_not_idempotent_credits_twice_when_it_dies_before_it_acknowledges() -> None:
    finding = found_by(short("transaction"), without=("idempotent-consumer",), max_stalls=0, crash=("consumers",))
    (crash,) = finding.holds
    assert crash.stall.point.node == "C1"
    assert finding.violation.anomaly == "duplicate"


@pytest.mark.parametrize(
    ("crash", "nodes"), [((), ("P1", "C1")), (("producers",), ("P1",)), (("C1", "producers"), ("C1", "P1"))]
)
def test_who_may_crash_can_be_chosen(crash: tuple[str, ...], nodes: tuple[str, ...]) -> None:
    assert make_plan(ExplorationRequest(NAIVE, crash=crash)).bounds.crash_nodes == nodes


def test_with_money_one_crash_and_one_hold_are_usual_from_the_first_transfer_on() -> None:
    plan = make_plan(ExplorationRequest(NAIVE))
    assert (plan.bounds.max_stalls, plan.bounds.max_crashes) == (1, 1)
    assert (plan.setting.begin_us, plan.setting.end_us) == (1_000_000, 9_000_000)
    assert plan.setting.last_us == NAIVE.duration_ms * 1_000


def test_orderly_consumers_may_crash_too_and_then_every_run_is_watched_to_its_end() -> None:
    ordered = load_scenario("two-consumers")
    plan = make_plan(ExplorationRequest(ordered, crash=("C1",), max_stalls=0))
    assert plan.setting.wanted == ORDER_CHECKERS
    assert plan.bounds.max_crashes == 1
    assert not ends_when_consumed(plan.setting)


def test_settings_count_from_the_beginning_and_are_in_the_link() -> None:
    settings = (("C1", "pull_batch_size", 1), ("P1", "send_msg_timeout_ms", 2_000))
    finding = found_by(NAIVE, settings=settings)
    recording = parse_link(finding.link)
    first = recording.commands[:2]
    assert [(timed.event, timed.command.kind, timed.command.value["value"]) for timed in first] == [
        (0, "setting", 1),
        (0, "setting", 2_000),
    ]
    assert recording.scenario.text == NAIVE.text
    with LabRun.replay(parse_link(finding.end_link)) as run:
        assert run.world.nodes["C1"].settings["pull_batch_size"] == 1
        assert finding.violation in run.violations


def test_switches_that_make_a_difference_are_named() -> None:
    assert useful_switches(NAIVE) == ("idempotent-consumer",)
    assert "broker-lock" in useful_switches(load_scenario("two-consumers"))
    assert useful_switches(load_scenario("producer-lost")) == ()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"max_crashes": 3}, "max_crashes is 3; allowed: 0 to 2"),
        ({"crash": ("B1",)}, "there is no node 'B1'; allowed: P1, C1, producers, consumers"),
        ({"restart_ms": (-1,)}, "restart_ms is -1"),
    ],
)
def test_a_crash_that_cannot_be_searched_is_refused_by_name(options: dict[str, object], problem: str) -> None:
    with pytest.raises(ExplorationRefused, match=problem):
        make_plan(ExplorationRequest(NAIVE, **options))  # type: ignore[arg-type]  # fields


def test_half_messages_are_searched_for_where_messages_are_sent_in_transactions() -> None:
    plan = make_plan(ExplorationRequest(load_scenario("producer-lost")))
    assert plan.setting.wanted == ("no-half-message-consumed", "half-messages-are-decided")
    assert set(make_plan(ExplorationRequest(TRANSACTION)).setting.wanted) > set(plan.setting.wanted)

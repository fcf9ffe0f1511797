"""What the search finds under each strategy of idempotence, and where it finds nothing in any schedule.

One order comes twice, 300 ms apart, for work that takes 100 ms: as long as nobody stands still or dies, all is well.
"""

from __future__ import annotations

from typing import Any

import pytest

from engine.lab.explorer.exploration import Counterexample, ExplorationState
from engine.lab.explorer.stall import StallKind
from engine.lab.scenario.scenario import Scenario
from engine.lab.scenario.scenario_text import parse_scenario
from tests.support.lab.exploring import explore

HEAD = """
title: {en: An order, zh: 一个订单}
about: {en: An order., zh: 一个订单。}
seed: 1
duration_ms: 20000
network: {latency_ms: 2}
topics: {Orders: {queues: 2}}
nodes:
  N1: {role: name_server}
  B1: {role: broker}
  D1: {role: database, stock: 9}
  P1:
    role: producer
    group: shop-producers
    traffic:
      - {topic: Orders, count: 1, start_ms: 1000, key: "order-{n}", queue: "0", properties: {order: "order-{n}"}}
"""
AGAIN = """
      - {topic: Orders, count: 1, start_ms: MS, key: "KEY-{n}", queue: "1", properties: {order: "order-{n}"}}
"""
CONSUMER = """
  NAME:
    role: consumer
    group: shop
    topic: Orders
    listener: LISTENER
    work: {database: D1}
    settings: {idempotence_strategy: STRATEGY, idempotence_key: "property:order" MORE}
"""


def consumer(name: str, strategy: str, listener: str = "{duration_ms: 100}", **more: Any) -> str:
    settings = "".join(f", {key}: {str(value).lower()}" for key, value in more.items())
    text = CONSUMER.replace("NAME", name).replace("LISTENER", listener).replace("STRATEGY", strategy)
    return text.replace(" MORE", settings)


def again(ms: int, key: str = "again") -> str:
    return AGAIN.replace("MS", str(ms)).replace("KEY", key).lstrip("\n")


def scenario(*parts: str) -> Scenario:
    return parse_scenario(HEAD + "".join(parts), "short")


def two_of(strategy: str, **settings: Any) -> Scenario:
    return scenario(again(1_300), consumer("C1", strategy, **settings), consumer("C2", strategy, **settings))


def one_of(strategy: str, listener: str = "{duration_ms: 100}") -> Scenario:
    return scenario(consumer("C1", strategy, listener))


def explore_early(story: Scenario, **options: Any) -> ExplorationState:
    return explore(story, **{"to_ms": 1_600, **options})


def found_in(story: Scenario, **options: Any) -> Counterexample:
    state = explore_early(story, **options)
    assert state.finding is not None
    assert state.bounded.by_depth[0] == 1, "undisturbed it goes well"
    return state.finding


def assert_nothing_in(story: Scenario, at_least: int, **options: Any) -> None:
    state = explore_early(story, **options)
    assert state.finding is None
    assert state.is_complete
    assert state.bounded.schedules >= at_least


def kinds_of(finding: Counterexample) -> list[StallKind]:
    return [hold.stall.kind for hold in finding.holds]


@pytest.mark.parametrize("strategy", ["check-then-act", "select-for-update"])
def test_a_check_that_locks_nothing_lets_a_duplicate_through_when_the_first_stands_still(strategy: str) -> None:
    finding = found_in(two_of(strategy), max_crashes=0)
    assert kinds_of(finding) == [StallKind.HOLD]
    assert finding.violation.checker == "work-done-once"


def test_a_lease_that_runs_out_while_the_work_goes_on_protects_it_no_more() -> None:
    finding = found_in(two_of("lease-lock", idempotence_expiry_ms=250), max_crashes=0)
    assert kinds_of(finding) == [StallKind.HOLD]
    assert finding.violation.checker == "work-done-once"


def test_a_record_that_expires_before_the_work_is_done_lets_two_work() -> None:
    finding = found_in(two_of("state-table", idempotence_expiry_ms=250), max_crashes=0)
    assert kinds_of(finding) == [StallKind.HOLD]
    assert finding.violation.checker == "work-done-once"


def test_a_set_in_memory_is_gone_with_its_process() -> None:
    finding = found_in(one_of("memory-set"), max_stalls=0)
    assert kinds_of(finding) == [StallKind.CRASH]
    assert finding.violation.checker == "work-done-once"


def test_a_key_that_is_set_first_loses_the_work_of_a_process_that_dies_and_does_none_twice() -> None:
    finding = found_in(two_of("setnx"), max_stalls=0)
    assert kinds_of(finding) == [StallKind.CRASH]
    assert finding.violation.checker == "acknowledged-work-is-done"
    assert_nothing_in(two_of("setnx"), 20, max_crashes=0)


def test_at_least_once_is_twice_when_the_process_dies_between_work_and_acknowledgement() -> None:
    finding = found_in(one_of("none"), max_stalls=0)
    assert kinds_of(finding) == [StallKind.CRASH]
    assert finding.violation.checker == "work-done-once"


def test_at_most_once_is_never_when_the_process_dies_between_acknowledgement_and_work() -> None:
    # The progress is stored 10 s after the consumer's start, while it is still at work.
    careless = one_of("none", "{duration_ms: 0, hand_over: true, hand_over_ms: 14000}")
    finding = found_in(careless, max_stalls=0, to_ms=15_500)
    assert kinds_of(finding) == [StallKind.CRASH]
    assert finding.violation.checker == "acknowledged-work-is-done"


@pytest.mark.thorough
def test_with_a_message_table_no_schedule_and_no_crash_does_it_twice_or_not_at_all() -> None:
    assert_nothing_in(two_of("message-table"), 500)


def test_exactly_once_is_at_least_once_with_a_message_table() -> None:
    assert_nothing_in(one_of("message-table"), 10, max_stalls=0)


def test_within_its_expiry_a_state_table_lets_nothing_through_whoever_stands_still() -> None:
    assert_nothing_in(two_of("state-table"), 20, max_crashes=0)


@pytest.mark.thorough
def test_within_its_expiry_a_state_table_lets_nothing_through_whoever_dies() -> None:
    assert_nothing_in(two_of("state-table"), 500, to_ms=1_450)


def late_finisher(*, checks_owner: bool) -> Scenario:
    """C1's work fails. Its record expires after 800 ms, C2 works for 600 ms from 2.0 s on, a third delivery comes."""
    settings = {"idempotence_expiry_ms": 800, "idempotence_checks_owner": checks_owner}
    failing = "{duration_ms: 100, result: later, fails_first: 1, only_keys: [order-0]}"
    return scenario(
        again(2_000),
        again(2_500, "third"),
        consumer("C1", "state-table", failing, **settings),
        consumer("C2", "state-table", "{duration_ms: 600}", **settings),
    )


def test_a_late_finisher_that_compares_no_owner_deletes_the_record_of_another() -> None:
    finding = found_in(late_finisher(checks_owner=False), max_crashes=0, hold_ms=(1_400,), to_ms=1_200)
    assert [(hold.stall.kind, hold.stall.point.node) for hold in finding.holds] == [(StallKind.HOLD, "C1")]
    assert finding.violation.checker == "work-done-once"


def test_a_late_finisher_with_a_token_of_its_own_keeps_its_hands_off() -> None:
    assert_nothing_in(late_finisher(checks_owner=True), 5, max_crashes=0, hold_ms=(1_400,), to_ms=1_200)

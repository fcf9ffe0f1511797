"""What the search has to find, and what it must not find: the table of the three locks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.lab.checkers import Violation
from engine.lab.explorer.exploration import Counterexample, Exploration
from engine.lab.explorer.plan import ExplorationRefused, ExplorationRequest, explain_nothing, make_plan
from engine.lab.explorer.stage import ORDER_CHECKERS, ends_when_consumed
from engine.lab.run.recording import parse_link
from engine.lab.run.run import LabRun
from engine.lab.scenario.errors import CommandRefused, LabError
from engine.lab.scenario.scenario import Scenario
from engine.lab.scenario.scenario_files import load_scenario

SCENARIO = load_scenario("two-consumers")
THREE_LOCKS = load_scenario("three-locks")


def explore(scenario: Scenario = SCENARIO, **options: object) -> Exploration:
    exploration = Exploration(make_plan(ExplorationRequest(scenario, **options)))  # type: ignore[arg-type]  # fields
    for _ in exploration.steps():
        pass
    return exploration


def found_by(scenario: Scenario = SCENARIO, **options: object) -> Counterexample:
    finding = explore(scenario, **options).state.finding
    assert finding is not None
    return finding


@pytest.mark.parametrize(
    ("scenario", "options", "schedules"),
    [
        (SCENARIO, {"without": ("broker-lock",)}, 1),
        (SCENARIO, {"without": ("process-queue-lock",)}, 13),
        (SCENARIO, {"without": ("message-queue-lock", "consuming-flag")}, 11),
        (THREE_LOCKS, {"without": ("message-queue-lock",), "forced_unlocks": ((5_000, "C1", 0),), "max_stalls": 0}, 1),
        (SCENARIO, {"max_stalls": 1, "pause_ms": (90_000,)}, 14),
    ],
    ids=["broker lock", "consume lock", "local lock, dispatch per pull", "local lock, forced unlock", "lease"],
)
def test_what_is_not_protected_is_broken_by_at_most_three_holds_that_a_link_repeats(
    scenario: Scenario, options: dict[str, object], schedules: int
) -> None:
    state = explore(scenario, **options).state
    finding = state.finding
    assert finding is not None
    assert state.search.schedules == schedules
    assert len(finding.holds) <= 3
    assert finding.violation.checker in ORDER_CHECKERS
    assert finding.violation.anomaly in ("duplicate", "out of order")
    recording = parse_link(finding.link)
    with LabRun(recording.scenario, recording.seed, recording.commands) as run:
        run.stand_at(recording.event, recording.time_us)
        assert run.violations == []
        run.stops_at_violations = True
        run.run_to_time(run.world.end_us)
        assert isinstance(run.stopped_by, Violation)
        assert run.stopped_by == finding.violation
        holds = [timed.command.kind for timed in run.commands if timed.command.kind in ("hold", "pause-node")]
        assert len(holds) == len(finding.holds)
    with LabRun.replay(parse_link(finding.end_link)) as run:
        assert finding.violation in run.violations


@pytest.mark.thorough
def test_with_all_locks_on_no_schedule_of_up_to_two_stalls_breaks_anything() -> None:
    # While the queue changes hands; `glassmq explore two-consumers` runs those of the whole window.
    state = explore(max_stalls=2, from_ms=405, to_ms=440).state
    assert state.finding is None
    assert state.unconfirmed == 0
    assert state.bounded.is_complete
    assert state.bounded.schedules == sum(state.bounded.by_depth) > 100
    assert all(count > 0 for count in state.bounded.by_depth)


def test_without_the_local_lock_alone_nothing_breaks_and_the_search_says_why() -> None:
    exploration = explore(without=("message-queue-lock",), max_stalls=1)
    assert exploration.state.finding is None
    assert exploration.state.bounded.is_complete
    why = explain_nothing(exploration.plan, ("message-queue-lock",))
    assert why is not None
    assert "consuming" in why["en"]
    assert "consuming" in why["zh"]


@pytest.mark.parametrize(
    ("scenario", "options"),
    [
        (SCENARIO, {"without": ("consuming-flag",), "max_stalls": 1}),
        (THREE_LOCKS, {"forced_unlocks": ((5_000, "C1", 0),), "max_stalls": 0}),
    ],
    ids=["dispatch per pull", "forced unlock"],
)
def test_it_is_the_missing_local_lock_that_breaks_the_order_with_it_nothing_happens(
    scenario: Scenario, options: dict[str, object]
) -> None:
    state = explore(scenario, **options).state
    assert state.finding is None
    assert state.unconfirmed == 0
    assert state.bounded.is_complete


def test_a_forced_unlock_that_a_stall_makes_impossible_is_left_out_of_that_schedule() -> None:
    assert len(found_by(forced_unlocks=((424, "C1", 1),), max_stalls=1).holds) == 1
    with pytest.raises(CommandRefused, match="C2 does not own queue 1"):
        explore(forced_unlocks=((424, "C2", 1),), max_stalls=1)


def test_a_run_in_which_a_message_is_never_consumed_is_watched_to_its_end() -> None:
    # In this scenario a message becomes a dead letter, and the next one may begin.
    state = explore(load_scenario("blocked-queue"), max_stalls=1, max_schedules=2).state
    assert state.finding is None
    assert state.unconfirmed == 0
    assert state.bounded.by_depth == [1, 1]


@pytest.mark.parametrize(
    ("changes", "does_end"),
    [({}, True), ({"model": "broadcasting"}, False), ({"orderly": False}, False), ({"stop_ms": 900}, False)],
)
def test_a_run_ends_early_only_where_one_member_at_a_time_gets_each_message(
    changes: dict[str, object], does_end: bool
) -> None:
    plan = make_plan(ExplorationRequest(SCENARIO))
    nodes = tuple(replace(node, **changes) if node.name == "C2" else node for node in SCENARIO.nodes)  # type: ignore[arg-type]  # fields
    assert ends_when_consumed(replace(plan.setting, scenario=replace(SCENARIO, nodes=nodes))) is does_end


def test_a_search_is_not_complete_when_something_broke_that_no_recording_repeats() -> None:
    state = explore(max_stalls=0).state
    assert state.is_complete
    state.unconfirmed = 1
    assert not state.is_complete
    assert state.to_dict()["is_complete"] is False


def test_a_pause_shorter_than_the_lease_breaks_nothing() -> None:
    state = explore(max_stalls=1, pause_ms=(20_000,)).state
    assert state.finding is None
    assert state.bounded.is_complete


def test_other_checkers_than_those_of_order_may_be_searched_for() -> None:
    plan = make_plan(ExplorationRequest(SCENARIO, without=("broker-lock",), max_stalls=0))
    plan = replace(plan, setting=replace(plan.setting, wanted=("one-consumption-per-queue",)))
    exploration = Exploration(plan)
    for _ in exploration.steps():
        pass
    assert exploration.state.finding is not None
    assert exploration.state.finding.violation.checker == "one-consumption-per-queue"


@pytest.mark.thorough
def test_random_schedules_follow_when_the_bounded_search_finds_nothing() -> None:
    state = explore(without=("message-queue-lock", "consuming-flag"), max_stalls=0, random_schedules=400).state
    assert state.is_random
    assert state.finding is not None
    assert 1 <= len(state.finding.holds) <= 3


def test_the_stall_of_a_finding_is_as_short_as_it_still_breaks() -> None:
    (hold,) = found_by(without=("process-queue-lock",)).holds
    assert 1_000 < hold.stall.ms < 2_000, "longer than a rebalance waits, shorter than what was searched with"


def test_a_finding_has_a_caption_in_both_languages_for_every_hold() -> None:
    for hold in found_by(without=("process-queue-lock",)).holds:
        for language in ("en", "zh"):
            assert "C1/worker" in hold.caption[language]
            assert "C2" in hold.meanwhile[language]
        assert hold.caption["en"] != hold.caption["zh"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"without": ("no-lock",)}, "there is no lock 'no-lock'"),
        ({"max_stalls": 9}, "max_stalls is 9; allowed: 0 to 3"),
        ({"hold_ms": (0,)}, "ms is 0; allowed: 1 to"),
        ({"hold_ms": (1, 2, 3), "pause_ms": (4, 5)}, "durations is 5"),
        ({"from_ms": 200_000}, "the scenario lasts 150000 ms"),
        ({"max_schedules": 0}, "schedules is 0"),
        ({"forced_unlocks": ((418, "C9", 1),)}, "there is no node 'C9'; allowed: C1, C2"),
    ],
)
def test_what_cannot_be_searched_is_refused_by_name(options: dict[str, object], problem: str) -> None:
    with pytest.raises(ExplorationRefused) as caught:
        make_plan(ExplorationRequest(SCENARIO, **options))  # type: ignore[arg-type]  # fields
    assert problem in str(caught.value)
    assert caught.value.text["zh"] != caught.value.text["en"]


def test_a_scenario_without_orderly_consumers_is_refused() -> None:
    with pytest.raises(LabError, match="hello has no ordered consumers"):
        make_plan(ExplorationRequest(load_scenario("hello")))

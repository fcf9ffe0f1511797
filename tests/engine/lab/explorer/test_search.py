from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.lab.explorer.exploration import Exploration
from engine.lab.explorer.pct import PctSearch
from engine.lab.explorer.plan import ExplorationRequest, make_plan
from engine.lab.explorer.search import SearchBounds, SearchBranch, StallSearch
from engine.lab.explorer.shrink import shorten
from engine.lab.explorer.spread_search import cut_into_pieces
from engine.lab.explorer.stall import Stall, StallKind, Stalls, StepPoint
from engine.lab.run.spread import spread_here
from engine.lab.scenario.scenario_files import load_scenario
from tests.engine.lab.explorer.races import executor_of, lost_update, no_race, two_doors


def first_found(search: StallSearch | PctSearch) -> Stalls:
    return next(found for found in search.run() if found is not None)


def test_a_bug_of_one_untimely_pause_is_found_with_one_stall() -> None:
    found = first_found(StallSearch(executor_of(lost_update), SearchBounds()))
    assert found == (Stall(StepPoint("A/worker", "writes the counter", 1), 2_000),)


def test_a_bug_of_two_pauses_is_found_with_two_stalls_and_not_with_one() -> None:
    search = StallSearch(executor_of(two_doors), SearchBounds(max_stalls=2))
    found = first_found(search)
    assert [stall.point.label for stall in found] == ["closes the door", "closes the door"]
    assert {stall.point.actor for stall in found} == {"A/worker", "B/worker"}
    bounded = StallSearch(executor_of(two_doors), SearchBounds(max_stalls=1))
    assert [one for one in bounded.run() if one] == []
    assert bounded.state.is_complete


def test_a_complete_search_has_run_every_set_of_stalls_exactly_once() -> None:
    execute = executor_of(no_race)
    seen: dict[Stalls, None] = {}

    def count(stalls: Stalls) -> object:
        assert stalls not in seen
        seen[stalls] = None
        return execute(stalls)

    search = StallSearch(count, SearchBounds(max_stalls=2))  # type: ignore[arg-type]  # hands the outcome on
    assert list(search.run()) == [None] * search.state.schedules
    assert search.state.is_complete
    # Four steps: one schedule without a stall, four with one; pairs in each order in which they can come about.
    assert search.state.by_depth[:2] == [1, 4]
    assert {frozenset(stall.point for stall in stalls) for stalls in seen if len(stalls) == 2} >= {
        frozenset({StepPoint("A/worker", "counts", 1), StepPoint("B/worker", "adds to the counter", 1)}),
        frozenset({StepPoint("A/worker", "adds to the counter", 1), StepPoint("A/worker", "counts", 1)}),
    }


def test_a_schedule_has_no_more_crashes_and_no_more_stalls_than_asked_for_and_only_chosen_nodes_crash() -> None:
    execute = executor_of(no_race)
    seen: list[Stalls] = []

    def count(stalls: Stalls) -> object:
        seen.append(stalls)
        # The race knows holds only; where the search goes on is what counts here.
        return execute(tuple(stall._replace(kind=StallKind.HOLD) for stall in stalls))

    bounds = SearchBounds(max_stalls=1, max_crashes=1, crash_nodes=("A",), restart_ms=(2_000,))
    search = StallSearch(count, bounds)  # type: ignore[arg-type]  # hands the outcome on
    assert list(search.run()) == [None] * len(seen)
    assert search.state.is_complete
    assert len(dict.fromkeys(seen)) == len(seen)
    kinds = {tuple(sorted(stall.kind.value for stall in stalls)) for stalls in seen}
    assert kinds == {(), ("hold",), ("crash",), ("crash", "hold")}
    assert {stall.point.node for stalls in seen for stall in stalls if stall.kind is StallKind.CRASH} == {"A"}
    # A hold at each of the four steps, a crash at each of the two of A.
    assert search.state.by_depth[1] == 6
    assert search.state.planned == search.state.done == search.state.by_depth[2]


def test_a_search_ends_at_its_bound_of_schedules_and_says_that_it_is_not_complete() -> None:
    search = StallSearch(executor_of(no_race), SearchBounds(max_stalls=2, max_schedules=3))
    assert len(list(search.run())) == 3
    assert not search.state.is_complete


def test_a_stall_of_the_whole_node_lasts_as_long_as_asked_for() -> None:
    execute = executor_of(lost_update)
    point = StepPoint("A/worker", "writes the counter", 1)
    assert execute((Stall(point, 4, kind=StallKind.PAUSE),)).violation is None
    outcome = execute((Stall(point, 6, kind=StallKind.PAUSE),))
    assert outcome.violation is not None
    assert [(timed.command.kind, timed.command.target) for timed in outcome.commands] == [
        ("pause-node", "A"),
        ("resume-node", "A"),
    ]


def test_random_schedules_find_the_bug_of_two_pauses_as_stalls() -> None:
    found = first_found(PctSearch(executor_of(two_doors), seed=1, schedules=2_000))
    assert executor_of(two_doors)(found).violation is not None


def test_random_schedules_repeat_with_their_seed() -> None:
    runs = []
    for _ in range(2):
        search = PctSearch(executor_of(two_doors), seed=3, schedules=50)
        runs.append(list(search.run()))
    assert runs[0] == runs[1]


@pytest.mark.parametrize("race", [lost_update, two_doors])
def test_a_found_stall_is_made_as_short_as_it_still_breaks(race: object) -> None:
    execute = executor_of(race)  # type: ignore[arg-type]  # a race
    found = first_found(StallSearch(execute, SearchBounds()))
    shorter = shorten(found, lambda stalls: execute(stalls).violation is not None)
    assert execute(shorter).violation is not None
    assert sum(stall.ms for stall in shorter) <= 100


# --- elsewhere -------------------------------------------------------------------------------------------------------


def test_a_shared_search_runs_the_same_schedules_in_the_same_order():
    plan = make_plan(ExplorationRequest(load_scenario("two-consumers"), max_stalls=1, pause_ms=(3_000,)))

    def steps_of(spread):
        exploration = Exploration(plan, spread=spread)
        seen = [exploration.state.search.events for _ in exploration.steps()]
        return seen, exploration.state.to_dict()

    def backwards(function, items):
        """Workers hand their pieces in in any order."""
        yield from reversed(list(spread_here(function, items)))

    assert steps_of(backwards) == steps_of(None)


@given(st.lists(st.integers(0, 30), max_size=12), st.integers(1, 12))
def test_pieces_have_every_point_once_in_order(sizes, least):
    branches = [
        SearchBranch((), tuple(StepPoint("C1/worker-0", f"{branch}", number) for number in range(size)))
        for branch, size in enumerate(sizes)
    ]
    pieces = cut_into_pieces(branches, least)
    points = [point for piece in pieces for branch in piece for point in branch.points]
    assert points == [point for branch in branches for point in branch.points]
    assert all(sum(len(branch.points) for branch in piece) == least for piece in pieces[:-1])

from __future__ import annotations

import pytest

from app.foundation.forked_processes import ForkedProcesses
from engine.lab.explorer.exploration import Exploration
from engine.lab.explorer.forked_search import StallTree
from engine.lab.explorer.plan import ExplorationRequest, make_plan
from engine.lab.explorer.stall import Stall, StallKind, StepPoint
from engine.lab.scenario.scenario_files import load_scenario

REPLY = "reply to SEND_MESSAGE_V2"


def story_of(plan, processes):
    """What the search has counted after each schedule, and what it says in the end."""
    forks = ForkedProcesses(processes) if processes else None
    exploration = Exploration(plan, forks=forks)
    seen = [(exploration.state.search.schedules, exploration.state.search.events) for _ in exploration.steps()]
    return seen, exploration.state.to_dict()


@pytest.mark.parametrize(
    ("scenario", "options"),
    [
        pytest.param(
            "two-consumers",
            {"max_stalls": 1, "pause_ms": (3_000,), "hold_ms": (2_000, 50), "to_ms": 420},
            marks=pytest.mark.thorough,
        ),
        pytest.param("two-consumers", {"max_stalls": 2, "to_ms": 417}, marks=pytest.mark.thorough),
        ("two-consumers", {"max_stalls": 1, "without": ("process-queue-lock",)}),
        ("bank-naive", {}),
        ("bank-naive", {"max_losses": 2, "max_crashes": 1, "max_stalls": 1, "lose": (REPLY,), "max_schedules": 60}),
        pytest.param(
            "bank-transaction",
            {"max_losses": 1, "max_crashes": 1, "max_stalls": 0, "to_ms": 1_300, "max_schedules": 40},
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_a_search_that_forks_has_the_same_outcomes_in_the_same_order(scenario, options):
    plan = make_plan(ExplorationRequest(load_scenario(scenario), **options))
    from_the_beginning = story_of(plan, 0)
    assert [story_of(plan, processes) for processes in (1, 3)] == [from_the_beginning] * 2


def test_schedules_that_begin_alike_share_their_way():
    first, second, third = (Stall(StepPoint("C1/worker", label, 1), 2_000) for label in "abc")
    longer = first._replace(ms=5_000)
    crash = first._replace(kind=StallKind.CRASH)
    tree = StallTree()
    for place, stalls in enumerate([(first,), (longer,), (crash,), (first, second), (first, third)]):
        tree.add(stalls, place)
    at_first = tree.further[first.point]
    assert [(stall, below.place) for stall, below in at_first] == [(first, 0), (longer, 1), (crash, 2)]
    below = at_first[0][1]
    assert [(point.label, [way.place for _, way in ways]) for point, ways in below.further.items()] == [
        ("b", [3]),
        ("c", [4]),
    ]

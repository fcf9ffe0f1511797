"""The rehearsal does what the stage does, step by step."""

from __future__ import annotations

import pytest

from engine.lab.explorer.exploration import Where
from engine.lab.explorer.gated_run import Outcome
from engine.lab.explorer.plan import ExplorationRequest, make_plan
from engine.lab.explorer.rehearsal import Rehearsal, can_rehearse
from engine.lab.explorer.stage import execute_on_stage
from engine.lab.explorer.stall import Stall, Stalls
from engine.lab.scenario.errors import LabError
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.scenario.scenario_text import parse_scenario
from engine.runtime.lab.lab_actor import lab_step
from engine.runtime.lab.lab_short_cuts import LabShortCuts

PLAN = make_plan(ExplorationRequest(load_scenario("two-consumers")))


def order_steps(outcome: Outcome) -> list[tuple[str, str]]:
    """The steps up to the first renewal of locks: after it comes the retry topic, which the rehearsal leaves out."""
    steps = [(point.actor, point.label) for point in outcome.points]
    renewal = next(index for index, (actor, _) in enumerate(steps) if "lock renewal" in actor)
    return steps[:renewal]


def test_without_stalls_every_step_comes_in_the_same_order() -> None:
    rehearsed, staged = Rehearsal(PLAN.setting).execute(()), execute_on_stage(PLAN.setting, ())
    assert len(order_steps(rehearsed)) > 20
    assert order_steps(rehearsed) == order_steps(staged)


@pytest.mark.parametrize("index", [3, 11, 17, 23, 30])
def test_with_a_short_stall_too(index: int) -> None:
    rehearsal = Rehearsal(PLAN.setting)
    stalls: Stalls = (Stall(rehearsal.execute(()).points[index], 7),)
    assert order_steps(rehearsal.execute(stalls)) == order_steps(execute_on_stage(PLAN.setting, stalls))


def test_the_same_stalls_lead_to_the_same_schedule() -> None:
    rehearsal = Rehearsal(PLAN.setting)
    stalls: Stalls = (Stall(rehearsal.execute(()).points[12], 2_000),)
    assert rehearsal.execute(stalls) == rehearsal.execute(stalls)


def test_short_cuts_through_the_loop_change_no_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    rehearsal = Rehearsal(PLAN.setting)
    points = rehearsal.execute(()).points
    schedules: list[Stalls] = [(), *((Stall(point, ms),) for point in points[::4] for ms in (7, 2_000))]
    with_short_cuts = [rehearsal.execute(stalls) for stalls in schedules]
    monkeypatch.setattr(LabShortCuts, "_step", lambda self, label: lab_step(label))
    monkeypatch.setattr(LabShortCuts, "pass_time", lambda self, delay_us: False)
    for stalls, short in zip(schedules, with_short_cuts, strict=True):
        long = rehearsal.execute(stalls)
        assert short.steps == long.steps
        assert short.later == long.later
        assert [(begun.stall, begun.time_us) for begun in short.begun] == [
            (begun.stall, begun.time_us) for begun in long.begun
        ]
        assert short.violation == long.violation
        assert short.events < long.events


@pytest.mark.parametrize(
    ("name", "where"),
    [("two-consumers", Where.REHEARSAL), ("three-locks", Where.REHEARSAL), ("lock-expiry", Where.REHEARSAL)],
)
def test_scenarios_of_order_can_be_rehearsed(name: str, where: Where) -> None:
    assert make_plan(ExplorationRequest(load_scenario(name), to_ms=20_000, from_ms=1_000)).world is where


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("latency_ms: 2", "bytes_per_s: 1000000, latency_ms: 2"),
        ("topic: Orders, count", "batch: 4, topic: Orders, count"),
    ],
)
def test_narrow_links_and_batches_are_not_rehearsed(old: str, new: str) -> None:
    text = load_scenario("two-consumers").text
    assert can_rehearse(make_plan(ExplorationRequest(parse_scenario(text, "two"), to_ms=20_000, from_ms=1_000)).setting)
    assert old in text
    changed = parse_scenario(text.replace(old, new), "two")
    assert not can_rehearse(make_plan(ExplorationRequest(changed, to_ms=20_000, from_ms=1_000)).setting)


def test_what_the_rehearsal_does_not_know_is_searched_on_the_stage() -> None:
    scenario = load_scenario("selector-and-queue-count")
    setting = make_plan(ExplorationRequest(scenario, from_ms=1_000)).setting
    assert not can_rehearse(setting)
    with pytest.raises(LabError, match="search it on the stage"):
        Rehearsal(setting)

"""Going on in place changes nothing in what happens, when, and in which order."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.runtime.lab.lab_loop import LabLoop
from engine.runtime.lab.lab_short_cuts import LabShortCuts
from engine.runtime.step import step

#: What a task does one after the other: 0: a step, else: it waits for so many milliseconds.
PROGRAMS = st.lists(st.lists(st.integers(0, 3), max_size=8), min_size=1, max_size=4)


def play(programs, *, takes_short_cuts, stop_at=None):
    """Who did what and when, in order."""
    loop = LabLoop.new()
    short_cuts = LabShortCuts(loop) if takes_short_cuts else None
    trace: list[tuple[int, str, int]] = []

    async def wait(ms):
        if short_cuts is None or not short_cuts.pass_time(ms * 1_000):
            await asyncio.sleep(ms / 1_000)

    async def work(name, program):
        for number, ms in enumerate(program):
            if ms:
                await wait(ms)
            else:
                await step("acts")
            trace.append((loop.now_us, name, number))

    for index, program in enumerate(programs):
        loop.create_task(work(f"t{index}", program), name=f"t{index}")
    stop = None if stop_at is None else (lambda: len(trace) >= stop_at)
    loop.run_events(1_000, 1_000_000, stop)
    loop.close()
    return trace


@given(PROGRAMS)
@settings(max_examples=60, deadline=None)
def test_everything_happens_at_the_same_time_and_in_the_same_order(programs):
    assert play(programs, takes_short_cuts=True) == play(programs, takes_short_cuts=False)


@given(PROGRAMS, st.integers(1, 6))
@settings(max_examples=40, deadline=None)
def test_a_run_that_is_to_stop_does_not_go_on_in_place(programs, stop_at):
    assert play(programs, takes_short_cuts=True, stop_at=stop_at) == play(
        programs, takes_short_cuts=False, stop_at=stop_at
    )


def test_steps_of_an_actor_that_is_alone_take_one_trip_but_count_as_events():
    loop = LabLoop.new()
    LabShortCuts(loop)
    done: list[str] = []

    async def work():
        for label in ("one", "two", "three"):
            await step(label)
            done.append(label)

    task = loop.create_task(work(), name="a")
    loop.run_events(4, stop=lambda: done == ["one", "two", "three"])
    assert done == ["one", "two", "three"]
    assert loop.event_number == 4
    assert task.actor.steps == 4
    loop.close()


def test_no_more_events_run_in_place_than_were_asked_for():
    loop = LabLoop.new()
    LabShortCuts(loop)

    async def spin():
        while True:
            await step("spins")

    loop.create_task(spin(), name="a")
    assert loop.run_events(50) == 50
    assert loop.event_number == 50
    loop.close()


def test_a_gate_is_asked_before_a_step_that_goes_on_in_place_and_may_stop_there():
    loop = LabLoop.new()
    LabShortCuts(loop)
    done: list[str] = []

    async def work():
        for label in ("one", "two", "three"):
            await step(label)
            done.append(label)

    loop.create_task(work(), name="a")
    loop.schedule.gate = lambda event: event.label != "two"
    loop.run_events(100)
    assert loop.schedule.stopped_by_gate
    assert done == ["one"]
    loop.schedule.gate = None
    loop.run_events(100)
    assert done == ["one", "two", "three"]
    loop.close()


def test_nothing_goes_on_in_place_on_a_node_that_the_gate_has_crashed():
    loop = LabLoop.new()
    LabShortCuts(loop)
    done: list[str] = []
    node = loop.start_node("B")

    async def work():
        for label in ("one", "two"):
            await step(label)
            done.append(label)

    def crash(event):
        if event.label == "two":
            loop.crash(node)
        return True

    loop.create_task(work(), name="b", node=node)
    loop.schedule.gate = crash
    loop.run_events(100)
    assert done == ["one"]
    loop.close()


@pytest.mark.parametrize(
    ("timer_ms", "until_ms", "passes"),
    [(None, 100, True), (11, 100, True), (10, 100, False), (9, 100, False), (None, 10, True), (None, 9, False)],
)
def test_time_passes_in_place_only_when_nothing_else_is_due_before(timer_ms, until_ms, passes):
    loop = LabLoop.new()
    short_cuts = LabShortCuts(loop)
    answers: list[tuple[bool, int]] = []

    async def work():
        answers.append((short_cuts.pass_time(10_000), loop.now_us))

    if timer_ms is not None:
        loop.call_later(timer_ms / 1_000, int)
    loop.create_task(work(), name="a")
    loop.run_events(2, until_ms * 1_000)
    assert answers == [(passes, 10_000 if passes else 0)]
    loop.close()


def test_a_world_whose_events_somebody_wants_to_see_takes_none():
    loop = LabLoop.new()
    loop.on_event = print
    with pytest.raises(AssertionError, match="every event"):
        LabShortCuts(loop)
    loop.close()

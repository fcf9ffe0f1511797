"""Small worlds with known bugs, for tests of the search."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from engine.lab.checkers.watch.violation import Anomaly, Violation
from engine.lab.explorer.gated_run import GatedRun, PlannedStalls, ScheduleOutcome
from engine.lab.explorer.search import Execute
from engine.lab.explorer.stall import Stalls
from engine.lab.scenario.scenario import Command
from engine.runtime.lab.lab_loop import LabLoop
from engine.runtime.step import step

END_US = 20_000_000

#: The state of a race, and the tasks by the node on which each runs.
Race = Callable[[dict[str, int]], dict[str, Coroutine[Any, Any, None]]]


class StateWatch:
    """Violated is what sets ``state["broken"]``."""

    def __init__(self, loop: LabLoop, state: dict[str, int]) -> None:
        self._loop = loop
        self._state = state

    def has_news(self) -> object:
        return self._state.get("broken")

    def look(self) -> Violation | None:
        if not self._state.get("broken"):
            return None
        texts = {"en": "", "zh": ""}
        return Violation("race", Anomaly.BROKEN_CODE, self._loop.event_number, self._loop.now_us, {}, (), texts)

    def is_done(self) -> bool:
        return False


def executor_of(race: Race) -> Execute:
    """Runs schedules of ``race``; its bug shows when ``state["broken"]`` is set."""

    def execute(stalls: Stalls) -> ScheduleOutcome:
        loop = LabLoop.new()
        state: dict[str, int] = {}
        works = race(state)
        for name, work in works.items():
            loop.create_task(work, name="worker", node=loop.start_node(name))

        def apply(command: Command) -> None:
            if command.kind == "hold":
                tasks = [task for node in loop.nodes.values() for task in node.tasks]
                actor = next(task.actor for task in tasks if task.actor.name == command.target)
                duration_ms = command.value["ms"]
                assert isinstance(duration_ms, int)
                loop.hold(actor, duration_ms * 1_000)
            elif command.kind == "pause-node":
                loop.pause(loop.nodes[command.target])
            else:
                loop.resume(loop.nodes[command.target])

        try:
            return GatedRun(loop, [*works], PlannedStalls(stalls), apply=apply, watch=StateWatch(loop, state)).run(
                0, END_US
            )
        finally:
            loop.close()

    return execute


def lost_update(state: dict[str, int]) -> dict[str, Coroutine[Any, Any, None]]:
    """Two tasks add one to a counter, 5 ms apart. One stall between reading and writing loses an update."""
    state["counter"] = state["done"] = 0

    async def add(after_ms: int) -> None:
        await asyncio.sleep(after_ms / 1_000)
        await step("reads the counter")
        counter = state["counter"]
        await step("writes the counter")
        state["counter"] = counter + 1
        state["done"] += 1
        state["broken"] = state["done"] == 2 and state["counter"] != 2

    return {"A": add(0), "B": add(5)}


def two_doors(state: dict[str, int]) -> dict[str, Coroutine[Any, Any, None]]:
    """Two doors that are open for a moment, 10 ms apart; it takes two stalls that somebody finds both open."""

    async def open_door(name: str, after_ms: int) -> None:
        await asyncio.sleep(after_ms / 1_000)
        await step("opens the door")
        state[name] = 1
        await step("closes the door")
        state[name] = 0

    async def look() -> None:
        await asyncio.sleep(0.02)
        await step("looks")
        state["broken"] = state.get("left", 0) and state.get("right", 0)

    return {"A": open_door("left", 0), "B": open_door("right", 10), "C": look()}


def no_race(state: dict[str, int]) -> dict[str, Coroutine[Any, Any, None]]:
    """The counter of :func:`lost_update`, added to without a step in between."""
    state["counter"] = state["done"] = 0

    async def add(after_ms: int) -> None:
        await asyncio.sleep(after_ms / 1_000)
        await step("adds to the counter")
        state["counter"] += 1
        await step("counts")
        state["done"] += 1
        state["broken"] = state["done"] == 2 and state["counter"] != 2

    return {"A": add(0), "B": add(5)}

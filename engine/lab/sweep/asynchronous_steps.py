"""Benefit and cost of asynchronous steps: how long the caller waits, and how long the work lags behind the answer.

From the scenario ``asynchronous-steps``: SYNC requests a shop that calls three services, ASYNC sends a message that
three groups consume. A service that is dead for a while divides the orders into two periods.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario import Scenario


class StepFigures(NamedTuple):
    """One variant in one period. Times are in microseconds.

    :ivar orders: how many were requested.
    :ivar answered_us: for each confirmed order, how long its caller waited.
    :ivar lags_us: for each step, how long after that answer it was done; negative: before it.
    :ivar half_done: orders that were not confirmed, but were partly done.
    :ivar again: steps that were done for an order a second time.
    """

    way: str
    is_healthy: bool
    orders: int
    answered_us: Sequence[int]
    lags_us: Sequence[int]
    half_done: int
    again: int


def step_figures(scenario: Scenario) -> list[StepFigures]:
    """Return both variants in both periods."""
    down, up = (line.at_ms * 1_000 for line in scenario.script)
    with LabRun(scenario, check=False) as run:
        run.run_to_time(run.world.end_us)
        history = run.world.history
        begun = {entry.key: entry.time_us for entry in history.sends_invoked}
        answered = {each.key: each.time_us for each in history.sends_returned if each.detail == "SEND_OK"}
        for each in history.requests_returned:
            answered.pop(each.key, None)
            if each.status == "replied":
                answered[each.key] = each.time_us
        done: dict[str, list[tuple[str, int]]] = {key: [] for key in begun}
        for work in history.work_done:
            done[work.key].append((work.effect, work.time_us))
    figures: list[StepFigures] = []
    for way in ("sync", "async"):
        for is_healthy in (True, False):
            keys = [
                key
                for key, time_us in begun.items()
                if key.startswith(f"{way}-") and (time_us < down - 1_000_000 or time_us > up) is is_healthy
            ]
            confirmed = [key for key in keys if key in answered]
            figures.append(
                StepFigures(
                    way,
                    is_healthy,
                    len(keys),
                    [answered[key] - begun[key] for key in confirmed],
                    [time_us - answered[key] for key in confirmed for time_us in dict(reversed(done[key])).values()],
                    sum(key not in answered and bool(done[key]) for key in keys),
                    sum(len(done[key]) - len(dict(done[key])) for key in keys),
                )
            )
    return figures

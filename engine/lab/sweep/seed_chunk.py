"""A portion of a sweep: consecutive seeds, run one after the other by one process.

    summary = run_chunk(SeedTask("general", text, random_faults=True), SeedRange(1, 20))

Processes of this machine and executors of a cluster call the same function with the same few values; the result depends
on nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from engine.lab.explorer.shrink import ddmin
from engine.lab.run.spread import silence_logging
from engine.lab.scenario.errors import LabError
from engine.lab.scenario.scenario import NodeSetting, Scenario
from engine.lab.scenario.scenario_text import parse_scenario
from engine.lab.sweep.fault_plan import PlannedFault, draw_faults
from engine.lab.sweep.sweep import run_seed, run_with_faults
from engine.lab.sweep.sweep_summary import SweepCounterexample, SweepSummary

#: Most runs for shortening one counterexample.
SHORTEN_TRIES_MAX = 60


class SeedRange(NamedTuple):
    """The seeds from ``first`` on, ``size`` of them."""

    first: int
    size: int

    @property
    def end(self) -> int:
        """Return the seed after the last."""
        return self.first + self.size


class SeedTask(NamedTuple):
    """The work to do for each seed. ``scenario``: its name; ``text``: its YAML; ``settings``: from the beginning on."""

    scenario: str
    text: str
    random_faults: bool
    settings: tuple[NodeSetting, ...] = ()


def run_chunk(task: SeedTask, seeds: SeedRange) -> SweepSummary:
    """Return the summary of ``seeds``. A seed that cannot be run to its end is reported, and does not prevent the
    others.
    """
    silence_logging()
    scenario = _scenario(task.scenario, task.text)
    summary = SweepSummary()
    for seed in range(seeds.first, seeds.end):
        try:
            summary.add(run_seed(scenario, seed, random_faults=task.random_faults, settings=task.settings))
        except LabError as error:
            summary.add_unfinished(seed, str(error))
    return summary


def cut_into_chunks(seeds: SeedRange, done: Sequence[SeedRange], size: int) -> Iterator[SeedRange]:
    """Yield ``seeds`` without what is ``done``, in portions of at most ``size``."""
    assert size > 0, "a portion has seeds"
    at = seeds.first
    for gone in [*sorted(done), SeedRange(seeds.end, 0)]:
        until = min(gone.first, seeds.end)
        while at < until:
            portion = SeedRange(at, min(size, until - at))
            yield portion
            at = portion.end
        at = max(at, gone.end)


def shorten_counterexample(task: SeedTask, invariant: str, example: SweepCounterexample) -> SweepCounterexample:
    """Return the same violation with as few of the seed's faults as possible, see :mod:`engine.lab.explorer.shrink`."""
    silence_logging()
    scenario = _scenario(task.scenario, task.text)
    shortest, tries = example, 0

    def fails(faults: tuple[PlannedFault, ...]) -> bool:
        nonlocal shortest, tries
        if (tries := tries + 1) > SHORTEN_TRIES_MAX:
            return False
        try:
            result = run_with_faults(scenario, example.seed, faults, settings=task.settings)
        except LabError:
            return False
        violation = next((one for one in result.violations if one["checker"] == invariant), None)
        if violation is None:
            return False
        found = SweepCounterexample(example.seed, result.fault_kinds, violation, result.link)
        shortest = min(shortest, found, key=lambda one: one.length)
        return True

    if task.random_faults:
        ddmin(draw_faults(scenario, example.seed), fails)
    return shortest


@lru_cache(maxsize=4)
def _scenario(name: str, text: str) -> Scenario:
    """Parse the scenario once per process."""
    return parse_scenario(text, name)

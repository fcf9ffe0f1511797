"""Spreads the seeds of a sweep over processes.

Each process is a fresh interpreter (spawn), reads the scenario once and runs one seed after the other. Which process
runs a seed makes no difference to what comes of it.
"""

from __future__ import annotations

import gc
import logging
import multiprocessing
from collections.abc import Iterator, Sequence

from engine.lab.scenario import Scenario
from engine.lab.scenario_text import parse_scenario
from engine.lab.sweep import SeedResult, run_seed

#: Seeds that a process fetches at a time: few, so that all end at about the same time.
_SEEDS_AT_A_TIME = 4

_scenario: Scenario | None = None
_random_faults = True


def sweep(scenario: Scenario, seeds: Sequence[int], processes: int, *, random_faults: bool) -> Iterator[SeedResult]:
    """The results of ``seeds``, as they come: in no certain order when there are several processes."""
    if processes == 1 or len(seeds) == 1:
        be_quiet()
        yield from (run_seed(scenario, seed, random_faults=random_faults) for seed in seeds)
        return
    context = multiprocessing.get_context("spawn")
    arguments = (scenario.name, scenario.text, random_faults)
    with context.Pool(min(processes, len(seeds)), _prepare, arguments) as pool:
        yield from pool.imap_unordered(_run, seeds, _SEEDS_AT_A_TIME)


def be_quiet() -> None:
    """What the engine warns of in a lab was done to it on purpose; the checkers say what went wrong."""
    for name in ("glassmq", "asyncio"):
        logger = logging.getLogger(name)
        logger.addHandler(logging.NullHandler())
        logger.propagate = False


def _prepare(name: str, text: str, random_faults: bool) -> None:
    global _scenario, _random_faults
    be_quiet()
    _scenario, _random_faults = parse_scenario(text, name), random_faults
    # What is imported by now stays: the collector need not look at it after every world.
    gc.collect()
    gc.freeze()


def _run(seed: int) -> SeedResult:
    assert _scenario is not None, "_prepare comes first"
    return run_seed(_scenario, seed, random_faults=_random_faults)

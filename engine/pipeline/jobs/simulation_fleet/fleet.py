"""Runs of seeds in portions on any spread, with a summary: the same for processes and for Spark. It needs no Spark."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial

from engine.lab.run.spread import Spread
from engine.lab.sweep.seed_chunk import SeedRange, SeedTask, cut_into_chunks, run_chunk, shorten_counterexample
from engine.lab.sweep.sweep_summary import SweepCounterexample, SweepSummary
from engine.pipeline.errors import JobFailed
from engine.pipeline.jobs.simulation_fleet.results_folder import ResultsFolder
from engine.pipeline.shipping import engine_digest
from engine.texts import Text

#: Largest portion: small enough that tables keep updating and little is lost when it is stopped.
CHUNK_MAX = 50
#: Each worker gets at least this many portions, so that all finish at about the same time.
_CHUNKS_PER_WORKER = 8


@dataclass(slots=True)
class FleetState:
    """Progress of a fleet.

    :ivar wanted: how many seeds were requested; ``before``: how many of them the results folder had already.
    :ivar summary: summary of everything finished, including what the results folder holds.
    :ivar examples: invariant -> the shortest run that violates it, shortened; filled in at the end.
    """

    wanted: int
    before: int = 0
    done: int = 0
    summary: SweepSummary = field(default_factory=SweepSummary)
    examples: dict[str, SweepCounterexample] = field(default_factory=dict)

    @property
    def is_complete(self) -> bool:
        """Return whether all requested seeds were run."""
        return self.done == self.wanted


def chunk_size(seeds: int, workers: int) -> int:
    """Return the default portion for this many seeds and workers."""
    return max(1, min(CHUNK_MAX, -(-seeds // (workers * _CHUNKS_PER_WORKER))))


def run_fleet(
    task: SeedTask,
    seeds: SeedRange,
    spread: Spread,
    *,
    chunk: int,
    results: ResultsFolder | None = None,
    on_progress: Callable[[FleetState], None] = lambda state: None,
) -> FleetState:
    """Run those of ``seeds`` that ``results`` does not have, and shorten the runs that violate invariants.

    If ``spread`` ends early, the state is incomplete; what is finished is in ``results``.

    Raises :class:`~engine.pipeline.errors.JobFailed`.
    """
    portions = list(cut_into_chunks(seeds, results.done if results is not None else (), chunk))
    to_do = sum(portion.size for portion in portions)
    state = FleetState(seeds.size, before=seeds.size - to_do, done=seeds.size - to_do)
    if results is not None:
        state.summary = results.summary
    on_progress(state)
    coming = spread(partial(_run_portion, task), portions)
    with closing(coming):
        for index, (digest, summary) in coming:
            if digest != engine_digest():
                here = engine_digest()
                raise JobFailed(Text("job.error.other_engine", digest=digest, here=here))
            if results is not None:
                results.append(portions[index], summary)
            else:
                state.summary.merge(summary)
            state.done += portions[index].size
            on_progress(state)
    if state.is_complete and state.summary.findings:
        _shorten(task, spread, state)
        on_progress(state)
    return state


def _shorten(task: SeedTask, spread: Spread, state: FleetState) -> None:
    found = [(name, finding.shortest) for name, finding in sorted(state.summary.findings.items())]
    state.examples = dict(found)
    coming = spread(partial(_shorten_one, task), found)
    with closing(coming):
        for index, example in coming:
            state.examples[found[index][0]] = example


def _run_portion(task: SeedTask, seeds: SeedRange) -> tuple[str, SweepSummary]:
    """Run a portion; return the summary with the digest of the engine that ran it, because executors bring their
    own.
    """
    return engine_digest(), run_chunk(task, seeds)


def _shorten_one(task: SeedTask, found: tuple[str, SweepCounterexample]) -> SweepCounterexample:
    return shorten_counterexample(task, *found)

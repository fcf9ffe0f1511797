"""The job ``simulation-fleet``: :mod:`~engine.pipeline.jobs.simulation_fleet.fleet` over Spark's executors."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from engine.lab.run.recording import python_version
from engine.lab.scenario.errors import LabError
from engine.lab.scenario.scenario import Scenario
from engine.lab.scenario.scenario_files import load_scenario, read_scenario_file
from engine.lab.sweep.seed_chunk import SeedRange, SeedTask
from engine.pipeline.errors import JobFailed
from engine.pipeline.jobs.job import JobRun
from engine.pipeline.jobs.simulation_fleet.description import FINDINGS_TABLE, KINDS_TABLE
from engine.pipeline.jobs.simulation_fleet.fleet import FleetState, chunk_size, run_fleet
from engine.pipeline.jobs.simulation_fleet.results_folder import ResultsFolder
from engine.pipeline.jobs.simulation_fleet.spark_spread import SparkSpread
from engine.pipeline.jobs.simulation_fleet.tables import finding_rows, kind_rows
from engine.texts import Text

#: How often the tables are reported while seeds run.
_TELL_EVERY_S = 1.0


def simulation_fleet(run: JobRun) -> None:
    """Run ``glassmq pipeline simulation-fleet`` on Spark's executors."""
    arguments = run.arguments
    scenario = _scenario(str(arguments["scenario"]))
    task = SeedTask(scenario.name, scenario.text, arguments["faults"] == "random")
    seeds = SeedRange(int(arguments["first_seed"]), int(arguments["seeds"]))
    spread = SparkSpread(run.spark, run.stop.is_set)
    reporter = _Reporter(run, task)
    with ExitStack() as stack:
        results = None
        if arguments["results_folder"]:
            results = stack.enter_context(ResultsFolder(Path(str(arguments["results_folder"])), task, python_version()))
        state = run_fleet(
            task,
            seeds,
            spread,
            chunk=int(arguments["chunk"] or chunk_size(seeds.size, spread.workers)),
            results=results,
            on_progress=reporter.report_now_and_then,
        )
    reporter.report(state)
    reporter.conclude(state)


class _Reporter:
    """Report what a sweep has found."""

    def __init__(self, run: JobRun, task: SeedTask) -> None:
        self._report = run.report
        self._address = f"{str(run.arguments['address'] or '').rstrip('/')}/lab/{task.scenario}"
        self._next = 0.0

    def report_now_and_then(self, state: FleetState) -> None:
        if (now := time.monotonic()) >= self._next:
            self._next = now + _TELL_EVERY_S
            self.report(state)

    def report(self, state: FleetState) -> None:
        self._report.progress(state.done, state.wanted, "seeds")
        self._report.table(KINDS_TABLE, kind_rows(state.summary))
        self._report.table(FINDINGS_TABLE, finding_rows(state.summary, state.examples, self._address))

    def conclude(self, state: FleetState) -> None:
        summary = state.summary
        for seed, why in summary.unfinished.items():
            self._report.note(Text("job.note.unfinished_seed", seed=seed, why=why))
        if state.before:
            self._report.note(Text("job.note.seeds_before", before=state.before, wanted=state.wanted))
        if state.is_complete and not summary.findings:
            self._report.note(Text("job.note.every_invariant_held", runs=summary.seeds - summary.unfinished_count))


def _scenario(name: str) -> Scenario:
    try:
        return read_scenario_file(Path(name)) if name.endswith((".yaml", ".yml")) else load_scenario(name)
    except OSError as error:
        raise JobFailed(Text("job.error.no_scenario", name=name, error=str(error))) from None
    except LabError as error:
        raise JobFailed(Text("job.argument.named", parameter="scenario", text=error.text)) from None


def check_arguments(arguments: Mapping[str, Any]) -> None:
    """Raise :class:`JobFailed` for a scenario that cannot be read."""
    _scenario(str(arguments["scenario"]))


JOB, CHECK = simulation_fleet, check_arguments

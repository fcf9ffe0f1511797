"""The job ``simulation-fleet``: :mod:`~engine.pipeline.jobs.simulation_fleet.fleet` over Spark's executors."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path

from engine.lab.run.recording import check_scenario_name, python_version
from engine.lab.scenario.errors import LabError
from engine.lab.scenario.scenario import Scenario
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.scenario.scenario_text import parse_scenario
from engine.lab.sweep.seed_chunk import SeedRange, SeedTask
from engine.pipeline.errors import JobFailed
from engine.pipeline.jobs.job import JobRun
from engine.pipeline.jobs.simulation_fleet.description import FINDINGS_TABLE, KINDS_TABLE
from engine.pipeline.jobs.simulation_fleet.fleet import FleetState, chunk_size, run_fleet
from engine.pipeline.jobs.simulation_fleet.results_folder import ResultsFolder
from engine.pipeline.jobs.simulation_fleet.spark_spread import SparkSpread
from engine.pipeline.jobs.simulation_fleet.tables import finding_rows, kind_rows

#: How often the tables are told while seeds run.
_TELL_EVERY_S = 1.0


class SimulationFleet:
    """See the module."""

    def run(self, run: JobRun) -> None:
        """See :class:`~engine.pipeline.jobs.job.Job`."""
        arguments = run.arguments
        scenario = _scenario(str(arguments["scenario"]))
        task = SeedTask(scenario.name, scenario.text, arguments["faults"] == "random")
        seeds = SeedRange(int(arguments["first_seed"]), int(arguments["seeds"]))
        spread = SparkSpread(run.spark, run.stop.is_set)
        teller = _Teller(run, task)
        with ExitStack() as stack:
            results = None
            if arguments["results_folder"]:
                results = stack.enter_context(
                    ResultsFolder(Path(str(arguments["results_folder"])), task, python_version())
                )
            state = run_fleet(
                task,
                seeds,
                spread,
                chunk=int(arguments["chunk"] or chunk_size(seeds.size, spread.workers)),
                results=results,
                on_progress=teller.tell_now_and_then,
            )
        teller.tell(state)
        teller.conclude(state)


class _Teller:
    """Tells the job's report what a sweep has found."""

    def __init__(self, run: JobRun, task: SeedTask) -> None:
        self._report = run.report
        self._address = f"{str(run.arguments['address'] or '').rstrip('/')}/lab/{task.scenario}"
        self._next = 0.0

    def tell_now_and_then(self, state: FleetState) -> None:
        if (now := time.monotonic()) >= self._next:
            self._next = now + _TELL_EVERY_S
            self.tell(state)

    def tell(self, state: FleetState) -> None:
        self._report.progress(state.done, state.wanted, "seeds")
        self._report.table(KINDS_TABLE, kind_rows(state.summary))
        self._report.table(FINDINGS_TABLE, finding_rows(state.summary, state.examples, self._address))

    def conclude(self, state: FleetState) -> None:
        summary = state.summary
        for seed, why in summary.unfinished.items():
            self._report.note(
                {"en": f"Seed {seed} was not run to its end: {why}", "zh": f"种子 {seed} 没有运行到底：{why}"}
            )
        if state.before:
            self._report.note(
                {
                    "en": f"{state.before:,} of {state.wanted:,} seeds were in the results folder already.",
                    "zh": f"{state.wanted:,} 个种子中，有 {state.before:,} 个已在结果文件夹里。",
                }
            )
        if state.is_complete and not summary.findings:
            self._report.note(
                {
                    "en": f"Every invariant held in all {summary.seeds - summary.unfinished_count:,} runs.",
                    "zh": f"全部 {summary.seeds - summary.unfinished_count:,} 次运行中，所有不变式都成立。",
                }
            )


def _scenario(name: str) -> Scenario:
    try:
        if name.endswith((".yaml", ".yml")):
            path = Path(name)
            return parse_scenario(path.read_text(encoding="utf-8"), check_scenario_name(path.stem))
        return load_scenario(name)
    except (OSError, UnicodeDecodeError) as error:
        raise JobFailed(f"scenario: {name} cannot be read: {error}", f"scenario：无法读取 {name}：{error}") from None
    except LabError as error:
        raise JobFailed(f"scenario: {error.text['en']}", f"scenario：{error.text['zh']}") from None


JOB = SimulationFleet()

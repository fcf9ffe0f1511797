"""``glassmq lab run``: one seed of a scenario or up to a million, in processes or on Spark."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from app.commands.lab.changed_settings import settings_of
from app.commands.lab.lab_options import changed_option, link_address_option, processes_option
from app.commands.lab.shared_work import shared_work, spark_is_missing
from app.foundation.option_rules import Excludes, option_rules

if TYPE_CHECKING:
    from engine.lab.run.spread import Spread
    from engine.lab.scenario.scenario import Scenario
    from engine.lab.sweep.seed_chunk import SeedRange, SeedTask
    from engine.lab.sweep.sweep_summary import SweepSummary
    from engine.pipeline.jobs.simulation_fleet.fleet import FleetState

#: A sweep of more seeds would take weeks.
_SEEDS_MAX = 1_000_000
#: Seeds with violations that are only named, after those that are reported in full.
_NAMED_MAX = 100


@click.command("run")
@click.argument("scenario_name", metavar="FILE|NAME")
@click.option("--seed", type=click.IntRange(0, 2**53 - 1), help="The first seed.  [default: the scenario's own]")
@click.option("--seeds", type=click.IntRange(1, _SEEDS_MAX), default=1, show_default=True, help="Number of seeds.")
@click.option(
    "--faults",
    type=click.Choice(["none", "random"]),
    default="none",
    show_default=True,
    help="Inject random faults, within the scenario's fault model.",
)
@changed_option
@processes_option
@click.option(
    "--spark",
    "master",
    metavar="MASTER",
    help="Run the seeds on Spark instead: local[4], spark://host:7077, yarn. Executors need GlassMQ installed.",
)
@click.option(
    "--results",
    "results_folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep finished seeds in this folder; the same command continues from there.",
)
@click.option("--chunk", type=click.IntRange(1, 10_000), help="Seeds per chunk of work.  [default: by seeds and cores]")
@click.option(
    "--export-messages",
    "export_folder",
    type=click.Path(file_okay=False, path_type=Path),
    help=(
        "Write the messages that the brokers hold at the end to this folder, as Parquet for jobs with "
        "--input-folder. One seed only."
    ),
)
@link_address_option
@option_rules(
    Excludes("--spark", "--processes", reason="both share the work"),
    Excludes("--export-messages", "--seeds", "--spark", "--results", reason="it writes the end of one run"),
)
def run(
    scenario_name: str,
    seed: int | None,
    seeds: int,
    faults: str,
    changed: tuple[tuple[str, str, str], ...],
    processes: int | None,
    master: str | None,
    results_folder: Path | None,
    chunk: int | None,
    export_folder: Path | None,
    address: str,
) -> None:
    """Run a scenario to its end, once or with many seeds. Exit code 1 when an invariant was violated.

    FILE|NAME is a scenario file (.yaml), or the name of one that "glassmq lab list" shows. With --results a run that
    was stopped (Ctrl-C, kill -9, a power cut) continues where it was, and another range of seeds adds to it; then the
    exit code and the figures are those of everything in the folder.

    \b
    Examples:
      glassmq lab run general
      glassmq lab run general --seed 1 --seeds 1000 --faults random --processes 2
      glassmq lab run majority-log --seeds 300 --faults random --set raft_peers.checks_log_is_up_to_date=false
      glassmq lab run general --seeds 100000 --faults random --results runs --spark 'local[8]'
      glassmq lab run 15-auditing-with-spark --export-messages export
    """
    from app.commands.tool import load_scenario_argument
    from engine.lab.sweep.seed_chunk import SeedRange, SeedTask

    scenario = load_scenario_argument(scenario_name)
    wanted = SeedRange(scenario.seed if seed is None else seed, seeds)
    settings = tuple(one for change in changed for one in settings_of(scenario, change))
    task = SeedTask(scenario.name, scenario.text, faults == "random", settings)
    if export_folder is not None:
        _export(scenario, wanted.first, export_folder, task)
        return
    from engine.pipeline.jobs.simulation_fleet.fleet import chunk_size

    with shared_work(master, processes) as (spread, workers):
        state = _run_all(task, wanted, spread, chunk or chunk_size(seeds, workers), results_folder)
    _report(scenario, state, address, has_kinds=task.random_faults and state.summary.seeds > 1)
    if state.summary.bad or state.summary.unfinished_count:
        raise SystemExit(1)
    if not state.is_complete:
        raise SystemExit(130)


def _export(scenario: Scenario, seed: int, folder: Path, task: SeedTask) -> None:
    """Run one world, and write what is stored in it."""
    from engine.lab.run.spread import silence_logging
    from engine.lab.sweep.fault_plan import draw_faults
    from engine.lab.sweep.sweep import run_with_faults

    try:
        from engine.pipeline.world_export import export_messages
    except ImportError as error:
        raise spark_is_missing(error.name) from None

    counts: list[int] = []
    silence_logging()
    faults = draw_faults(scenario, seed) if task.random_faults else ()
    result = run_with_faults(
        scenario, seed, faults, lambda run: counts.append(export_messages(run, folder)), task.settings
    )
    click.echo(f"{scenario.name}: {_plural(counts[0], 'message')} written to {folder}")
    if result.violations:
        raise SystemExit(1)


def _run_all(task: SeedTask, seeds: SeedRange, spread: Spread, chunk: int, results_folder: Path | None) -> FleetState:
    """Run all seeds to the end, or until Ctrl-C."""
    from engine.lab.run.recording import python_version
    from engine.pipeline.jobs.simulation_fleet.fleet import FleetState, run_fleet
    from engine.pipeline.jobs.simulation_fleet.results_folder import ResultsFolder

    state = FleetState(seeds.size)
    with contextlib.ExitStack() as stack:
        bar = stack.enter_context(_progress_bar(task.scenario, seeds.size))

        def show(now: FleetState) -> None:
            nonlocal state
            state = now
            bar.update(now.done - bar.pos, now.summary)

        try:
            results = None
            if results_folder is not None:
                results = stack.enter_context(ResultsFolder(results_folder, task, python_version()))
            run_fleet(task, seeds, spread, chunk=chunk, results=results, on_progress=show)
        except KeyboardInterrupt:
            pass
    if not state.is_complete:
        kept = f"; run the same command to continue; {results_folder} keeps them" if results_folder is not None else ""
        click.echo(f"\nstopped after {state.done:,} of {seeds.size:,} seeds{kept}", err=True)
    elif state.before:
        click.echo(f"{state.before:,} of {seeds.size:,} seeds were already in {results_folder}", err=True)
    return state


def _progress_bar(label: str, length: int) -> Any:
    return click.progressbar(
        length=length,
        label=label,
        show_pos=True,
        item_show_func=lambda summary: f"{summary.bad} with violations" if summary is not None and summary.bad else "",
        file=sys.stderr,
    )


def _report(scenario: Scenario, state: FleetState, address: str, *, has_kinds: bool) -> None:
    """Print what was found."""
    summary = state.summary
    place = f"{address.rstrip('/')}/lab/{scenario.name}"
    for result in summary.reported:
        click.echo(f"seed {result.seed}: {_plural(len(result.violations), 'violation')}")
        for violation in result.violations:
            click.echo(f"  {_line(violation)}")
        click.echo(f"  {place}#{result.link}")
    others = summary.bad_seeds[len(summary.reported) :]
    if others:
        named = ", ".join(map(str, others[:_NAMED_MAX])) + (" ..." if len(others) > _NAMED_MAX else "")
        click.echo(f"... and {summary.bad - len(summary.reported)} more: {named}")
    for seed, why in summary.unfinished.items():
        click.echo(f"seed {seed} was not run to its end: {why}")
    if has_kinds and summary.seeds > summary.unfinished_count:
        _report_kinds(summary)
    if summary.seeds > 1:
        _report_shortest(state, place)
    click.echo(
        f"{scenario.name}: {_plural(summary.seeds, 'seed')}, {_plural(summary.events, 'event')}, "
        f"{_plural(summary.commands, 'command')}, {_plural(summary.bad, 'run')} with violations"
    )


def _report_kinds(summary: SweepSummary) -> None:
    from app.commands.tool import print_table
    from engine.pipeline.jobs.simulation_fleet.tables import kind_rows

    rows: list[tuple[object, ...]] = []
    for kind, runs, bad, rate, low, high, alone, alone_bad in kind_rows(summary):
        rows.append(
            (
                "any" if kind == "*" else kind,
                f"{runs:,}",
                f"{bad:,}",
                f"{rate:.2%}",
                f"{low:.2%} to {high:.2%}",
                "-" if alone is None else f"{alone:,}",
                "-" if alone_bad is None else f"{alone_bad:,}",
            )
        )
    print_table(("FAULT", "RUNS", "VIOLATED", "RATE", "95 % INTERVAL", "ALONE", "VIOLATED ALONE"), rows)


def _report_shortest(state: FleetState, place: str) -> None:
    from engine.pipeline.jobs.simulation_fleet.tables import finding_rows

    for name, _, runs, seed, faults, event, _, link in finding_rows(state.summary, state.examples, place):
        assert isinstance(runs, int)
        needs = faults["en"] if isinstance(faults, Mapping) else "no fault at all"
        click.echo(f"{name}: {_plural(runs, 'run')}; the shortest is seed {seed} with {needs}, event {event}")
        click.echo(f"  {link}")


def _line(violation: Mapping[str, Any]) -> str:
    seconds = violation["time_us"] / 1_000_000
    place = f"event {violation['event']} at {seconds:.3f} s"
    return f"{violation['checker']} ({violation['anomaly']}), {place}: {violation['text']['en']}"


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"

"""``glassmq lab``: runs scenarios of the lab without a page."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from app.commands.lab_compare import compare

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from engine.lab.scenario import Scenario
    from engine.lab.sweep import SeedResult

#: Beyond it a sweep would take days.
_SEEDS_MAX = 1_000_000
_PROCESSES_MAX = 64
#: Runs with violations that are told in full; more would scroll the first ones away.
_TOLD_IN_FULL = 10


@click.group("lab", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Run scenarios of the lab: a whole cluster in virtual time, with faults, checked after every event.

    \b
    Examples:
      glassmq lab list
      glassmq lab run general --seed 7
      glassmq lab run general --seeds 1000 --faults random --processes 2
      glassmq lab run my-scenario.yaml --seeds 200
      glassmq lab crash-points xa-two-phase
      glassmq lab compare batch-trade-offs --set C1.pullBatchSize=1,8,32
    """


command.add_command(compare)


@command.command("list")
def list_scenarios() -> None:
    """List the scenarios that come with GlassMQ."""
    from app.commands.tool import print_table
    from engine.lab.scenario_files import load_scenario, scenario_names

    rows: list[tuple[object, ...]] = []
    for name in scenario_names():
        scenario = load_scenario(name)
        faults = ", ".join(scenario.fault_model.kinds)
        rows.append((name, scenario.title["en"], len(scenario.nodes), scenario.duration_ms // 1_000, faults))
    print_table(("NAME", "TITLE", "NODES", "SECONDS", "RANDOM FAULTS"), rows)


@command.command("run")
@click.argument("scenario_name", metavar="FILE|NAME")
@click.option("--seed", type=click.IntRange(0, 2**53 - 1), help="The first seed.  [default: the scenario's own]")
@click.option("--seeds", type=click.IntRange(1, _SEEDS_MAX), default=1, show_default=True, help="How many seeds.")
@click.option(
    "--faults",
    type=click.Choice(["none", "random"]),
    default="none",
    show_default=True,
    help="Break things at random, within the scenario's fault model.",
)
@click.option(
    "--processes",
    type=click.IntRange(1, _PROCESSES_MAX),
    help="How many processes share the work.  [default: one per core]",
)
@click.option(
    "--address", default="http://127.0.0.1:8000", show_default=True, help="Where the links lead: your glassmq serve."
)
def run(scenario_name: str, seed: int | None, seeds: int, faults: str, processes: int | None, address: str) -> None:
    """Run a scenario to its end, once or with many seeds. Exit code 1 when an invariant was violated.

    FILE|NAME is a scenario file (.yaml), or the name of one that "glassmq lab list" shows.

    \b
    Examples:
      glassmq lab run general
      glassmq lab run general --seed 1 --seeds 1000 --faults random --processes 2
    """
    scenario = load_scenario_argument(scenario_name)
    first = scenario.seed if seed is None else seed
    wanted = range(first, first + seeds)
    count = processes if processes is not None else min(_PROCESSES_MAX, os.cpu_count() or 1)
    results = _run_all(scenario, wanted, count, random_faults=faults == "random")
    if not _tell(scenario, results, address):
        raise SystemExit(1)


@command.command("crash-points")
@click.argument("scenario_name", metavar="FILE|NAME")
@click.option(
    "--restart-after-ms",
    type=click.IntRange(1, 3_600_000),
    default=3_000,
    show_default=True,
    help="How long the killed node is away.",
)
@click.option(
    "--json", "json_path", type=click.Path(dir_okay=False, path_type=Path), help="Write the table there, too."
)
@click.option(
    "--address", default="http://127.0.0.1:8000", show_default=True, help="Where the links lead: your glassmq serve."
)
def crash_points(scenario_name: str, restart_after_ms: int, json_path: Path | None, address: str) -> None:
    """Kill a node right after each step of a transfer, one run per step, and tell what became of the transfer.

    For scenarios with a two-phase commit or a bank that sends in transactions. The last transfer of each kind is looked
    at. LOCKED is how long an account was locked for it, WINDOW how long one bank had done its part and the other not.

    \b
    Examples:
      glassmq lab crash-points xa-two-phase
      glassmq lab crash-points bank-transaction --restart-after-ms 10000
    """
    import orjson

    from app.commands.tool import print_table
    from app.sweep_processes import be_quiet
    from engine.lab.crash_points import NothingToCrash, crash_at, find_points

    be_quiet()
    scenario = load_scenario_argument(scenario_name)
    try:
        points = find_points(scenario)
    except NothingToCrash as error:
        raise click.ClickException(str(error)) from None
    with click.progressbar(points, label=scenario.name, show_pos=True, file=sys.stderr) as bar:
        outcomes = [crash_at(scenario, point, restart_after_ms) for point in bar]
    rows: list[tuple[object, ...]] = [
        (
            outcome.point.way,
            outcome.point.node,
            outcome.point.texts["en"],
            outcome.outcome,
            f"{outcome.locked_us / 1e6:.2f} s",
            "-" if outcome.window_us is None else f"{outcome.window_us / 1e6:.2f} s",
            "yes" if outcome.is_conserved else "NO",
        )
        for outcome in outcomes
    ]
    print_table(("TRANSFER", "CRASHES", "RIGHT AFTER IT", "OUTCOME", "LOCKED", "WINDOW", "MONEY CONSERVED"), rows)
    longest = max(outcomes, key=lambda outcome: outcome.locked_us)
    click.echo(f"the longest lock: {address.rstrip('/')}/lab/{scenario.name}#{longest.link}")
    if json_path is not None:
        table = {"restart_after_ms": restart_after_ms, "points": [outcome.to_dict() for outcome in outcomes]}
        json_path.write_bytes(orjson.dumps(table, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def load_scenario_argument(name: str) -> Scenario:
    """The scenario of a file or of a name."""
    from engine.lab.errors import LabError
    from engine.lab.scenario_files import load_scenario
    from engine.lab.scenario_text import parse_scenario

    path = Path(name)
    try:
        if path.suffix in (".yaml", ".yml") or path.exists():
            return parse_scenario(path.read_text(encoding="utf-8"), path.stem)
        return load_scenario(name)
    except OSError as error:
        raise click.ClickException(f"{name} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise click.ClickException(f"{name} is no text in UTF-8") from None
    except LabError as error:
        raise click.ClickException(f"{name}: {error}") from None


def _run_all(scenario: Scenario, seeds: range, processes: int, *, random_faults: bool) -> list[SeedResult]:
    """The results in the order of the seeds."""
    from app.sweep_processes import sweep
    from engine.lab.errors import LabError

    results: list[SeedResult] = []
    coming: Iterable[SeedResult] = sweep(scenario, seeds, processes, random_faults=random_faults)
    try:
        with click.progressbar(
            coming,
            length=len(seeds),
            label=scenario.name,
            show_pos=True,
            item_show_func=lambda result: _bad_so_far(results) if result is not None else None,
            file=sys.stderr,
        ) as bar:
            results.extend(bar)
    except LabError as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        click.echo(f"stopped after {len(results)} of {len(seeds)} seeds", err=True)
    return sorted(results, key=lambda result: result.seed)


def _bad_so_far(results: list[SeedResult]) -> str:
    bad = sum(1 for result in results if result.violations)
    return f"{bad} with violations" if bad else ""


def _tell(scenario: Scenario, results: list[SeedResult], address: str) -> bool:
    """Print what was found; whether nothing was."""
    bad = [result for result in results if result.violations]
    for result in bad[:_TOLD_IN_FULL]:
        click.echo(f"seed {result.seed}: {_plural(len(result.violations), 'violation')}")
        for violation in result.violations:
            click.echo(f"  {_line(violation)}")
        click.echo(f"  {address.rstrip('/')}/lab/{scenario.name}#{result.link}")
    if len(bad) > _TOLD_IN_FULL:
        click.echo(
            f"... and {len(bad) - _TOLD_IN_FULL} more: {', '.join(str(one.seed) for one in bad[_TOLD_IN_FULL:])}"
        )
    events = sum(result.events for result in results)
    faults = sum(result.faults for result in results)
    click.echo(
        f"{scenario.name}: {_plural(len(results), 'seed')}, {_plural(events, 'event')}, {_plural(faults, 'command')}, "
        f"{_plural(len(bad), 'run')} with violations"
    )
    return not bad


def _line(violation: Mapping[str, Any]) -> str:
    seconds = violation["time_us"] / 1_000_000
    place = f"event {violation['event']} at {seconds:.3f} s"
    return f"{violation['checker']} ({violation['anomaly']}), {place}: {violation['text']['en']}"


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"

"""``glassmq lab``: runs scenarios of the lab without a page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.commands.lab.lab_acknowledgement import acknowledgement
from app.commands.lab.lab_compare import compare
from app.commands.lab.lab_duplicates import duplicates
from app.commands.lab.lab_film import film
from app.commands.lab.lab_pictures import pictures
from app.commands.lab.lab_replication_compare import replication_compare
from app.commands.lab.lab_run import run
from app.commands.lab.lab_study import study
from app.commands.lab.lab_why import why

if TYPE_CHECKING:
    from engine.lab.sweep.crash_points import CrashOutcome


@click.group("lab", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Run scenarios of the lab: a whole cluster in virtual time, with faults, checked after every event.

    \b
    Examples:
      glassmq lab list
      glassmq lab run general --seed 7
      glassmq lab run general --seeds 1000 --faults random --processes 2
      glassmq lab run my-scenario.yaml --seeds 200
      glassmq lab run general --seeds 1000000 --faults random --results runs --spark spark://host:7077
      glassmq lab crash-points xa-two-phase
      glassmq lab acknowledgement
      glassmq lab replication-compare
      glassmq lab study more-queues
      glassmq lab compare batch-trade-offs --set C1.pullBatchSize=1,8,32
      glassmq lab duplicates --seeds 1000
      glassmq lab why lost-offset-commit order-3
      glassmq lab pictures three-locks
      glassmq lab film three-locks -o duplicate.gif
    """


command.add_command(run)
command.add_command(compare)
command.add_command(duplicates)
command.add_command(why)
command.add_command(pictures)
command.add_command(film)
command.add_command(acknowledgement)
command.add_command(replication_compare)
command.add_command(study)


@command.command("list")
def list_scenarios() -> None:
    """List the scenarios that come with GlassMQ."""
    from app.commands.tool import print_table
    from engine.lab.scenario.scenario_files import load_scenario, scenario_names

    rows: list[tuple[object, ...]] = []
    for name in scenario_names():
        scenario = load_scenario(name)
        faults = ", ".join(scenario.fault_model.kinds)
        rows.append((name, scenario.title["en"], len(scenario.nodes), scenario.duration_ms // 1_000, faults))
    print_table(("NAME", "TITLE", "NODES", "SECONDS", "RANDOM FAULTS"), rows)


@command.command("crash-points")
@click.argument("scenario_name", metavar="FILE|NAME")
@click.option(
    "--restart-after-ms",
    type=click.IntRange(1, 3_600_000),
    default=3_000,
    show_default=True,
    help="Milliseconds until the killed node restarts.",
)
@click.option(
    "--json", "json_path", type=click.Path(dir_okay=False, path_type=Path), help="Also write the table to this file."
)
@click.option(
    "--address",
    default="http://127.0.0.1:8000",
    show_default=True,
    help="Base address of the printed links: your glassmq serve.",
)
def crash_points(scenario_name: str, restart_after_ms: int, json_path: Path | None, address: str) -> None:
    """Kill a node right after each step of a transfer, or of work, one run per step, and print the outcomes.

    For scenarios with a two-phase commit, a bank that sends in transactions, or listeners that work. The last transfer
    of each kind is used, or the last order. LOCKED is how long an account was locked for it, WINDOW how long one bank
    had done its part and the other not; TIMES how often something was done that must be done once.

    \b
    Examples:
      glassmq lab crash-points xa-two-phase
      glassmq lab crash-points bank-transaction --restart-after-ms 10000
      glassmq lab crash-points sub-messages
    """
    import orjson

    from app.commands.tool import load_scenario_argument, print_table
    from engine.lab.run.spread import silence_logging
    from engine.lab.sweep.crash_points import NothingToCrash, crash_at, find_points

    silence_logging()
    scenario = load_scenario_argument(scenario_name)
    try:
        points = find_points(scenario)
    except NothingToCrash as error:
        raise click.ClickException(str(error)) from None
    with click.progressbar(points, label=scenario.name, show_pos=True, file=sys.stderr) as bar:
        outcomes = [crash_at(scenario, point, restart_after_ms) for point in bar]
    print_table(
        ("WHAT", "CRASHES", "RIGHT AFTER IT", "OUTCOME", "LOCKED", "WINDOW", "TIMES", "ALL HOLDS"),
        [_crash_row(outcome) for outcome in outcomes],
    )
    worst = max(outcomes, key=lambda outcome: (not outcome.is_conserved, outcome.locked_us))
    what = "the longest lock" if worst.is_conserved else "the first that breaks something"
    if worst.locked_us or not worst.is_conserved:
        click.echo(f"{what}: {address.rstrip('/')}/lab/{scenario.name}#{worst.link}")
    if json_path is not None:
        table = {"restart_after_ms": restart_after_ms, "points": [outcome.to_dict() for outcome in outcomes]}
        json_path.write_bytes(orjson.dumps(table, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def _crash_row(outcome: CrashOutcome) -> tuple[object, ...]:
    return (
        outcome.point.way,
        outcome.point.node,
        outcome.point.texts["en"],
        outcome.outcome,
        "-" if outcome.times is not None else f"{outcome.locked_us / 1e6:.2f} s",
        "-" if outcome.window_us is None else f"{outcome.window_us / 1e6:.2f} s",
        "-" if outcome.times is None else outcome.times,
        "yes" if outcome.is_conserved else "NO",
    )

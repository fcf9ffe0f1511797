"""``glassmq lab duplicates``: the share of duplicates that each strategy of idempotence catches."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from app.commands.lab.shared_work import PROCESSES_MAX, shared_work

if TYPE_CHECKING:
    from engine.lab.run.spread import Spread
    from engine.lab.scenario.scenario import Scenario
    from engine.lab.sweep.duplicates import DuplicateFigures, Share

#: The command as documents name it.
_COMMAND = "glassmq lab duplicates"
_HEADINGS = (
    "strategy",
    "deliveries",
    "duplicates",
    "did the work again",
    "caught",
    "95 % interval",
    "of them caused by faults",
    "those did the work again",
    "those caught",
    "their 95 % interval",
    "orders done more than once",
    "acknowledged, not done",
    "dead letters",
    "open in the end",
)
#: Seeds per chunk of work.
_CHUNK = 10


@click.command("duplicates")
@click.argument("scenario_name", metavar="[FILE|NAME]", default="order-and-stock")
@click.option(
    "--seeds", type=click.IntRange(1, 100_000), default=100, show_default=True, help="Seeds per strategy, from 1 on."
)
@click.option(
    "--processes",
    type=click.IntRange(1, PROCESSES_MAX),
    help="Number of processes that share the work.  [default: one per core]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@click.option(
    "--write",
    "path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help='Write the table into this document, between a comment with the name of this command and a comment "end".',
)
@click.option(
    "--svg", "svg_path", type=click.Path(dir_okay=False, path_type=Path), help=("Also draw the shares to this file.")
)
def duplicates(
    scenario_name: str, seeds: int, processes: int | None, as_json: bool, path: Path | None, svg_path: Path | None
) -> None:
    """Print the share of the duplicates that each strategy of idempotence catches.

    The scenario, one whose listeners work on something, is run with every strategy under the same seeds, each with
    random faults of its own within the scenario's fault model. Everything is virtual: the same seeds give the same
    figures on every machine.

    \b
    Examples:
      glassmq lab duplicates
      glassmq lab duplicates message-table --seeds 200 --json
      glassmq lab duplicates --seeds 1000 --write docs/semantics/duplicates.md --svg docs/images/duplicates.svg
    """
    from app.commands.document_table import read_with_place, write_table
    from app.commands.tool import load_scenario_argument
    from app.duplicates_plot import duplicates_svg
    from engine.lab.scenario.errors import LabError

    if path is not None:
        read_with_place(path, _COMMAND)
    scenario = load_scenario_argument(scenario_name)
    try:
        with shared_work(None, processes) as (spread, _):
            figures = _count(scenario, seeds, spread)
    except LabError as error:
        raise click.ClickException(str(error)) from None
    if as_json:
        click.echo(json.dumps({name: _as_json(each) for name, each in figures.items()}))
    elif path is None:
        click.echo(table_of(figures), nl=False)
    if path is not None:
        write_table(path, _COMMAND, table_of(figures))
    if svg_path is not None:
        svg_path.write_text(duplicates_svg(figures, f"{scenario.name}: duplicates caught"), encoding="utf-8")


def _count(scenario: Scenario, seeds: int, spread: Spread) -> dict[str, DuplicateFigures]:
    from engine.lab.sweep.duplicates import WAYS, DuplicateFigures, WayTask, run_portion
    from engine.lab.sweep.seed_chunk import SeedRange, cut_into_chunks

    portions = [
        (WayTask(scenario.name, scenario.text, way), chunk)
        for way in WAYS
        for chunk in cut_into_chunks(SeedRange(1, seeds), [], _CHUNK)
    ]
    figures = {way: DuplicateFigures() for way in WAYS}
    with click.progressbar(length=len(portions), label=scenario.name, show_pos=True, file=sys.stderr) as bar:
        for index, result in spread(run_portion, portions):
            figures[portions[index][0].way].add(result)
            bar.update(1)
    return figures


def _as_json(figures: DuplicateFigures) -> dict[str, object]:
    shares = {"": figures.caught, "_by_faults": figures.caught_by_faults}
    reported = {f"caught{end}": share.ratio for end, share in shares.items()}
    return {
        **dataclasses.asdict(figures),
        **reported,
        **{f"interval{end}": one.interval for end, one in shares.items()},
    }


def table_of(figures: Mapping[str, DuplicateFigures]) -> str:
    """Return the figures as Markdown: the number of runs, then a row for each strategy."""
    runs = max(each.runs for each in figures.values())
    lines = [f"Runs under each strategy: {runs:,}.", ""]
    lines += [f"| {' | '.join(_HEADINGS)} |", "|---" * len(_HEADINGS) + "|"]
    for name, each in figures.items():
        cells = (
            name,
            f"{each.deliveries:,}",
            f"{each.duplicates:,}",
            f"{each.again:,}",
            *_share(each.caught),
            f"{each.by_faults:,}",
            f"{each.again_by_faults:,}",
            *_share(each.caught_by_faults),
            f"{each.orders_again:,} of {each.orders:,}",
            f"{each.lost:,}",
            f"{each.dead_letters:,}",
            f"{each.open:,}",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _share(share: Share) -> tuple[str, str]:
    """Return the share and its interval."""
    if share.ratio is None:
        return "-", "-"
    low, high = share.interval
    return f"{share.ratio:.2%}", f"{low:.2%} to {high:.2%}"

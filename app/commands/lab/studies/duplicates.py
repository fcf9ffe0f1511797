"""``glassmq lab study duplicates``: the share of duplicates that each strategy of idempotence catches."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import click

from app.commands.lab.lab_options import processes_option
from app.commands.lab.shared_work import shared_work
from app.commands.lab.studies.study import Findings, Study, StudyTable

if TYPE_CHECKING:
    from engine.lab.run.spread import Spread
    from engine.lab.scenario.scenario import Scenario
    from engine.lab.sweep.duplicates import DuplicateFigures, Share

#: Seeds per chunk of work.
_CHUNK = 10


@click.command("duplicates", cls=Study, is_drawn=True)
@click.argument("scenario_name", metavar="[FILE|NAME]", default="order-and-stock")
@click.option(
    "--seeds", type=click.IntRange(1, 100_000), default=100, show_default=True, help="Seeds per strategy, from 1 on."
)
@processes_option
def duplicates(scenario_name: str, seeds: int, processes: int | None) -> Findings:
    """Print the share of the duplicates that each strategy of idempotence catches.

    The scenario, one whose listeners work on something, is run with every strategy under the same seeds, each with
    random faults of its own within the scenario's fault model. Everything is virtual: the same seeds give the same
    figures on every machine.

    \b
    Examples:
      glassmq lab study duplicates
      glassmq lab study duplicates message-table --seeds 200 --json duplicates.json
      glassmq lab study duplicates --seeds 1000 --write docs/semantics/duplicates.md --svg docs/images/duplicates.svg
    """
    from app.commands.tool import load_scenario_argument

    scenario = load_scenario_argument(scenario_name)
    with shared_work(None, processes) as (spread, _):
        return findings_of(_count(scenario, seeds, spread), f"{scenario.name}: duplicates caught")


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


def findings_of(figures: Mapping[str, DuplicateFigures], title: str) -> Findings:
    """Return the number of runs, then a row for each strategy; a bar for each that met a duplicate."""
    runs = max(each.runs for each in figures.values())
    rows = [_row(name, each) for name, each in figures.items()]
    report = {name: _report(each) for name, each in figures.items()}
    return Findings([StudyTable(rows, f"Runs under each strategy: {runs:,}.")], report, partial(_draw, figures, title))


def _row(name: str, each: DuplicateFigures) -> dict[str, object]:
    (caught, interval), (caught_by_faults, interval_by_faults) = map(_share, (each.caught, each.caught_by_faults))
    return {
        "strategy": name,
        "deliveries": each.deliveries,
        "duplicates": each.duplicates,
        "did the work again": each.again,
        "caught": caught,
        "95 % interval": interval,
        "of them caused by faults": each.by_faults,
        "those did the work again": each.again_by_faults,
        "those caught": caught_by_faults,
        "their 95 % interval": interval_by_faults,
        "orders done more than once": f"{each.orders_again:,} of {each.orders:,}",
        "acknowledged, not done": each.lost,
        "dead letters": each.dead_letters,
        "open in the end": each.open,
    }


def _share(share: Share) -> tuple[str, str]:
    """Return the share and its interval."""
    if share.ratio is None:
        return "-", "-"
    low, high = share.interval
    return f"{share.ratio:.2%}", f"{low:.2%} to {high:.2%}"


def _report(figures: DuplicateFigures) -> dict[str, object]:
    shares = {"": figures.caught, "_by_faults": figures.caught_by_faults}
    ratios = {f"caught{end}": share.ratio for end, share in shares.items()}
    return {**dataclasses.asdict(figures), **ratios, **{f"interval{end}": one.interval for end, one in shares.items()}}


def _draw(figures: Mapping[str, DuplicateFigures], title: str) -> str:
    from app.storage.plots import Bar, bars_svg

    shares = {name: each.caught for name, each in figures.items()}
    bars = [Bar(name, s.ratio, *s.interval, f"{s.ratio:.2%}") for name, s in shares.items() if s.ratio is not None]
    return bars_svg(title, {"": bars})

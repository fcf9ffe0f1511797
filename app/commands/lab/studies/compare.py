"""``glassmq lab study compare``: one scenario, run once per value of a setting."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from app.commands.lab.studies.study import Findings, Study, StudyTable, run_each
from app.foundation.option_types import assignment, usage_errors

if TYPE_CHECKING:
    from engine.lab.sweep.comparison import ComparedRun

#: Figures of :mod:`engine.lab.sweep.client_figures` whose heading is not their name.
_HEADINGS = {"pull_ms": "ms per pull", "without_need": "needless", "reply_ms": "ms until reply"}


def heading(figure: str) -> str:
    """Return the heading of a figure."""
    return _HEADINGS.get(figure, figure.replace("_", " "))


@click.command("compare", cls=Study, is_drawn=True, is_in_columns=True)
@click.argument("scenario_name", metavar="FILE|NAME")
@click.option(
    "--set",
    "change",
    required=True,
    type=assignment("NODE.SETTING=VALUE,VALUE,...", "C1.pullBatchSize=1,8"),
    help="What to vary: a setting of a node under our name or RocketMQ's, threads of a consumer, batch or body_bytes "
    "of a producer.",
)
@click.option(
    "--watch",
    metavar="NODE",
    help="The node whose figures are shown.  [default: the node itself, or the first consumer]",
)
@click.option("--seed", type=click.IntRange(0, 2**53 - 1), help="The seed.  [default: the scenario's own]")
def compare(scenario_name: str, change: tuple[str, str, str], watch: str | None, seed: int | None) -> Findings:
    """Run a scenario once per value of a setting, and print the figures of a client side by side.

    Every run is the whole scenario in virtual time, with the same seed: the same values give the same figures on every
    machine. AGAIN counts messages that were pulled or consumed before; NEEDLESS counts those of the latter that the
    listener had processed successfully.

    \b
    Examples:
      glassmq lab study compare batch-trade-offs --set C1.pullBatchSize=1,8,32,40
      glassmq lab study compare batch-trade-offs --set C1.consumeMessageBatchMaxSize=1,4,16,32
      glassmq lab study compare batch-trade-offs --set P1.batch=1,4,16,64 --json batch.json --svg batch.svg
    """
    from app.commands.tool import load_scenario_argument
    from engine.lab.scenario.errors import LabError
    from engine.lab.sweep.comparison import Change, node_to_watch, parse_values, run_with

    scenario = load_scenario_argument(scenario_name)
    node, setting, values = change
    with usage_errors(LabError, option=f"--set {node}.{setting}"):
        changes = [Change(node, setting, value) for value in parse_values(scenario, node, setting, values)]
    with usage_errors(LabError, option="--watch"):
        watched = node_to_watch(scenario, node if watch is None else watch).name
    runs = run_each(scenario.name, changes, lambda one: run_with(scenario, one, watched, seed))
    figures = [{heading(name).upper(): value for name, value in run.figures._asdict().items()} for run in runs]
    rows = [
        {setting: run.change.value, **each, "VIOLATIONS": run.violations}
        for run, each in zip(runs, figures, strict=True)
    ]
    report = {
        "scenario": scenario.name,
        "seed": scenario.seed if seed is None else seed,
        "watched": watched,
        "runs": [run.to_dict() for run in runs],
    }
    draw = partial(comparison_svg, runs, f"{scenario.name}: {node}.{setting}")
    return Findings([StudyTable(rows)], report, draw, f"figures of {watched}; all times are virtual")


def comparison_svg(runs: Sequence[ComparedRun], title: str) -> str:
    """Return the picture. Figures that are the same in all runs are left out: they show nothing about the setting."""
    from app.storage.plots import panels_svg

    figures = zip(runs[0].figures._fields, zip(*(run.figures for run in runs), strict=True), strict=True)
    panels = {heading(name): values for name, values in figures if len({*map(str, values)}) > 1}
    return panels_svg(title, [str(run.change.value) for run in runs], panels)

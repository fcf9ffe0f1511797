"""``glassmq lab compare``: one scenario, run once per value of a setting."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from engine.lab.sweep.comparison import ComparedRun


@click.command("compare")
@click.argument("scenario_name", metavar="FILE|NAME")
@click.option(
    "--set",
    "assignment",
    required=True,
    metavar="NODE.SETTING=VALUE,VALUE,...",
    help="What to vary: a setting of a node under our name or RocketMQ's, threads of a consumer, batch or body_bytes "
    "of a producer.",
)
@click.option(
    "--watch",
    metavar="NODE",
    help="The node whose figures are shown.  [default: the node itself, or the first consumer]",
)
@click.option("--seed", type=click.IntRange(0, 2**53 - 1), help="The seed.  [default: the scenario's own]")
@click.option(
    "--json", "json_path", type=click.Path(dir_okay=False, path_type=Path), help="Also write the figures to this file."
)
@click.option("--svg", "svg_path", type=click.Path(dir_okay=False, path_type=Path), help="Also draw them to this file.")
def compare(
    scenario_name: str,
    assignment: str,
    watch: str | None,
    seed: int | None,
    json_path: Path | None,
    svg_path: Path | None,
) -> None:
    """Run a scenario once per value of a setting, and print the figures of a client side by side.

    Every run is the whole scenario in virtual time, with the same seed: the same values give the same figures on every
    machine. AGAIN counts messages that were pulled or consumed before; NEEDLESS counts those of the latter that the
    listener had processed successfully.

    \b
    Examples:
      glassmq lab compare batch-trade-offs --set C1.pullBatchSize=1,8,32,40
      glassmq lab compare batch-trade-offs --set C1.consumeMessageBatchMaxSize=1,4,16,32
      glassmq lab compare batch-trade-offs --set P1.batch=1,4,16,64 --json batch.json --svg batch.svg
    """
    import orjson

    from app.commands.tool import load_scenario_argument
    from app.comparison_plot import comparison_svg
    from engine.lab.run.spread import silence_logging
    from engine.lab.scenario.errors import LabError
    from engine.lab.sweep.comparison import Change, node_to_watch, parse_values, run_with

    silence_logging()
    scenario = load_scenario_argument(scenario_name)
    target, equals, values = assignment.partition("=")
    node, dot, setting = target.partition(".")
    if not (equals and dot and node and setting):
        raise click.BadParameter(f"{assignment!r}: write NODE.SETTING=VALUE,VALUE", param_hint="--set")
    try:
        changes = [Change(node, setting, value) for value in parse_values(scenario, node, setting, values)]
        watched = node_to_watch(scenario, node if watch is None else watch)
        with click.progressbar(changes, label=scenario.name, show_pos=True, file=sys.stderr) as bar:
            runs = [run_with(scenario, change, watched.name, seed) for change in bar]
    except LabError as error:
        raise click.ClickException(str(error)) from None
    _report(runs, setting, watched.name)
    if json_path is not None:
        report = {
            "scenario": scenario.name,
            "seed": scenario.seed if seed is None else seed,
            "watched": watched.name,
            "runs": [run.to_dict() for run in runs],
        }
        json_path.write_bytes(orjson.dumps(report, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    if svg_path is not None:
        svg_path.write_text(comparison_svg(runs, f"{scenario.name}: {node}.{setting}"), encoding="utf-8")


def _report(runs: list[ComparedRun], setting: str, watched: str) -> None:
    from app.commands.tool import print_table
    from app.comparison_plot import HEADINGS

    names = list(runs[0].figures.to_dict())
    print_table(
        (setting, *[HEADINGS[name].upper() for name in names], "VIOLATIONS"),
        [(run.change.value, *run.figures.to_dict().values(), run.violations) for run in runs],
    )
    click.echo(f"figures of {watched}; all times are virtual")

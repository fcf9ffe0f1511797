"""``glassmq lab replication-compare``: the same fault for every policy of replication, side by side."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from engine.lab.sweep.replication_compare import ComparisonCell
    from engine.lab.sweep.shortest_loss import SearchedPolicy

#: The command as documents name it.
_COMMAND = "glassmq lab replication-compare"


@click.command("replication-compare")
@click.option(
    "--write",
    "path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help='Write the tables into this document, between a comment with the name of this command and a comment "end".',
)
@click.option(
    "--json", "json_path", type=click.Path(dir_okay=False, path_type=Path), help=("Also write them to this file.")
)
@click.option("--svg", "svg_path", type=click.Path(dir_okay=False, path_type=Path), help="Also draw them to this file.")
@click.option(
    "--search/--no-search",
    default=True,
    help="Also search for the shortest loss, which takes some minutes.  [default: yes]",
)
def replication_compare(path: Path | None, json_path: Path | None, svg_path: Path | None, search: bool) -> None:
    """Print the effect of the same fault under each policy of replication: acknowledged, lost, unavailable, doubled.

    Three machines, one client; the master or leader dies 5 ms after an acknowledgement, the line to a follower becomes
    slow, a follower is cut off, the leader is cut off. Each cell is a run, and its link opens it. Then the shortest
    loss is searched for: the leader's death after every event of a window, with and without a fault before. All is
    virtual: the figures are the same on every machine.

    \b
    Examples:
      glassmq lab replication-compare --no-search
      glassmq lab replication-compare --write docs/replication/compared.md --svg docs/images/replication-compare.svg
      glassmq lab replication-compare --json static/lab/comparisons/replication-compare.json
    """
    import orjson

    from app.commands.document_table import read_with_place, write_table
    from app.replication_plot import replication_svg
    from engine.lab.run.spread import silence_logging
    from engine.lab.sweep.replication_compare import cell_of
    from engine.lab.sweep.replication_policy import POLICIES, Fault
    from engine.lab.sweep.shortest_loss import search_loss

    if path is not None:
        read_with_place(path, _COMMAND)
    silence_logging()
    pairs = [(policy, fault) for policy in POLICIES.values() for fault in Fault]
    with click.progressbar(pairs, label="faults", show_pos=True, file=sys.stderr) as bar:
        cells = [cell_of(policy, fault) for policy, fault in bar]
    with click.progressbar(POLICIES.values() if search else (), label="search", show_pos=True, file=sys.stderr) as bar:
        searches = [search_loss(policy) for policy in bar]
    tables = tables_of(cells, searches)
    if path is None:
        click.echo(tables, nl=False)
    else:
        write_table(path, _COMMAND, tables)
    if json_path is not None:
        report = report_of(cells, searches)
        json_path.write_bytes(orjson.dumps(report, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    if svg_path is not None:
        svg_path.write_text(replication_svg(cells), encoding="utf-8")


def report_of(cells: Sequence[ComparisonCell], searches: Sequence[SearchedPolicy]) -> dict[str, object]:
    """Return the report as JSON, with the names of policies and faults in both languages."""
    from engine.lab.sweep.replication_policy import POLICIES, Fault
    from engine.texts import Text

    return {
        "policies": {name: dict(Text(f"replication.policy.{name}")) for name in POLICIES},
        "faults": {fault.value: dict(Text(f"replication.fault.{fault.value}")) for fault in Fault},
        "cells": [cell.to_dict() for cell in cells],
        "searches": [one.to_dict() for one in searches],
    }


def tables_of(cells: Sequence[ComparisonCell], searches: Sequence[SearchedPolicy]) -> str:
    """Return the report as Markdown: a table per fault with a row per policy, then what the search found."""
    from engine.lab.sweep.replication_policy import Fault
    from engine.texts import Text

    lines: list[str] = []
    for fault in Fault:
        lines += [
            f"**{Text(f'replication.fault.{fault.value}')}**",
            "",
            "| policy | acknowledged | lost | unavailable | doubled | on one machine only | in doubt |",
            "|---|---|---|---|---|---|---|",
            *(_row(cell) for cell in cells if cell.fault == fault.value),
            "",
        ]
    if searches:
        lines += [
            "| policy | shortest loss | events until then | schedules |",
            "|---|---|---|---|",
            *map(_searched, searches),
        ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _name(policy: str) -> str:
    from engine.texts import Text

    return str(Text(f"replication.policy.{policy}"))


def _row(cell: ComparisonCell) -> str:
    figures = (cell.acknowledged, cell.lost, unavailable_of(cell), cell.duplicates, cell.on_one_machine, cell.in_doubt)
    reported = [f"{figure:,}" if isinstance(figure, int) else figure for figure in figures]
    return f"| {' | '.join((_name(cell.policy), *reported))} |"


def unavailable_of(cell: ComparisonCell) -> str:
    """Return for how long no client could send."""
    return f"{cell.unavailable_ms / 1_000:.2f} s" if cell.is_back else "to the end"


def _searched(one: SearchedPolicy) -> str:
    from engine.texts import Text

    found, events = "none", "-"
    if one.faults:
        events = f"{one.events:,}"
        before = f"{Text(f'replication.fault.{one.before}')}, then the leader dies" if one.before else "the leader dies"
        found = f"{one.lost} after {one.faults} fault{'s' if one.faults > 1 else ''}: {before}"
    return f"| {_name(one.policy)} | {found} | {events} | {one.schedules:,} |"

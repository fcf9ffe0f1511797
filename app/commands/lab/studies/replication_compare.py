"""``glassmq lab study replication-compare``: the same fault for every policy of replication, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING

import click

from app.commands.lab.studies.study import Findings, Study, StudyTable, run_each

if TYPE_CHECKING:
    from engine.lab.sweep.replication_compare import ComparisonCell
    from engine.lab.sweep.shortest_loss import SearchedPolicy


@click.command("replication-compare", cls=Study, is_drawn=True)
@click.option(
    "--search/--no-search",
    default=True,
    help="Also search for the shortest loss, which takes some minutes.  [default: yes]",
)
def replication_compare(search: bool) -> Findings:
    """Print the effect of the same fault under each policy of replication: acknowledged, lost, unavailable, doubled.

    Three machines, one client; the master or leader dies 5 ms after an acknowledgement, the line to a follower becomes
    slow, a follower is cut off, the leader is cut off. Each cell is a run, and its link opens it. Then the shortest
    loss is searched for: the leader's death after every event of a window, with and without a fault before. All is
    virtual: the figures are the same on every machine.

    \b
    Examples:
      glassmq lab study replication-compare --no-search
      glassmq lab study replication-compare --write docs/replication/compared.md --svg compared.svg
      glassmq lab study replication-compare --json static/lab/comparisons/replication-compare.json
    """
    from engine.lab.sweep.replication_compare import cell_of
    from engine.lab.sweep.replication_policy import POLICIES, PolicyFault
    from engine.lab.sweep.shortest_loss import search_loss

    pairs = [(policy, fault) for policy in POLICIES.values() for fault in PolicyFault]
    cells = run_each("faults", pairs, lambda pair: cell_of(*pair))
    return findings_of(cells, run_each("search", [*POLICIES.values()] if search else [], search_loss))


def findings_of(cells: Sequence[ComparisonCell], searches: Sequence[SearchedPolicy]) -> Findings:
    """Return a table per fault with a row per policy, then what the search found."""
    from engine.lab.sweep.replication_policy import POLICIES, PolicyFault
    from engine.texts import Text

    policies = {name: Text(f"replication.policy.{name}") for name in POLICIES}
    faults = {fault.value: Text(f"replication.fault.{fault.value}") for fault in PolicyFault}
    tables = []
    for fault, text in faults.items():
        if rows := [{"policy": str(policies[cell.policy]), **_row(cell)} for cell in cells if cell.fault == fault]:
            tables.append(StudyTable(rows, f"**{text}**"))
    if searches:
        tables.append(StudyTable([{"policy": str(policies[one.policy]), **_search_row(one)} for one in searches]))
    report = {
        "policies": {name: dict(text) for name, text in policies.items()},
        "faults": {name: dict(text) for name, text in faults.items()},
        "cells": [asdict(cell) for cell in cells],
        "searches": [asdict(one) for one in searches],
    }
    return Findings(tables, report, partial(_draw, cells))


def _row(cell: ComparisonCell) -> dict[str, object]:
    return {
        "acknowledged": cell.acknowledged,
        "lost": cell.lost,
        "unavailable": _unavailable(cell),
        "doubled": cell.duplicates,
        "on one machine only": cell.on_one_machine,
        "in doubt": cell.in_doubt,
    }


def _unavailable(cell: ComparisonCell) -> str:
    """Return for how long no client could send."""
    return f"{cell.unavailable_ms / 1_000:.2f} s" if cell.is_back else "to the end"


def _search_row(one: SearchedPolicy) -> dict[str, object]:
    from engine.texts import Text

    loss, events = "none", "-"
    if one.faults:
        events = f"{one.events:,}"
        before = f"{Text(f'replication.fault.{one.before}')}, then the leader dies" if one.before else "the leader dies"
        loss = f"{one.lost} after {one.faults} fault{'s' if one.faults > 1 else ''}: {before}"
    return {"shortest loss": loss, "events until then": events, "schedules": one.schedules}


def _draw(cells: Sequence[ComparisonCell]) -> str:
    """Draw a group of bars for each fault; the label at a bar's end names losses and duplicates, too."""
    from app.storage.plots import Bar, bars_svg
    from engine.texts import Text

    groups: dict[str, list[Bar]] = {}
    for cell in cells:
        seconds = cell.unavailable_ms / 1_000
        counts = [f"{count} {word}" for count, word in ((cell.lost, "lost"), (cell.duplicates, "doubled")) if count]
        label = ", ".join((_unavailable(cell), *counts))
        bar = Bar(str(Text(f"replication.policy.{cell.policy}")), seconds, seconds, seconds, label)
        groups.setdefault(str(Text(f"replication.fault.{cell.fault}")), []).append(bar)
    return bars_svg("How long nobody can send, and what is lost", groups)

"""``glassmq lab study acknowledgement``: what each acknowledgement policy may lose."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

import click

from app.commands.lab.studies.study import Findings, Study, StudyTable, run_each

if TYPE_CHECKING:
    from engine.lab.sweep.acknowledgement import FailureDamage, PolicyFigures

#: A broker that acknowledges forty orders, four a second, and flushes every 5 s or after each.
SCENARIO = "broker-crash-async-flush"


@click.command("acknowledgement", cls=Study)
def acknowledgement() -> Findings:
    """Print what each acknowledgement guarantees: in memory, on disk, by slaves, with the loss that each allows.

    The scenario broker-crash-async-flush is run again for each of its acknowledgements, and right after it the broker
    is killed, or its power is cut, or cut in the middle of a write, or its machine is lost. An acknowledged message
    that is neither on the restarted broker nor on a slave is lost. Everything is virtual: the figures are the same on
    every machine.

    \b
    Examples:
      glassmq lab study acknowledgement
      glassmq lab study acknowledgement --write docs/semantics/acknowledgement.md
    """
    from engine.lab.scenario.scenario_files import load_scenario
    from engine.lab.sweep.acknowledgement import POLICIES, figures_of

    return Findings([table_of(run_each(SCENARIO, POLICIES, partial(figures_of, load_scenario(SCENARIO))))])


def table_of(figures: Iterable[PolicyFigures]) -> StudyTable:
    """Return a row for each policy."""
    from engine.lab.sweep.acknowledgement import POLICIES, FailureKind

    losses = "a killed process loses", "a power cut", "cut while it writes", "machine gone"
    rows: list[dict[str, object]] = []
    for row in figures:
        policy = POLICIES[row.acknowledged]
        copies = f", {policy.slaves + 1} copies" if policy.slaves else ""
        name = f"{row.acknowledged} ({policy.flush} flush{copies})"
        lost = {loss: _loss(row.damages[failure]) for loss, failure in zip(losses, FailureKind, strict=True)}
        rows.append({"acknowledged": name, **lost, "a send takes": f"{row.send_us / 1_000:.1f} ms"})
    return StudyTable(rows)


def _loss(damage: FailureDamage) -> str:
    if not damage.runs_with_loss:
        return f"nothing, in {damage.runs} runs"
    return (
        f"something in {damage.runs_with_loss} of {damage.runs} runs, at most {damage.lost_max} messages, "
        f"the last {damage.back_us_max / 1_000_000:.1f} s"
    )

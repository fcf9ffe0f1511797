"""``glassmq lab acknowledgement``: what each acknowledgement policy may lose."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterable

    from engine.lab.sweep.acknowledgement import PolicyFigures

#: A broker that acknowledges forty orders, four a second, and flushes every 5 s or after each.
SCENARIO = "broker-crash-async-flush"
#: The command as documents name it.
_COMMAND = "glassmq lab acknowledgement"


@click.command("acknowledgement")
@click.option(
    "--write",
    "path",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help='Write the table into this document, between a comment with the name of this command and a comment "end".',
)
def acknowledgement(path: Path | None) -> None:
    """Print what each acknowledgement guarantees: in memory, on disk, by slaves, with the loss that each allows.

    The scenario broker-crash-async-flush is run again for each of its acknowledgements, and right after it the broker
    is killed, or its power is cut, or cut in the middle of a write, or its machine is lost. An acknowledged message
    that is neither on the restarted broker nor on a slave is lost. Everything is virtual: the figures are the same on
    every machine.

    \b
    Examples:
      glassmq lab acknowledgement
      glassmq lab acknowledgement --write docs/semantics/acknowledgement.md
    """
    from app.commands.document_table import read_with_place, write_table
    from engine.lab.run.spread import silence_logging
    from engine.lab.scenario.scenario_files import load_scenario
    from engine.lab.sweep.acknowledgement import POLICIES, figures_of

    if path is not None:
        read_with_place(path, _COMMAND)
    silence_logging()
    scenario = load_scenario(SCENARIO)
    with click.progressbar(POLICIES, label=scenario.name, show_pos=True, file=sys.stderr) as bar:
        table = table_of([figures_of(scenario, acknowledged) for acknowledged in bar])
    if path is None:
        click.echo(table, nl=False)
    else:
        write_table(path, _COMMAND, table)


def table_of(figures: Iterable[PolicyFigures]) -> str:
    """Return the figures as Markdown, with a row for each policy."""
    from engine.lab.sweep.acknowledgement import POLICIES, FailureKind

    lines = [
        "| acknowledged | a killed process loses | a power cut | cut while it writes | machine gone | a send takes |",
        "|---|---|---|---|---|---|",
    ]
    for row in figures:
        cells = [_loss_of(row, failure) for failure in FailureKind]
        policy = POLICIES[row.acknowledged]
        copies = f", {policy.slaves + 1} copies" if policy.slaves else ""
        name = f"{row.acknowledged} ({policy.flush} flush{copies})"
        lines.append(f"| {' | '.join((name, *cells, f'{row.send_us / 1_000:.1f} ms'))} |")
    return "\n".join(lines) + "\n"


def _loss_of(row: PolicyFigures, failure: str) -> str:
    from engine.lab.sweep.acknowledgement import FailureKind

    damage = row.damages[FailureKind(failure)]
    if not damage.runs_with_loss:
        return f"nothing, in {damage.runs} runs"
    return (
        f"something in {damage.runs_with_loss} of {damage.runs} runs, at most {damage.lost_max} messages, "
        f"the last {damage.back_us_max / 1_000_000:.1f} s"
    )

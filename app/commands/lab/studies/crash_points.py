"""``glassmq lab study crash-points``: a crash right after each step of a transfer, or of work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from app.commands.lab.lab_options import link_address_option
from app.commands.lab.studies.study import Findings, Study, StudyTable, run_each

if TYPE_CHECKING:
    from engine.lab.sweep.crash_points import CrashOutcome


@click.command("crash-points", cls=Study, is_in_columns=True)
@click.argument("scenario_name", metavar="FILE|NAME")
@click.option(
    "--restart-after-ms",
    type=click.IntRange(1, 3_600_000),
    default=3_000,
    show_default=True,
    help="Milliseconds until the killed node restarts.",
)
@link_address_option
def crash_points(scenario_name: str, restart_after_ms: int, address: str) -> Findings:
    """Kill a node right after each step of a transfer, or of work, one run per step, and print the outcomes.

    For scenarios with a two-phase commit, a bank that sends in transactions, or listeners that work. The last transfer
    of each kind is used, or the last order. LOCKED is how long an account was locked for it, WINDOW how long one bank
    had done its part and the other not; TIMES how often something was done that must be done once.

    \b
    Examples:
      glassmq lab study crash-points xa-two-phase
      glassmq lab study crash-points bank-transaction --restart-after-ms 10000
      glassmq lab study crash-points sub-messages
    """
    from app.commands.tool import load_scenario_argument
    from engine.lab.sweep.crash_points import crash_at, find_points

    scenario = load_scenario_argument(scenario_name)
    outcomes = run_each(scenario.name, find_points(scenario), lambda point: crash_at(scenario, point, restart_after_ms))
    worst = max(outcomes, key=lambda outcome: (not outcome.is_conserved, outcome.locked_us))
    what = "the longest lock" if worst.is_conserved else "the first that breaks something"
    link = f"{what}: {address.rstrip('/')}/lab/{scenario.name}#{worst.link}"
    return Findings(
        [StudyTable([_row(outcome) for outcome in outcomes])],
        {"restart_after_ms": restart_after_ms, "points": [outcome.to_dict() for outcome in outcomes]},
        note=link if worst.locked_us or not worst.is_conserved else "",
    )


def _row(outcome: CrashOutcome) -> dict[str, object]:
    return {
        "WHAT": outcome.point.way,
        "CRASHES": outcome.point.node,
        "RIGHT AFTER IT": outcome.point.texts["en"],
        "OUTCOME": outcome.outcome,
        "LOCKED": "-" if outcome.times is not None else f"{outcome.locked_us / 1e6:.2f} s",
        "WINDOW": "-" if outcome.window_us is None else f"{outcome.window_us / 1e6:.2f} s",
        "TIMES": "-" if outcome.times is None else outcome.times,
        "ALL HOLDS": "yes" if outcome.is_conserved else "NO",
    }

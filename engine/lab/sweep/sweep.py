"""A sweep: many seeds of one scenario, each with random faults of its own, under all invariants.

    result = run_seed(load_scenario("general"), seed=17)
    result.violations, result.link

What happens to a seed is a function of scenario and seed: its faults are those of :mod:`engine.lab.sweep.fault_plan`.
The idea is FoundationDB's and TigerBeetle's simulator; RocketMQ has none.

Processes and machines are outside this module: seeds are independent, so the caller may spread them in any way;
:mod:`engine.lab.sweep.seed_chunk` is the unit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.lab.run.gc_pause import with_gc_paused
from engine.lab.run.run import LabRun
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.errors import CommandRefused
from engine.lab.scenario.scenario import FaultKind, NodeSetting, Scenario
from engine.lab.sweep.fault_plan import PlannedFault, draw_faults, lay_out


@dataclass(frozen=True, slots=True)
class SeedResult:
    """Result of one seed.

    :ivar events: how many events ran.
    :ivar faults: how many commands were applied.
    :ivar fault_kinds: the kinds of the faults that took effect, in the order of time; a kind may be there twice.
    :ivar violations: as JSON objects, see :class:`~engine.lab.checkers.watch.violation.Violation`.
    :ivar link: fragment that reproduces the run; empty when nothing was violated.
    """

    seed: int
    events: int
    faults: int
    journal_hash: str
    violations: tuple[Mapping[str, Any], ...]
    link: str
    fault_kinds: tuple[FaultKind, ...] = ()


def run_seed(
    scenario: Scenario, seed: int, *, random_faults: bool = True, settings: Sequence[NodeSetting] = ()
) -> SeedResult:
    """Run ``scenario`` to its end with ``seed``. Raises ``RunLimitReached`` if it has too many events."""
    return run_with_faults(scenario, seed, draw_faults(scenario, seed) if random_faults else (), settings=settings)


@with_gc_paused
def run_with_faults(
    scenario: Scenario,
    seed: int,
    faults: Sequence[PlannedFault],
    at_end: Callable[[LabRun], None] | None = None,
    settings: Sequence[NodeSetting] = (),
) -> SeedResult:
    """Run with these faults. ``at_end`` may inspect the world before it is freed; ``settings`` apply from the
    beginning, and are part of the link.
    """
    kinds: list[FaultKind] = []
    with LabRun(scenario, seed) as run:
        for node, name, value in settings:
            run.apply(parse_command({"kind": "setting", "target": node, "name": name, "value": value}))
        for planned in lay_out(scenario, faults):
            run.run_to_time(planned.time_ms * 1_000)
            try:
                run.apply(parse_command(planned.command))
            except CommandRefused:
                continue  # another fault came first: a node that is down can neither crash nor pause
            if planned.begins is not None:
                kinds.append(planned.begins)
        run.run_to_time(scenario.duration_ms * 1_000)
        if at_end is not None:
            at_end(run)
        violations = tuple(violation.to_dict() for violation in run.violations)
        link = run.link() if violations else ""
        return SeedResult(seed, run.event_number, len(run.commands), run.journal_hash, violations, link, tuple(kinds))

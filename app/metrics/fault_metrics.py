"""Metrics of injected faults: hits of rules, other active faults, frames that are held."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.metrics.exposition import Family

if TYPE_CHECKING:
    from engine.faults.fault_gate import FaultGate


def fault_families(gate: FaultGate, broken: int) -> list[Family]:
    """Return the metrics.

    :param broken: number of active faults other than frames, such as the broker's disk.
    """
    hits = Family("glassmq_fault_hits_total", "Frames that rules acted on.", ("what",), "counter")
    for what, count in gate.totals.items():
        hits.add((what.value,), count)
    active = Family("glassmq_faults_active", "Rules that may still act, and other active faults.")
    active.add((), gate.active_rules + broken)
    held = Family("glassmq_held_frames", "Held frames that wait for a user's decision.")
    held.add((), len(gate.held))
    return [hits, active, held]

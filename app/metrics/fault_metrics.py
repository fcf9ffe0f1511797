"""Metrics of injected faults: hits of rules, other active faults, frames that are held."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.metrics.exposition import MetricFamily

if TYPE_CHECKING:
    from engine.faults.fault_injector import FaultInjector


def fault_families(injector: FaultInjector, broken: int) -> list[MetricFamily]:
    """Return the metrics.

    :param broken: number of active faults other than frames, such as the broker's disk.
    """
    hits = MetricFamily("glassmq_fault_hits_total", "Frames that rules acted on.", ("what",), "counter")
    for what, count in injector.totals.items():
        hits.add((what.value,), count)
    active = MetricFamily("glassmq_faults_active", "Rules that may still act, and other active faults.")
    active.add((), injector.active_rules + broken)
    held = MetricFamily("glassmq_held_frames", "Held frames that wait for a user's decision.")
    held.add((), len(injector.held))
    return [hits, active, held]

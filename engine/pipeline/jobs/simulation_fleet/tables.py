"""Results of a sweep as rows, for the terminal and the page. It needs no Spark."""

from __future__ import annotations

from collections.abc import Mapping

from engine.lab.sweep.sweep_summary import SweepCounterexample, SweepSummary
from engine.lab.sweep.wilson import wilson_interval
from engine.pipeline.jobs.report import AnyCell, Cell
from engine.pipeline.jobs.simulation_fleet.description import FAULTS
from engine.texts import joined


def kind_rows(summary: SweepSummary) -> list[tuple[Cell, ...]]:
    """Return one row per kind of fault, the highest rate first, after one for all runs.

    Columns: kind, runs, with violations, rate, its 95 % interval (low, high), runs without another kind of fault, with
    violations of those.
    """
    rows: list[tuple[Cell, ...]] = [("*", *_rate(summary.bad, summary.seeds), None, None)]
    kinds = sorted(summary.kinds.items(), key=lambda item: (-item[1].bad / item[1].runs, -item[1].runs, item[0]))
    rows += [(kind.value, *_rate(count.bad, count.runs), count.alone, count.alone_bad) for kind, count in kinds]
    return rows


def _rate(bad: int, runs: int) -> tuple[int, int, float, float, float]:
    low, high = wilson_interval(bad, runs)
    return runs, bad, bad / runs if runs else 0.0, low, high


def finding_rows(
    summary: SweepSummary, examples: Mapping[str, SweepCounterexample], address: str
) -> list[tuple[AnyCell, ...]]:
    """Return one row per violated invariant, the most frequent first.

    Columns: invariant, anomaly, runs, the shortest run's seed, its faults, its event, what it violates, its address.
    """
    rows: list[tuple[AnyCell, ...]] = []
    for name, finding in sorted(summary.findings.items(), key=lambda item: (-item[1].runs, item[0])):
        example = examples.get(name, finding.shortest)
        rows.append(
            (
                name,
                example.violation["anomaly"],
                finding.runs,
                example.seed,
                joined("words.list", [FAULTS[fault] for fault in example.faults]) if example.faults else None,
                example.violation["event"],
                example.violation["text"],
                f"{address}#{example.link}",
            )
        )
    return rows

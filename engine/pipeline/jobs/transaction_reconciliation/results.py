"""Rows of the result tables out of a summary."""

from __future__ import annotations

from collections.abc import Sequence

from engine.pipeline.jobs.report import Cell
from engine.pipeline.jobs.transaction_reconciliation.ledgers import Money
from engine.pipeline.jobs.transaction_reconciliation.summary import Summary
from engine.pipeline.jobs.transaction_reconciliation.words import Status, Window

Rows = list[Sequence[Cell]]
_STATUS_ORDER = (
    Status.OPEN,
    Status.NOT_COMMITTED,
    Status.GIVEN_UP,
    Status.ROLLED_BACK,
    Status.COMMITTED,
    Status.NOT_READ,
)


def summary_rows(summary: Summary) -> Rows:
    """(status, transactions, share, check-backs), those first that still need somebody."""
    counted = summary.statuses
    total = sum(count for count, _ in counted.values())
    return [
        [status.value, counted[status][0], counted[status][0] / total, counted[status][1]]
        for status in _STATUS_ORDER
        if status in counted
    ]


def open_rows(summary: Summary, now_ms: int) -> Rows:
    """(message, topic, producer group, key, status, since, age ms, check-backs, broker, half offset), oldest first."""
    return [
        [*row[:5], born_ms, max(0, now_ms - born_ms), row[5] or 0, *row[6:]] for born_ms, _, row in summary.unsettled
    ]


def finding_rows(summary: Summary) -> Rows:
    """(finding, message, topic, key, commits, op messages, broker, 1), the worst first."""
    return [row for *_, row in summary.findings]


def window_row(summary: Summary) -> Sequence[Cell]:
    """(what, count, p50, p90, p99, longest), ms: how long committed messages were kept back."""
    windows = summary.windows
    shares = [windows.percentile(share) for share in (0.5, 0.9, 0.99)] if windows.count else [None] * 3
    return [Window.HALF_TO_COMMITTED, windows.count, *shares, windows.longest if windows.count else None]


def longest_rows(summary: Summary) -> Rows:
    """(what, key, from, to, ms), the longest first."""
    return [
        [Window.HALF_TO_COMMITTED, key, from_ms, to_ms, -negative] for negative, key, from_ms, to_ms in summary.longest
    ]


def money_row(sums: Money, expected: int | None) -> Sequence[Cell]:
    """(before, expected, after, in flight, lost, from nowhere, conserved, problems).

    :param expected: what somebody knows of ``before``; that it was another sum is a problem, too. None: nobody knows.
    """
    is_as_expected = expected in (None, sums.before)
    return [
        sums.before,
        expected,
        sums.after,
        sums.in_flight,
        sums.lost,
        sums.from_nowhere,
        sums.is_conserved and is_as_expected,
        sums.problems + (0 if is_as_expected else 1),
    ]

"""Result tables, plots and notes of the reconciliation, from merged facts and ledgers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from pyspark.sql import DataFrame

from engine.pipeline.jobs.job import JobRun
from engine.pipeline.jobs.report import Cell
from engine.pipeline.jobs.transaction_reconciliation.ledgers import Ledgers, Money
from engine.pipeline.jobs.transaction_reconciliation.summary import ReconciliationSummary, buckets_over, keys_of
from engine.pipeline.jobs.transaction_reconciliation.verdicts import OpQueue, bounds_of, halves_until_ms, judge
from engine.pipeline.jobs.transaction_reconciliation.words import UNSETTLED, Status, TransactionAnomaly, Window
from engine.texts import Text

Rows = list[Sequence[Cell]]
#: Statuses that still require action come first.
_STATUS_ORDER = (*UNSETTLED, Status.ROLLED_BACK, Status.COMMITTED, Status.NOT_READ)


def current_ms() -> int:
    """Return the time in ms since 1970."""
    return time.time_ns() // 1_000_000


class ReconciliationReporter:
    """Report the results of merged facts.

    :param topics: the topics that were read.
    :param is_history: everything that exists was read: plots show all of it; otherwise one point is added.
    """

    def __init__(self, run: JobRun, op_queue: OpQueue, topics: tuple[str, ...], *, is_history: bool = True) -> None:
        self._run = run
        self._report = run.report
        self._op_queue = op_queue
        self._topics = topics
        self._is_history = is_history

    def report(
        self, merged: DataFrame, ledgers: Ledgers | None, unknown: tuple[int, int] | None = None
    ) -> Callable[[], None]:
        """Report the results. Return a function that reports the money again after the ledgers were copied again; it
        does not use Spark.

        :param unknown: as in :meth:`Ledgers.compare`.
        """
        bounds = bounds_of(merged)
        judged = judge(merged, bounds, self._op_queue, self._topics)
        if ledgers is not None:
            # Other programs' transactions are not transfers, even if their keys look alike.
            ledgers.add_messages(keys_of(judged, ledgers.producer_group))
        summary = ReconciliationSummary(judged, self._report.rows_max)
        if self._run.names("topics"):
            # These were not requested.
            summary.statuses.pop(Status.NOT_READ, None)
        # All that Spark computes comes first: a stop between two tables would leave some of them old.
        now_ms = current_ms()
        found, kept_back, longest = summary.open_rows(now_ms), summary.window_row(), summary.longest_rows()
        levels: list[tuple[int, int]] = []
        # It is unknown when half messages were decided if op messages cannot be read.
        if self._is_history and self._op_queue.is_readable:
            buckets = buckets_over(bounds)
            levels = buckets.levels(summary.open_changes(buckets))
        self._report_transactions(summary, found, levels, now_ms)
        read_until_ms = None if self._is_history else halves_until_ms(bounds)

        def report_the_rest() -> None:
            if ledgers is not None:
                ledgers.compare(read_until_ms, unknown)
                self._report_money(ledgers)
            self._report_windows(kept_back, longest, ledgers)

        report_the_rest()
        return report_the_rest

    def _report_windows(self, kept_back: Sequence[Cell], longest: Rows, ledgers: Ledgers | None) -> None:
        """Report how long committed messages were held back, and the time from debit to credit; the longest first."""
        windows: Rows = [[Window.HALF_TO_COMMITTED, *kept_back]]
        rows: Rows = [[Window.HALF_TO_COMMITTED, *row] for row in longest]
        if ledgers is not None:
            windows.append([Window.DEBIT_TO_CREDIT, *ledgers.window_row()])
            rows += [[Window.DEBIT_TO_CREDIT, *row] for row in ledgers.longest_rows()]
        self._report.table("windows", windows)
        self._report.table("longest", rows)

    def _report_transactions(
        self, summary: ReconciliationSummary, found: Rows, levels: Sequence[tuple[int, int]], now_ms: int
    ) -> None:
        counted = summary.statuses
        total = sum(count for count, _ in counted.values())
        known = [status for status in _STATUS_ORDER if status in counted]
        self._report.table(
            "summary",
            [[status.value, counted[status][0], counted[status][0] / total, counted[status][1]] for status in known],
        )
        unsettled = sum(counted.get(status, (0, 0))[0] for status in UNSETTLED)
        self._report.table("open", found, left_out=unsettled - len(found))
        counts = summary.finding_counts
        self._report.table("finding_counts", [[kind, counts[kind]] for kind in TransactionAnomaly if counts.get(kind)])
        findings = summary.finding_rows()
        self._report.table("findings", findings, left_out=summary.finding_count - len(findings))
        if self._is_history:
            for at_ms, level in levels:
                self._report.point("open", "open", at_ms, level)
            self._report_outcome(summary)
        else:
            self._report.point("open", "open", now_ms, unsettled)

    def _report_outcome(self, summary: ReconciliationSummary) -> None:
        if not summary.statuses:
            self._report.note(Text("job.note.no_transactions"))
        elif not summary.finding_count:
            could_see_all = self._op_queue.is_readable
            self._report.note(Text("job.note.nothing_wrong") if could_see_all else Text("job.note.nothing_found"))

    def _report_money(self, ledgers: Ledgers) -> None:
        sums = ledgers.money()
        self._report.table("money", [money_row(sums, self._run.arguments["opening_sum"])])
        accounts = ledgers.accounts
        self._report.table("accounts", accounts, left_out=ledgers.account_count - len(accounts))
        self._report.table("transfer_counts", ledgers.transfer_counts())
        rows = ledgers.transfer_rows()
        self._report.table("transfers", rows, left_out=ledgers.differing() - len(rows))
        if self._is_history:
            for at_ms, level in ledgers.levels():
                self._report.point("in_flight", "in flight", at_ms, level)
        else:
            self._report.point("in_flight", "in flight", current_ms(), sums.in_flight)


def money_row(sums: Money, expected: int | None) -> Sequence[Cell]:
    """Return (before, expected, after, in flight, lost, from nowhere, conserved, problems).

    :param expected: the expected value of ``before``; a different sum is a problem, too. None: unknown.
    """
    is_as_expected = expected in (None, sums.before)
    problems = sums.problems + (0 if is_as_expected else 1)
    moved = sums.in_flight, sums.lost, sums.from_nowhere
    return [sums.before, expected, sums.after, *moved, sums.is_conserved and is_as_expected, problems]

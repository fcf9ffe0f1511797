"""Summaries of judged facts, computed by Spark. They are small for any input."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.functions import desc, expr

from engine.pipeline.jobs.report import ROWS_MAX, Cell, fair_share
from engine.pipeline.jobs.transaction_reconciliation.facts import TRANSACTION
from engine.pipeline.jobs.transaction_reconciliation.verdicts import OP_GRACE_MS
from engine.pipeline.jobs.transaction_reconciliation.words import UNSETTLED, Status, TransactionAnomaly

#: Longest windows that are listed individually.
LONGEST_MAX = 20
#: Most findings of the kind "decided late" among which a commit and its op message are recognized as one.
PAIRED_MAX = 10_000
#: Points of a plot over the whole history.
POINTS_MAX = 200
#: Columns of the table ``findings`` after the kind, and positions in its rows.
_FINDING = ("identity", "topic", "key", "committed", "ops", "broker_name")
_COMMITS, _BROKER = 4, 6
#: Columns of the table ``open`` without the age.
_OPEN = (
    *("identity", "topic", "producer_group", "key", "status", "unix_millis(born) AS born_ms"),
    *("coalesce(checks, 0)", "broker_name", "last_half_offset"),
)
#: Committed messages whose first half message was read; without it, it is unknown how long the message was held back.
_WINDOWS = f"""
    role = '{TRANSACTION}' AND status = '{Status.COMMITTED}'
    AND prepared_place >= first_half_place AND committed_stored >= half_stored
"""


@dataclass(frozen=True, slots=True)
class Buckets:
    """A time span, divided into buckets of equal length."""

    first_ms: int
    step_ms: int

    @classmethod
    def over(cls, first_ms: int, last_ms: int) -> Buckets:
        """Return some 200 buckets."""
        return cls(first_ms, max(1, -(-(last_ms - first_ms + 1) // POINTS_MAX)))

    def levels(self, changes: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return (ms, level) at the end of each bucket with a change: the sum of all changes until then.

        :param changes: (bucket, change).
        """
        level, points = 0, []
        for number, change in sorted(changes):
            level += change
            points.append((self.first_ms + (number + 1) * self.step_ms - 1, level))
        return points


class ReconciliationSummary:
    """Counts, and the rows worth reporting, of judged facts.

    :param rows_max: most rows of the tables ``open`` and ``findings``.
    :ivar statuses: status -> (transactions, check-backs).
    :ivar finding_counts: kind -> how many there are in all.
    :ivar findings: (place, last stored ms, row of the table ``findings``), the oldest ``rows_max`` of each kind;
        of those decided late up to :data:`PAIRED_MAX`.
    """

    def __init__(self, judged: DataFrame, rows_max: int = ROWS_MAX) -> None:
        self._judged = judged
        self._rows_max = rows_max
        self.statuses: dict[str, tuple[int, int]] = {}
        self.finding_counts: dict[str, int] = {}
        self.findings: list[tuple[int, int, list[Any]]] = []
        counts = (
            "count(*) AS rows",
            "sum(counted) AS transactions",
            f"sum(IF(role = '{TRANSACTION}', counted * coalesce(checks, 0), forgotten_checks)) AS checks",
        )
        for row in judged.groupBy("status", "findings").agg(*map(expr, counts)).collect():
            if row.transactions:
                count, checks = self.statuses.get(row.status, (0, 0))
                self.statuses[row.status] = count + row.transactions, checks + row.checks
            for kind in row.findings:
                self.finding_counts[kind] = self.finding_counts.get(kind, 0) + row.rows
        if self.finding_counts:
            self._find_worst()
            self._drop_echoes()

    def _find_worst(self) -> None:
        kinds = [str(kind) for kind in TransactionAnomaly]
        found = self._judged.selectExpr("explode(findings) AS kind", *_FINDING, "unix_millis(last_stored) AS at_ms")
        worst = found.selectExpr("*", "row_number() OVER (PARTITION BY kind ORDER BY at_ms, identity) AS turn")
        late = TransactionAnomaly.DECIDED_LATE
        limit = f"IF(kind = '{late}', {max(PAIRED_MAX, self._rows_max)}, {self._rows_max})"
        for *row, at_ms, _ in worst.where(f"turn <= {limit}").collect():
            self.findings.append((kinds.index(row[0]), at_ms, [*row, 1]))
        self.findings.sort(key=lambda finding: (finding[0], finding[1], finding[2][1]))

    def _drop_echoes(self) -> None:
        """Merge a late commit and its op message, which are one event and are related only by their store times.

        This is exact up to :data:`PAIRED_MAX` findings of the kind.
        """
        kind = TransactionAnomaly.DECIDED_LATE
        late = [finding for finding in self.findings if finding[2][0] == kind][:PAIRED_MAX]
        ops: dict[str, deque[tuple[int, int, list[Any]]]] = {}
        for finding in late:
            if not finding[2][_COMMITS]:
                ops.setdefault(finding[2][_BROKER], deque()).append(finding)
        echoes: set[int] = set()
        for _, at_ms, row in late:
            # The oldest come first, so what is too old for this commit is too old for the following ones.
            near = ops.get(row[_BROKER], deque())
            while near and row[_COMMITS] and near[0][1] < at_ms - OP_GRACE_MS:
                near.popleft()
            for _ in range(row[_COMMITS]):
                if near and near[0][1] <= at_ms + OP_GRACE_MS:
                    echoes.add(id(near.popleft()))
        self.findings = [finding for finding in self.findings if id(finding) not in echoes]
        if echoes:
            self.finding_counts[kind] -= len(echoes)

    @property
    def finding_count(self) -> int:
        """Return how many findings there are in all."""
        return sum(self.finding_counts.values())

    def finding_rows(self) -> list[Sequence[Cell]]:
        """Return rows of the table ``findings``, some of each kind."""
        kinds: dict[int, list[Sequence[Cell]]] = {}
        for place, _, row in self.findings:
            kinds.setdefault(place, []).append(row)
        return fair_share(kinds.values(), self._rows_max)

    def open_rows(self, now_ms: int) -> list[Sequence[Cell]]:
        """Return rows of the table ``open``, the oldest first."""
        is_open = f"role = '{TRANSACTION}' AND counted > 0 AND status IN {tuple(map(str, UNSETTLED))}"
        oldest = self._judged.where(is_open).orderBy("born", "identity").limit(self._rows_max)
        return [[*row[:6], max(0, now_ms - row.born_ms), *row[6:]] for row in oldest.selectExpr(*_OPEN).collect()]

    def window_row(self) -> Sequence[Cell]:
        """Return (count, p50, p90, p99, longest) of ms from half to committed: exact, by nearest rank."""
        disc = "bigint(percentile_disc({}) WITHIN GROUP (ORDER BY ms))"
        figures = ("count(*)", *map(disc.format, (0.5, 0.9, 0.99)), "max(ms)")
        return list(self._windows().selectExpr(*figures).collect()[0])

    def longest_rows(self) -> list[Sequence[Cell]]:
        """Return (key, from, to, ms), the longest first."""
        longest = self._windows().orderBy(desc("ms"), "name").limit(LONGEST_MAX)
        return [list(row) for row in longest.collect()]

    def _windows(self) -> DataFrame:
        times = ("unix_millis(half_stored) AS from_ms", "unix_millis(committed_stored) AS to_ms")
        windows = self._judged.where(_WINDOWS).selectExpr("coalesce(key, identity) AS name", *times)
        return windows.selectExpr("*", "to_ms - from_ms AS ms")

    def open_changes(self, buckets: Buckets) -> list[tuple[int, int]]:
        """Return (bucket, half messages stored less half messages decided)."""
        stored = self._judged.where(
            f"role = '{TRANSACTION}' AND status <> '{Status.NOT_READ}' AND half_stored IS NOT NULL"
        )
        changes = stored.selectExpr("stack(2, half_stored, 1, least(op_stored, committed_stored), -1) AS (at, change)")
        bucket = f"(unix_millis(at) - {buckets.first_ms}) DIV {buckets.step_ms} AS bucket"
        sums = changes.where("at IS NOT NULL").selectExpr(bucket, "change").groupBy("bucket").sum("change")
        return [(bucket, change) for bucket, change in sums.collect()]


def keys_of(judged: DataFrame, producer_group: str | None) -> Iterator[tuple[str, str]]:
    """Yield (key, status) of the transactions of this group; None: of all groups."""
    ours = judged.where(f"role = '{TRANSACTION}' AND key IS NOT NULL")
    if producer_group is not None:
        ours = ours.where(ours["producer_group"] == producer_group)
    yield from ours.select("key", "status").toLocalIterator(prefetchPartitions=True)


def buckets_over(bounds: Any) -> Buckets:
    """Return buckets from the first half message to the newest message of any broker."""
    newest_ms = pc.max(bounds["newest_ms"]).as_py() or 0
    return Buckets.over(pc.min(bounds["oldest_ms"]).as_py() or newest_ms, newest_ms)

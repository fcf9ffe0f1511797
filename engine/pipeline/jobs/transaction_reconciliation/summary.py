"""Summaries of judged facts, made by each task for its rows and added up by the driver. They are small for any
input.
"""

from __future__ import annotations

import heapq
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.pipeline.jobs.arrow_columns import arrow_schema_of, milliseconds, numbers
from engine.pipeline.jobs.latency_histogram import LatencyHistogram
from engine.pipeline.jobs.report import ROWS_MAX, Cell, fair_share
from engine.pipeline.jobs.transaction_reconciliation.facts import FORGOTTEN, TRANSACTION
from engine.pipeline.jobs.transaction_reconciliation.packing import pack_piece, unpack, unpack_piece
from engine.pipeline.jobs.transaction_reconciliation.verdicts import OP_GRACE_MS, Bounds, Rules, is_counted, judge_table
from engine.pipeline.jobs.transaction_reconciliation.words import UNSETTLED, Status, TransactionAnomaly

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Longest windows that are listed individually.
LONGEST_MAX = 20
#: Points of a plot over the whole history.
POINTS_MAX = 200
#: A task's row is its summary, or a packed table of keys and statuses of transactions.
_SCHEMA = "summary string, piece binary"
_ARROW = arrow_schema_of(_SCHEMA)
#: Later than any message, in ms.
_NEVER = 1 << 52
#: Positions in a row of the table ``findings``.
_COMMITS, _BROKER = 4, 6
_FINDINGS = {finding.value: place for place, finding in enumerate(TransactionAnomaly)}


@dataclass(frozen=True, slots=True)
class Buckets:
    """A time span, divided into buckets of equal length."""

    first_ms: int
    step_ms: int

    @classmethod
    def over(cls, first_ms: int, last_ms: int) -> Buckets:
        """Return some 200 buckets."""
        return cls(first_ms, max(1, -(-(last_ms - first_ms + 1) // POINTS_MAX)))

    def levels(self, changes: dict[int, int]) -> list[tuple[int, int]]:
        """Return (ms, level) at the end of each bucket with a change: the sum of all changes until then.

        :param changes: bucket -> change.
        """
        level, points = 0, []
        for number in sorted(changes):
            level += changes[number]
            points.append((self.first_ms + (number + 1) * self.step_ms - 1, level))
        return points


def buckets_over(bounds: dict[str, Bounds]) -> Buckets:
    """Return buckets from the first half message to the newest message of any broker."""
    newest_ms = max((one.newest_ms for one in bounds.values()), default=0)
    return Buckets.over(min([newest_ms, *(one.oldest_ms for one in bounds.values())]), newest_ms)


@dataclass
class ReconciliationSummary:
    """Counts, and the rows worth reporting.

    :ivar statuses: status -> [transactions, check-backs].
    :ivar unsettled: (born ms, identity, row of the table ``open`` without the age), the oldest.
    :ivar findings: (place, last stored ms, identity, row of the table ``findings``), ``rows_max`` of each kind.
    :ivar finding_counts: kind -> how many there are in all.
    :ivar windows: from half to committed.
    :ivar longest: (-ms, key, from ms, to ms), the longest first.
    :ivar open_changes: bucket -> half messages stored less half messages decided.
    :ivar rows_max: most rows of the tables ``open`` and ``findings``.
    """

    rows_max: int = ROWS_MAX
    statuses: dict[str, list[int]] = field(default_factory=dict)
    unsettled: list[list[Any]] = field(default_factory=list)
    findings: list[list[Any]] = field(default_factory=list)
    finding_counts: dict[str, int] = field(default_factory=dict)
    windows: LatencyHistogram = field(default_factory=LatencyHistogram)
    longest: list[list[Any]] = field(default_factory=list)
    open_changes: dict[int, int] = field(default_factory=dict)

    def update(self, other: ReconciliationSummary) -> None:
        """Add the summary of another task."""
        for status, (count, checks) in other.statuses.items():
            self._count(status, count, checks)
        self.unsettled = heapq.nsmallest(self.rows_max, [*self.unsettled, *other.unsettled], key=_age)
        self._keep_worst([*self.findings, *other.findings])
        self._count_findings(other.finding_counts)
        self.windows.update(other.windows)
        self.longest = heapq.nsmallest(LONGEST_MAX, [*self.longest, *other.longest])
        for bucket, change in other.open_changes.items():
            self.open_changes[bucket] = self.open_changes.get(bucket, 0) + change

    def drop_echoes(self) -> None:
        """Merge a late commit and its op message, which are one event and are related only by their store times.

        This is exact if all findings are rows.
        """
        late = [row for row in self.findings if row[-1][0] == TransactionAnomaly.DECIDED_LATE]
        commits = [(row[1], row[-1][_BROKER]) for row in late for _ in range(row[-1][_COMMITS])]
        ops = [row for row in late if not row[-1][_COMMITS]]
        for at_ms, broker_name in sorted(commits):
            near = (row for row in ops if row[-1][_BROKER] == broker_name and abs(row[1] - at_ms) <= OP_GRACE_MS)
            echo = next(near, None)
            if echo is not None:
                ops.remove(echo)
                self.findings.remove(echo)
                self.finding_counts[TransactionAnomaly.DECIDED_LATE] -= 1

    @property
    def finding_count(self) -> int:
        """Return how many findings there are in all."""
        return sum(self.finding_counts.values())

    def _count_findings(self, counts: Mapping[str, int]) -> None:
        for kind, count in counts.items():
            self.finding_counts[kind] = self.finding_counts.get(kind, 0) + count

    def _keep_worst(self, findings: list[list[Any]]) -> None:
        worst = (heapq.nsmallest(self.rows_max, of_kind, key=_place) for of_kind in _by_kind(findings))
        self.findings = list(itertools.chain.from_iterable(worst))

    def finding_rows(self) -> list[Sequence[Cell]]:
        """Return rows of the table ``findings``, some of each kind."""
        return [row for *_, row in fair_share(_by_kind(self.findings), self.rows_max)]

    def _count(self, status: str, count: int, checks: int) -> None:
        known = self.statuses.setdefault(status, [0, 0])
        known[0] += count
        known[1] += checks

    # --- task --------------------------------------------------------------------------------------------------------

    def add(self, merged: Any, judged: Any, buckets: Buckets | None) -> None:
        """Add a table of merged facts, and the same table judged.

        :param buckets: None if it is unknown when half messages were decided.
        """
        forgotten = merged.filter(pc.equal(merged.column("role"), FORGOTTEN))
        for row in forgotten.select(["key", "transactions", "forgotten_checks"]).to_pylist():
            if row["transactions"]:
                self._count(*row.values())
        transactions = judged.filter(pc.equal(judged.column("role"), TRANSACTION))
        transactions = transactions.filter(is_counted(transactions))
        counted = transactions.group_by("status", use_threads=False).aggregate(
            [("identity", "count"), ("checks", "sum")]
        )
        for row in counted.to_pylist():
            self._count(row["status"], row["identity_count"], row["checks_sum"] or 0)
        is_read = pc.fill_null(pc.not_equal(judged.column("status"), Status.NOT_READ), True)
        judged = judged.filter(is_read)
        self._add_unsettled(transactions)
        self._add_findings(judged)
        self._add_windows(judged)
        if buckets is not None:
            self._add_changes(judged, buckets)

    def _add_unsettled(self, transactions: Any) -> None:
        unsettled = transactions.filter(pc.is_in(transactions.column("status"), pa.array(UNSETTLED)))
        unsettled = unsettled.sort_by([("born", "ascending"), ("identity", "ascending")])[: self.rows_max]
        born_ms = milliseconds(unsettled.column("born")).tolist()
        names = ["identity", "topic", "producer_group", "key", "status", "checks", "broker_name", "last_half_offset"]
        found = zip(born_ms, unsettled.select(names).to_pylist(), strict=True)
        self.unsettled += [[at_ms, row["identity"], list(row.values())] for at_ms, row in found]
        self.unsettled = heapq.nsmallest(self.rows_max, self.unsettled, key=_age)

    def _add_findings(self, judged: Any) -> None:
        counts = numbers(pc.list_value_length(judged.column("findings")), 0)
        if not counts.any():
            return
        bad = judged.filter(pa.array(counts > 0))
        stored_ms = milliseconds(bad.column("last_stored")).tolist()
        names = ["identity", "topic", "key", "committed", "ops", "broker_name", "findings"]
        found: list[list[Any]] = []
        for at_ms, row in zip(stored_ms, bad.select(names).to_pylist(), strict=True):
            kinds = row.pop("findings")
            found += [[_FINDINGS[kind], at_ms, row["identity"], [kind, *row.values(), 1]] for kind in kinds]
        self._count_findings(Counter(row[0] for *_, row in found))
        self._keep_worst([*self.findings, *found])

    def _add_windows(self, judged: Any) -> None:
        both = pc.and_(pc.is_valid(judged.column("half_stored")), pc.is_valid(judged.column("committed_stored")))
        # Without the first copy, it is unknown how long the message was held back.
        is_first = pc.greater_equal(judged.column("prepared_place"), judged.column("first_half_place"))
        is_later = pc.greater_equal(judged.column("committed_stored"), judged.column("half_stored"))
        done = judged.filter(pc.and_(both, pc.and_(is_first, is_later)))
        from_ms, to_ms = milliseconds(done.column("half_stored")), milliseconds(done.column("committed_stored"))
        self.windows.add(to_ms - from_ms)
        longest = np.argsort(from_ms - to_ms, kind="stable")
        if len(longest) > LONGEST_MAX:
            # Includes those as long as the last one: the key decides.
            longest = np.flatnonzero(to_ms - from_ms >= (to_ms - from_ms)[longest[LONGEST_MAX - 1]])
        keys = pc.coalesce(done.column("key"), done.column("identity")).take(pa.array(longest)).to_pylist()
        rows = zip(
            (from_ms - to_ms)[longest].tolist(), keys, from_ms[longest].tolist(), to_ms[longest].tolist(), strict=True
        )
        self.longest = heapq.nsmallest(LONGEST_MAX, [*self.longest, *map(list, rows)])

    def _add_changes(self, judged: Any, buckets: Buckets) -> None:
        transactions = judged.filter(pc.is_valid(judged.column("half_stored")))
        moments = [milliseconds(transactions.column(name), _NEVER) for name in ("op_stored", "committed_stored")]
        decided = np.minimum(*moments)
        stored = milliseconds(transactions.column("half_stored"))
        for at_ms, change in ((stored, 1), (decided[decided < _NEVER], -1)):
            places, counts = np.unique((at_ms - buckets.first_ms) // buckets.step_ms, return_counts=True)
            for place, count in zip(places.tolist(), counts.tolist(), strict=True):
                self.open_changes[place] = self.open_changes.get(place, 0) + change * count

    # --- in flight ---------------------------------------------------------------------------------------------------

    def encode(self) -> str:
        """Encode as JSON."""
        encoded = {"windows": self.windows.encode(), "open_changes": list(self.open_changes.items())}
        return json.dumps(vars(self) | encoded)

    @classmethod
    def decode(cls, text: str) -> ReconciliationSummary:
        """Decode what :meth:`encode` returned."""
        fields = json.loads(text)
        decoded = {"windows": LatencyHistogram.decode(fields["windows"]), "open_changes": dict(fields["open_changes"])}
        return cls(**fields | decoded)


def _age(row: list[Any]) -> list[Any]:
    return row[:2]


def _place(row: list[Any]) -> list[Any]:
    return row[:3]


def _by_kind(findings: list[list[Any]]) -> list[list[list[Any]]]:
    kinds: list[list[list[Any]]] = [[] for _ in _FINDINGS]
    for finding in findings:
        kinds[finding[0]].append(finding)
    return kinds


@dataclass(frozen=True, slots=True)
class StatusRequest:
    """A request for the status of messages by key.

    :ivar report: called with keys and statuses, some thousands at a time.
    :ivar producer_group: only messages of this group are reported; None: all.
    """

    report: Callable[[list[str], list[str]], None]
    producer_group: str | None


def summarise(
    merged: DataFrame, rules: Rules, buckets: Buckets, keys: StatusRequest | None = None, rows_max: int = ROWS_MAX
) -> ReconciliationSummary:
    """Judge and add up everything. The driver holds the summary of one partition at a time."""
    whole = ReconciliationSummary(rows_max)
    group = keys.producer_group if keys is not None else None
    rows: Any = merged.mapInArrow(_summarising(rules, buckets, rows_max, group, wants_keys=keys is not None), _SCHEMA)
    for row in rows.toLocalIterator(prefetchPartitions=True):
        if row.summary is not None:
            whole.update(ReconciliationSummary.decode(row.summary))
        elif keys is not None:
            reported = unpack_piece(bytes(row.piece))
            keys.report(reported.column("key").to_pylist(), reported.column("status").to_pylist())
    whole.drop_echoes()
    return whole


def _summarising(
    rules: Rules, buckets: Buckets, rows_max: int, group: str | None, *, wants_keys: bool
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def run(batches: Iterator[Any]) -> Iterator[Any]:
        summary = ReconciliationSummary(rows_max)
        for merged in unpack(batches):
            judged = judge_table(merged, rules)
            summary.add(merged, judged, buckets if rules.op_queue.is_readable else None)
            if wants_keys:
                yield _keys(judged, group)
        yield pa.RecordBatch.from_pydict({"summary": [summary.encode()], "piece": [None]}, _ARROW)

    return run


def _keys(judged: Any, group: str | None) -> Any:
    is_wanted = pc.and_(pc.equal(judged.column("role"), TRANSACTION), pc.is_valid(judged.column("key")))
    if group is not None:
        is_wanted = pc.and_(is_wanted, pc.equal(judged.column("producer_group"), group))
    ours = pack_piece(judged.filter(is_wanted).select(["key", "status"]))
    return pa.RecordBatch.from_arrays([pa.nulls(1, pa.string()), ours], schema=_ARROW)

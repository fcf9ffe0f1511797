"""Consumption of messages: events of the same message are joined and turned into facts about queues.

The trace identifies messages by unique id, in no order; the results are offsets in queues. So the events are
partitioned by unique id, each task joins its share in memory, and its results are sets of offsets, which can be merged.
Merging a fact twice changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from engine.pipeline.jobs.arrow_columns import arrow_schema_of
from engine.pipeline.jobs.delivery_audit.packed_numbers import Numbers, pack, set_of
from engine.pipeline.jobs.delivery_audit.trace_events import EVENT_ARROW, EVENT_SCHEMA
from engine.pipeline.jobs.latency_histogram import LatencyHistogram

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Most acknowledged messages that are not stored and are listed individually, per task.
SAMPLES_MAX = 500
#: Result of the join: one row of facts per task, and the events that must be processed again.
FACTS_SCHEMA = f"{EVENT_SCHEMA}, facts string"
_FACTS_ARROW = arrow_schema_of(FACTS_SCHEMA)

_Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class JoinRules:
    """The rules of a join: what is reported, and what is kept for later.

    :ivar judge_until_ms: messages stored by then should have been consumed, and acknowledged ones be stored.
    :ivar acknowledged_since_ms: earlier acknowledgements may concern messages that were not read.
    :ivar expected: (group, topic): a message is forgotten once all groups of its topic have consumed it.
    :ivar forget_ms: messages stored before it are forgotten in any case; None: nothing is kept for later.
    """

    judge_until_ms: int
    acknowledged_since_ms: int = 0
    expected: tuple[tuple[str, str], ...] = ()
    forget_ms: int | None = None


def join_events(events: DataFrame, rules: JoinRules, tasks: int) -> DataFrame:
    """Return rows of :data:`FACTS_SCHEMA`. Each task holds its share of ``events`` in memory."""
    return events.repartition(tasks, "unique_id").mapInArrow(_joiner(rules), FACTS_SCHEMA)


def _joiner(rules: JoinRules) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def run(batches: Iterator[Any]) -> Iterator[Any]:
        table = pa.Table.from_batches(list(batches), EVENT_ARROW)
        join = _Join(table, rules)
        facts = {name: [None] for name in EVENT_ARROW.names} | {"facts": [json.dumps(join.facts())]}
        yield from pa.Table.from_pydict(facts, _FACTS_ARROW).to_batches()
        if rules.forget_ms is not None and table.num_rows:
            kept = join.kept(rules.forget_ms)
            yield from kept.append_column("facts", pa.nulls(kept.num_rows, pa.string())).to_batches()

    return run


class _Join:
    """The events of one task's messages.

    Copies of a message (with one unique id) count as one message, the one stored first: a consumer's record does not
    say which copy it received.
    """

    def __init__(self, table: Any, rules: JoinRules) -> None:
        self._rules = rules
        self._table = table.combine_chunks()
        ids = _encoded(self._table, "unique_id")
        self._message: Numbers = ids[1]
        self._at_ms = _column(self._table, "at_ms")
        kinds, kind_of = _encoded(self._table, "kind")
        self._is = {kind: kind_of == code for code, kind in enumerate(kinds)}
        self._unique_ids = ids[0]
        stored = self._rows("stored")
        stored = stored[np.lexsort((self._at_ms[stored], self._message[stored]))]
        _, first = np.unique(self._message[stored], return_index=True)
        self._stored_rows: Numbers = stored[first]
        #: Message -> the row of its first copy; -1: not stored.
        self._row_of = np.full(len(self._unique_ids), -1, np.int64)
        self._row_of[self._message[self._stored_rows]] = self._stored_rows
        self._reported_rows: Numbers = np.concatenate((self._rows("consumed"), self._rows("swallowed")))
        self._is_swallowed = np.zeros(len(self._message), bool)
        self._is_swallowed[self._rows("swallowed")] = True
        self._calls = self._distinct_calls()

    def _rows(self, kind: str) -> Numbers:
        return np.flatnonzero(self._is[kind]) if kind in self._is else np.zeros(0, np.int64)

    def _distinct_calls(self) -> Numbers:
        """Return rows of listener calls about stored messages; a record that was sent twice counts once."""
        rows = self._reported_rows[self._row_of[self._message[self._reported_rows]] >= 0]
        group, call = _encoded(self._table, "client_group")[1], _encoded(self._table, "call")[1]
        fresh = ~_column(self._table, "is_counted").astype(bool)
        rows = rows[np.lexsort((fresh[rows], self._is_swallowed[rows], call[rows], group[rows], self._message[rows]))]
        keys = np.stack((self._message[rows], group[rows], call[rows]))
        is_first = np.ones(len(rows), bool)
        is_first[1:] = np.any(keys[:, 1:] != keys[:, :-1], axis=0)
        return rows[is_first]

    # --- reports -----------------------------------------------------------------------------------------------------

    def facts(self) -> dict[str, Any]:
        """Return the facts as JSON for
        :class:`~engine.pipeline.jobs.delivery_audit.consumption_book.ConsumptionBook`.
        """
        rows = self._stored_rows
        judged = rows[self._at_ms[rows] <= self._rules.judge_until_ms]
        topics, topic = _encoded(self._table, "topic")
        queues, queue = _encoded(self._table, "queue")
        offset = _column(self._table, "queue_offset")
        reported = []
        for some, (topic_code, queue_code) in _groups(judged, topic, queue):
            reported.append([topics[topic_code], queues[queue_code], pack(set_of(offset[some]))])
        return {
            "judged": reported,
            "groups": list(self._group_facts()),
            "not_stored": self._not_stored(),
            "unmatched": int((self._row_of[self._message[self._reported_rows]] < 0).sum()),
            "unreadable": len(self._rows("unreadable")),
        }

    def _group_facts(self) -> Iterator[dict[str, Any]]:
        """Yield per group and queue what it consumed, consumed more than once and failed to consume, and the
        latency.
        """
        topics, topic = _encoded(self._table, "topic")
        queues, queue = _encoded(self._table, "queue")
        groups, group = _encoded(self._table, "client_group")
        offset = _column(self._table, "queue_offset")
        is_ok = _column(self._table, "is_ok").astype(bool)
        is_counted = _column(self._table, "is_counted").astype(bool)
        clients, client = _encoded(self._table, "client")
        calls = self._calls
        places = self._row_of[self._message[calls]]
        order = np.lexsort((queue[places], topic[places], group[calls]))
        calls, places = calls[order], places[order]
        keys = np.stack((group[calls], topic[places], queue[places]))
        for begin, end in _stretches(keys):
            some, at = calls[begin:end], places[begin:end]
            consumed = np.unique(offset[at[is_ok[some]]])
            is_worked = is_ok[some] & ~self._is_swallowed[some]
            worked, times = np.unique(offset[at[is_worked]], return_counts=True)
            fresh = is_worked & ~is_counted[some]
            failed = np.unique(offset[at[~is_ok[some]]])
            # A client that gets a failed message again need not own its queue.
            is_first_try = ~np.isin(offset[at], failed)
            latency = LatencyHistogram()
            latency.add(self._at_ms[some[fresh]] - self._at_ms[at[fresh]])
            yield {
                "group": groups[keys[0, begin]],
                "topic": topics[keys[1, begin]],
                "queue": queues[keys[2, begin]],
                "consumed": pack(set_of(consumed)),
                "twice": pack(set_of(worked[times > 1])),
                "failed": pack(set_of(failed)),
                "owners": [
                    (clients[code], *_extent(offset[at[rows]]), *_extent(self._at_ms[some[rows]]))
                    for rows, (code,) in _groups(np.flatnonzero(is_first_try), client[some])
                    if clients[code]
                ],
                "latency": latency.encode(),
            }

    def _unstored(self) -> Numbers:
        """Return rows of acknowledgements whose message is not stored."""
        rows = self._rows("acknowledged")
        is_ok: _Flags = _column(self._table, "is_ok").astype(bool)
        return rows[(self._row_of[self._message[rows]] < 0) & is_ok[rows]]

    def _not_stored(self) -> list[list[object]]:
        """Return for each topic how many acknowledged messages are not stored, and some of them."""
        rows = self._unstored()
        at_ms = self._at_ms[rows]
        rows = rows[(at_ms <= self._rules.judge_until_ms) & (at_ms >= self._rules.acknowledged_since_ms)]
        _, once = np.unique(self._message[rows], return_index=True)
        rows = rows[once]
        topics, topic = _encoded(self._table, "topic")
        groups, group = _encoded(self._table, "client_group")
        reported: list[list[object]] = []
        for some, (code,) in _groups(rows, topic):
            some = some[np.argsort(self._at_ms[some], kind="stable")]
            samples = [
                [self._unique_ids[self._message[row]], groups[group[row]], int(self._at_ms[row])]
                for row in some[:SAMPLES_MAX]
            ]
            reported.append([topics[code], len(some), samples])
        return reported

    # --- kept state --------------------------------------------------------------------------------------------------

    def kept(self, forget_ms: int) -> Any:
        """Return the events about messages that are not settled."""
        rules = self._rules
        stored = self._row_of >= 0
        stored_ms = np.where(stored, self._at_ms[np.maximum(self._row_of, 0)], 0) if len(self._at_ms) else self._row_of
        is_done = self._consumed_by_all() & (stored_ms <= rules.judge_until_ms)
        keeps_message: _Flags = stored & (stored_ms > forget_ms) & ~is_done
        keep = np.zeros(len(self._message), bool)
        keep[self._stored_rows] = True
        keep[self._calls] = True
        keep &= keeps_message[self._message]
        # Records about messages that have not been seen, or never will be, because they may be of other topics.
        loose = np.concatenate((self._unstored(), self._reported_rows))
        loose = loose[~stored[self._message[loose]] & (self._at_ms[loose] > rules.judge_until_ms)]
        keep[loose] = True
        is_counted = np.zeros(len(self._message), bool)
        is_counted[self._calls] = True
        counted = pa.array(is_counted)
        index = EVENT_ARROW.get_field_index("is_counted")
        return self._table.set_column(index, EVENT_ARROW.field(index), counted).filter(pa.array(keep))

    def _consumed_by_all(self) -> _Flags:
        """Return whether a message has been consumed by all groups of its topic; False if there are no groups."""
        groups, group = _encoded(self._table, "client_group")
        topics, topic = _encoded(self._table, "topic")
        is_ok = _column(self._table, "is_ok").astype(bool)
        topic_of = np.full(len(self._unique_ids), -1, np.int64)
        topic_of[self._message[self._stored_rows]] = topic[self._stored_rows]
        wanted, missed = (np.zeros(len(self._unique_ids), bool) for _ in range(2))
        for name, of_topic in self._rules.expected:
            is_of_topic = topic_of == topics.index(of_topic) if of_topic in topics else np.zeros_like(wanted)
            by_this = np.zeros_like(wanted)
            if name in groups:
                calls = self._calls[(group[self._calls] == groups.index(name)) & is_ok[self._calls]]
                by_this[self._message[calls]] = True
            wanted |= is_of_topic
            missed |= is_of_topic & ~by_this
        return wanted & ~missed


def _column(table: Any, name: str) -> Any:
    """Return a column as a numpy array, with 0 or False for null."""
    column = table.column(name)
    zero = False if pa.types.is_boolean(column.type) else 0
    return column.fill_null(zero).to_numpy()


def _encoded(table: Any, name: str) -> tuple[list[str], Numbers]:
    """Return the distinct texts of a column, and for each row the number of its text."""
    encoded = table.column(name).fill_null("").combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks() if encoded.num_chunks else pa.array([], pa.string()).dictionary_encode()
    return encoded.dictionary.to_pylist(), np.asarray(encoded.indices.to_numpy(zero_copy_only=False), np.int64)


def _groups(rows: Numbers, *columns: Numbers) -> Iterator[tuple[Numbers, list[int]]]:
    """Yield groups of ``rows`` with the same values in all ``columns``, and the values."""
    ordered = rows[np.lexsort([column[rows] for column in reversed(columns)])]
    keys = np.stack([column[ordered] for column in columns])
    for begin, end in _stretches(keys):
        yield ordered[begin:end], keys[:, begin].tolist()


def _extent(values: Numbers) -> tuple[int, int]:
    return int(values.min()), int(values.max())


def _stretches(keys: Any) -> Iterator[tuple[int, int]]:
    """Yield begin and end of each run in which the columns of ``keys`` are constant."""
    if not keys.shape[1]:
        return
    edges = (np.flatnonzero(np.any(keys[:, 1:] != keys[:, :-1], axis=0)) + 1).tolist()
    yield from zip([0, *edges], [*edges, keys.shape[1]], strict=True)

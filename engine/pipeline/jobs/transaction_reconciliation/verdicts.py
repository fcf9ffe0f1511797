"""Verdicts on merged facts: the status of each transaction, and what must not have happened."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from engine.pipeline.jobs.arrow_columns import first_elements, milliseconds, numbers, one_chunk
from engine.pipeline.jobs.transaction_reconciliation.facts import (
    BROKER,
    FACT_ARROW,
    FACT_COLUMNS,
    FORGOTTEN,
    TRANSACTION,
    WAITING_OP,
)
from engine.pipeline.jobs.transaction_reconciliation.merging import fold, spread_offsets
from engine.pipeline.jobs.transaction_reconciliation.packing import map_packed, rows_of
from engine.pipeline.jobs.transaction_reconciliation.words import UNSETTLED, Status, TransactionAnomaly

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NEVER, _NEVER_MS = 1 << 62, 1 << 52
#: A commit lacks an op message if one stored this much later exists: answers are handled concurrently, and RocketMQ 5
#: collects op messages for seconds.
OP_GRACE_MS = 10_000
_Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class OpQueue:
    """The state of the op queue: the known decisions.

    :ivar is_readable: False: no op messages were read (a real RocketMQ 4 refuses them to every client).
    :ivar check_offsets: broker -> position of its check service in the half queue: a half message before it was
        decided, or stored again. It is used when op messages cannot be read.
    """

    is_readable: bool = True
    check_offsets: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of one broker: the half messages between them, and op messages up to one, were all read.

    :ivar ops_until_ms: when the last op message was stored.
    :ivar oldest_ms: when the first half message was stored.
    :ivar newest_ms: when the last message of any kind was stored.
    :ivar newest_half_ms: when the last half message was stored; -1: there is no half message.
    :ivar unread_offset: offset of the last half message that was forgotten although its topic was not read.
    :ivar unread_places: topic -> place of the last such half message.
    """

    first_offset: int
    first_place: int
    last_offset: int
    last_place: int
    ops_until_ms: int
    oldest_ms: int
    newest_ms: int
    newest_half_ms: int
    forgotten_offset: int
    forgotten_place: int
    unread_offset: int
    unread_places: Mapping[str, int] = field(default_factory=dict)

    def and_those_of(self, other: Bounds) -> Bounds:
        """Return the combined bounds of two parts that were read from one broker."""
        both = {
            one.name: (min if one.name in _BEGINNINGS else max)(getattr(self, one.name), getattr(other, one.name))
            for one in fields(Bounds)
            if one.name != "unread_places"
        }
        topics = (*self.unread_places, *other.unread_places)
        places = {topic: max(self.unread_places.get(topic, -1), other.unread_places.get(topic, -1)) for topic in topics}
        return Bounds(**both, unread_places=places)


#: Fields of :class:`Bounds` of which the smaller value counts; of the others the larger one does.
_BEGINNINGS = ("first_offset", "first_place", "oldest_ms")


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules by which a task judges its rows.

    :ivar bounds: broker name -> its bounds; of all brokers.
    :ivar topics: topics whose messages are read; None: all. Transactions for other topics are only counted.
    """

    bounds: Mapping[str, Bounds]
    op_queue: OpQueue
    topics: tuple[str, ...] | None = None


_BOUNDS_SCHEMA = "broker_name string, bounds array<bigint>, topics array<string>, places array<bigint>"
#: Columns whose smallest, then whose largest value bounds what was read.
_LEAST, _GREATEST = ("first_half_offset", "first_half_place"), ("last_half_offset", "last_half_place")


def bounds_of(merged: DataFrame) -> dict[str, Bounds]:
    """Return the bounds of each broker, computed by Spark."""
    return bounds_of_rows(rows_of(merged, _BOUNDS_SCHEMA, bounds_of_piece).collect())


def bounds_of_rows(rows: Iterable[Sequence[Any]]) -> dict[str, Bounds]:
    """Return the bounds of each broker from the results of :func:`bounds_of_piece` for all pieces."""
    found: dict[str, Bounds] = {}
    for broker_name, bounds, topics, places in rows:
        one = replace(Bounds(*bounds), unread_places=dict(zip(topics, places, strict=True)))
        found[broker_name] = found.get(broker_name, one).and_those_of(one)
    return found


def halves_until_ms(bounds: Mapping[str, Bounds]) -> int:
    """Return a time before which all half messages of all brokers were read.

    Brokers that never stored one do not count; one that has stopped storing them holds the time back.
    """
    return min((one.newest_half_ms for one in bounds.values() if one.newest_half_ms >= 0), default=0)


def bounds_of_piece(merged: Any) -> Any:
    """Return a row for each broker in it: its name, the numbers of :class:`Bounds`, unread topics and their places."""
    role, brokers = merged.column("role"), merged.column("broker_name")
    is_forgotten = pc.equal(role, FORGOTTEN)
    reported = pc.or_(is_forgotten, pc.equal(role, BROKER)).to_numpy()
    names = pc.unique(brokers.filter(pa.array(reported))).to_pylist()
    rows, topics, places = [], [], []
    for name in names:
        mine = merged.filter(pa.array(reported & pc.equal(brokers, name).to_numpy()))
        forgotten = mine.filter(pc.equal(mine.column("role"), FORGOTTEN))
        unread = forgotten.filter(pc.equal(forgotten.column("key"), Status.NOT_READ))
        topics.append(pc.fill_null(unread.column("topic"), "").to_pylist())
        places.append(numbers(unread.column("last_half_place"), -1).tolist())
        rows.append(
            [
                *(int(numbers(mine.column(column), _NEVER).min()) for column in _LEAST),
                *(int(numbers(mine.column(column), -1).max()) for column in _GREATEST),
                int(milliseconds(mine.column("last_op_stored"), -1).max()),
                int(milliseconds(mine.column("half_stored"), _NEVER_MS).min()),
                int(milliseconds(mine.column("last_stored")).max()),
                int(milliseconds(mine.column("last_half_stored"), -1).max()),
                *(int(numbers(forgotten.column(column), -1).max(initial=-1)) for column in _GREATEST),
                int(numbers(unread.column("last_half_offset"), -1).max(initial=-1)),
            ]
        )
    columns = {
        "broker_name": pa.array(names, pa.string()),
        "bounds": pa.array(rows, pa.list_(pa.int64())),
        "topics": pa.array(topics, pa.list_(pa.string())),
        "places": pa.array(places, pa.list_(pa.int64())),
    }
    return pa.table(columns)


def judge_table(merged: Any, rules: Rules) -> Any:
    """Return transactions and waiting op messages with ``status`` (null for the latter) and ``findings`` (array).

    Half, op and real topics are not read at one instant. What the end of one of them may hide is not judged: a commit
    whose half message, or whose op message, would come after the last one read.

    :param merged: a table of :func:`~engine.pipeline.jobs.transaction_reconciliation.merging.merge`.
    """
    return _judge(merged, rules)[0]


def _judge(merged: Any, rules: Rules) -> tuple[Any, _Verdict]:
    rows = merged.filter(pc.is_in(merged.column("role"), pa.array([TRANSACTION, WAITING_OP])))
    verdict = _Verdict(rows, rules)
    return rows.append_column("status", verdict.status()).append_column("findings", verdict.findings()), verdict


def forget(
    merged: DataFrame,
    keep_ms: int,
    op_queue: OpQueue | None = None,
    kept_keys: Sequence[str] = (),
    topics: tuple[str, ...] | None = None,
) -> DataFrame:
    """Return ``merged`` with transactions that were settled longer than ``keep_ms`` ago summed up by status, which
    bounds a stream's memory.

    Open transactions stay, and so do those that the broker may revisit, those with findings, and those with
    ``kept_keys``. The clock is the newest message of the broker, not ours.

    :param topics: as in :class:`Rules`.
    """
    rules = Rules(bounds_of(merged), op_queue or OpQueue(), topics)
    keys = pa.array(kept_keys, pa.string())
    return map_packed(merged, lambda table: [(0, remembered(table, rules, keep_ms, keys))])


def remembered(merged: Any, rules: Rules, keep_ms: int, kept_keys: Any) -> Any:
    """Apply :func:`forget` to one table; ``kept_keys`` is an Arrow array."""
    role = merged.column("role")
    sums = merged.filter(pc.or_(pc.equal(role, BROKER), pc.equal(role, FORGOTTEN)))
    judged, verdict = _judge(merged, rules)
    is_op = pc.equal(judged.column("role"), WAITING_OP)
    age_ms = verdict.of_broker("newest_ms") - milliseconds(judged.column("last_stored"))
    has_findings = pc.greater(pc.list_value_length(judged.column("findings")), 0)
    is_needed = pc.or_(has_findings, pc.is_in(judged.column("key"), kept_keys))
    is_over = pc.and_(pa.array(verdict.is_settled() & verdict.is_left() & (age_ms > keep_ms)), pc.invert(is_needed))
    kept = judged.filter(pc.invert(is_over)).select(list(FACT_COLUMNS))
    # An op message that waits for a half message which never comes is dropped, a transaction is counted.
    over = judged.filter(pc.and_(is_over, pc.invert(is_op)))
    status = over.column("status")
    topic = pc.fill_null(over.column("topic"), "")
    replaced = {
        "role": pa.array([FORGOTTEN] * len(over), pa.string()),
        "key": status,
        # Topics that were not read are kept apart: see ``Bounds.unread_places``.
        "identity": pc.if_else(
            pc.equal(status, Status.NOT_READ), pc.binary_join_element_wise(status, topic, ": "), status
        ),
        "half_offsets": pa.array([[]] * len(over), FACT_ARROW.field("half_offsets").type),
        "transactions": pc.cast(is_counted(over), pa.int64()),
        "forgotten_checks": pc.fill_null(over.column("checks"), 0).cast(pa.int64()),
    }
    columns = [replaced[name] if name in replaced else over.column(name) for name in FACT_COLUMNS]
    counted = fold(spread_offsets(pa.Table.from_arrays(columns, schema=FACT_ARROW)))
    return pa.concat_tables([sums, kept, counted])


def is_counted(transactions: Any) -> Any:
    """Return whether each row is one more transaction, as an Arrow array of flags.

    For the other rows only a commit was read: their half message was counted before it was forgotten, is before
    everything that was read, or never existed.
    """
    copies, given_up = (pc.fill_null(transactions.column(name), 0) for name in ("copies", "given_up"))
    return pc.or_(pc.greater(copies, 0), pc.greater(given_up, 0))


# --- the rules -------------------------------------------------------------------------------------------------------


class _Verdict:
    """Verdicts on the rows of a table: numpy arrays, in which a null is a number that fulfils no rule."""

    def __init__(self, table: Any, rules: Rules) -> None:
        self._table = table
        self._rules = rules
        self._brokers = table.column("broker_name").to_numpy(zero_copy_only=False)
        self._is_op: _Flags = self._is(WAITING_OP)
        # Commits in retry topics cannot be distinguished from what consumers sent back.
        is_unread = pc.fill_null(pc.starts_with(table.column("topic"), "%"), False)
        if rules.topics is not None:
            is_read = pc.is_in(table.column("topic"), pa.array(rules.topics, pa.string()))
            is_unread = pc.or_(is_unread, pc.invert(is_read))
        # An unmatched op message has no topic.
        self._is_unread: _Flags = ~self._is_op & is_unread.to_numpy(zero_copy_only=False)

    def _is(self, role: str) -> _Flags:
        flags: _Flags = pc.equal(self._table.column("role"), role).to_numpy(zero_copy_only=False)
        return flags

    def _of(self, name: str, nothing: int = -1) -> npt.NDArray[np.int64]:
        return numbers(self._table.column(name), nothing)

    def of_broker(self, name: str) -> npt.NDArray[np.int64]:
        """Return this value of :class:`Bounds` for the broker of each row."""
        values = np.zeros(len(self._brokers), np.int64)
        for broker_name, bounds in self._rules.bounds.items():
            values[self._brokers == broker_name] = getattr(bounds, name)
        return values

    def _unread_place(self) -> npt.NDArray[np.int64]:
        """Return the place of the last half message that was forgotten although the topic of the row was not read."""
        values = np.full(len(self._brokers), -1, np.int64)
        topics = pc.fill_null(self._table.column("topic"), "")
        for broker_name, bounds in self._rules.bounds.items():
            if bounds.unread_places:
                known = pa.array(bounds.unread_places, pa.string())
                found = numbers(pc.index_in(topics, known), len(known))
                places = np.array([*bounds.unread_places.values(), -1], np.int64)[found]
                values = np.where(self._brokers == broker_name, places, values)
        return values

    def status(self) -> Any:
        """Return the status; null for op messages that wait."""
        texts = self._seen()
        texts[self._is_unread] = Status.NOT_READ.value
        texts[self._is_op] = None
        return pa.array(texts, pa.string())

    def is_settled(self) -> _Flags:
        """Return whether no decision is pending, wherever the message went; True for op messages that wait."""
        return self._is_op | ~np.isin(self._seen(), [status.value for status in UNSETTLED])

    def is_left(self) -> _Flags:
        """Return whether the broker will not revisit it, so that no further copy follows.

        Its check service skips a copy that an op message names, and one that was put off whose original place is named.
        If op messages cannot be read, the position in the half queue decides.
        """
        last, queue = self._of("last_half_offset"), self._rules.op_queue
        if queue.is_readable:
            meant = np.minimum(last, self._of("first_put_off_offset", _NEVER))
            is_left = self._of("named_offset") >= meant
        else:
            is_left = np.ones(len(last), bool)
            for broker_name, offset in queue.check_offsets.items():
                is_left[(self._brokers == broker_name) & (last >= offset)] = False
        return is_left | (self._of("copies") <= 0)

    def _seen(self) -> npt.NDArray[np.object_]:
        """Return the status if all topics were read."""
        texts = self._undecided()
        is_given_up = (self._of("given_up") > 0) & (self._of("given_up_place") > self._of("last_half_place"))
        texts[is_given_up] = Status.GIVEN_UP.value
        texts[self._of("ops") > 0] = Status.ROLLED_BACK.value
        texts[self._of("committed") > 0] = Status.COMMITTED.value
        return texts

    def _undecided(self) -> npt.NDArray[np.object_]:
        """Return the status of those that neither an op message nor a committed message decides."""
        queue = self._rules.op_queue
        texts = np.full(len(self._table), (Status.OPEN if queue.is_readable else Status.NOT_COMMITTED).value, object)
        if not queue.is_readable:
            last_offset = self._of("last_half_offset", _NEVER)
            for broker_name, offset in queue.check_offsets.items():
                texts[(self._brokers == broker_name) & (last_offset < offset)] = Status.ROLLED_BACK.value
        return texts

    def findings(self) -> Any:
        """Return a list of texts for each row."""
        rules = self._finding_rules()
        flags = np.stack(list(rules.values()), axis=1) & ~self._is_unread[:, np.newaxis]
        ends = np.concatenate(([0], np.cumsum(flags.sum(axis=1))))
        texts = pa.array([finding.value for finding in rules], pa.string())
        return pa.ListArray.from_arrays(pa.array(ends.astype(np.int32)), texts.take(pa.array(np.nonzero(flags)[1])))

    def _finding_rules(self) -> dict[TransactionAnomaly, _Flags]:
        copies, committed, ops = self._of("copies"), self._of("committed"), self._of("ops")
        prepared = self._of("prepared_place")
        named = numbers(first_elements(one_chunk(self._table.column("half_offsets"))), -1)
        is_transaction = ~self._is_op
        waits = self._is_op & (named >= self.of_broker("first_offset")) & (named <= self.of_broker("last_offset"))
        lost_half = is_transaction & (copies == 0)
        lost_half &= (prepared >= self.of_broker("first_place")) & (prepared <= self.of_broker("last_place"))
        was_forgotten = prepared <= self.of_broker("forgotten_place")
        # A topic that is read only since a restart: its commits are not late, they were not seen before.
        was_unread = prepared <= self._unread_place()
        op_was_forgotten = named <= self.of_broker("forgotten_offset")
        # An op message does not name its topic.
        op_may_be_unread = named <= self.of_broker("unread_offset")
        rules = {
            TransactionAnomaly.COMMITTED_TWICE: committed > 1,
            TransactionAnomaly.DECIDED_LATE: (lost_half & was_forgotten & ~was_unread)
            | (waits & op_was_forgotten & ~op_may_be_unread),
            TransactionAnomaly.COMMITTED_WITHOUT_HALF: lost_half & ~was_forgotten,
        }
        if self._rules.op_queue.is_readable:
            committed_ms = milliseconds(self._table.column("last_committed_stored"), _NEVER_MS)
            # Its op message may name a copy from before everything that was read, as the commit then does.
            is_op_due = (copies > 0) & (prepared >= self.of_broker("first_place"))
            is_op_due &= committed_ms < self.of_broker("ops_until_ms") - OP_GRACE_MS
            rules |= {
                TransactionAnomaly.COMMITTED_AND_ROLLED_BACK: (copies > 0) & (committed > 0) & (ops > committed),
                TransactionAnomaly.ROLLED_BACK_TWICE: is_transaction & (committed == 0) & (ops > 1),
                TransactionAnomaly.COMMITTED_WITHOUT_OP: is_op_due & (committed > ops),
                TransactionAnomaly.OP_WITHOUT_HALF: waits & ~op_was_forgotten,
            }
        return rules

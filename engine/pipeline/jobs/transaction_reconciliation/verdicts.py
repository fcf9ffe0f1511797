"""What merged facts say: the status of each transaction, and what must not have happened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
from engine.pipeline.jobs.transaction_reconciliation.words import UNSETTLED, Finding, Status

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NEVER, _NEVER_MS = 1 << 62, 1 << 52
_Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class OpQueue:
    """What is known of the decisions.

    :ivar is_readable: False: no op messages were read (a real RocketMQ 4 refuses them to everybody).
    :ivar check_offsets: by broker, how far its check service has come in the half queue: a half message before that
        was decided, or stored anew. It stands in for op messages that cannot be read.
    """

    is_readable: bool = True
    check_offsets: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Between which half messages of one broker, and until which op message, everything was read.

    :ivar oldest_ms: when the first half message was stored.
    :ivar newest_ms: when the last message of any kind was stored.
    :ivar newest_half_ms: when the last half message was stored; -1: there is none.
    :ivar unread_place: of the last half message that was forgotten although nobody had read its topic.
    """

    first_offset: int
    first_place: int
    last_offset: int
    last_place: int
    ops_until: int
    oldest_ms: int
    newest_ms: int
    newest_half_ms: int
    forgotten_offset: int
    forgotten_place: int
    unread_place: int

    def and_those_of(self, other: Bounds) -> Bounds:
        """Of two parts of what was read of one broker."""
        return Bounds(
            min(self.first_offset, other.first_offset),
            min(self.first_place, other.first_place),
            max(self.last_offset, other.last_offset),
            max(self.last_place, other.last_place),
            max(self.ops_until, other.ops_until),
            min(self.oldest_ms, other.oldest_ms),
            max(self.newest_ms, other.newest_ms),
            max(self.newest_half_ms, other.newest_half_ms),
            max(self.forgotten_offset, other.forgotten_offset),
            max(self.forgotten_place, other.forgotten_place),
            max(self.unread_place, other.unread_place),
        )


@dataclass(frozen=True, slots=True)
class Rules:
    """All that a task needs to judge its rows.

    :ivar bounds: broker name -> its bounds; of all brokers.
    :ivar topics: those whose messages are read; None: all. Of transactions for others nothing is known but that they
        are there.
    """

    bounds: Mapping[str, Bounds]
    op_queue: OpQueue
    topics: tuple[str, ...] | None = None


_BOUNDS_SCHEMA = "broker_name string, bounds array<bigint>"
#: Columns whose least, then whose greatest value bounds what was read; times in ms.
_LEAST, _GREATEST = ("first_half_offset", "first_half_place"), ("last_half_offset", "last_half_place", "op_place")


def bounds_of(merged: DataFrame) -> dict[str, Bounds]:
    """The bounds of each broker; asks Spark."""
    found: dict[str, Bounds] = {}
    for broker_name, bounds in rows_of(merged, _BOUNDS_SCHEMA, _bounds_of_piece).collect():
        one = Bounds(*bounds)
        found[broker_name] = found.get(broker_name, one).and_those_of(one)
    return found


def halves_until_ms(bounds: Mapping[str, Bounds]) -> int:
    """Every half message that any broker stored before it was read.

    Brokers that never stored one do not count; one that has stopped storing them holds it back.
    """
    return min((one.newest_half_ms for one in bounds.values() if one.newest_half_ms >= 0), default=0)


def _bounds_of_piece(merged: Any) -> Any:
    role, brokers = merged.column("role"), merged.column("broker_name")
    is_forgotten = pc.equal(role, FORGOTTEN)
    told = pc.or_(is_forgotten, pc.equal(role, BROKER)).to_numpy()
    names = pc.unique(brokers.filter(pa.array(told))).to_pylist()
    rows = []
    for name in names:
        mine = merged.filter(pa.array(told & pc.equal(brokers, name).to_numpy()))
        forgotten = mine.filter(pc.equal(mine.column("role"), FORGOTTEN))
        unread = forgotten.filter(pc.equal(forgotten.column("identity"), Status.NOT_READ))
        rows.append(
            [
                *(int(numbers(mine.column(column), _NEVER).min()) for column in _LEAST),
                *(int(numbers(mine.column(column), -1).max()) for column in _GREATEST),
                int(milliseconds(mine.column("half_stored"), _NEVER_MS).min()),
                int(milliseconds(mine.column("last_stored")).max()),
                int(milliseconds(mine.column("last_half_stored"), -1).max()),
                *(int(numbers(forgotten.column(column), -1).max(initial=-1)) for column in _GREATEST[:2]),
                int(numbers(unread.column("last_half_place"), -1).max(initial=-1)),
            ]
        )
    return pa.table({"broker_name": pa.array(names, pa.string()), "bounds": pa.array(rows, pa.list_(pa.int64()))})


def judge_table(merged: Any, rules: Rules) -> Any:
    """Transactions and waiting op messages with ``status`` (null for the latter) and ``findings`` (array).

    Half, op and real topics are not read at one instant. What the end of one of them may hide is not judged: a commit
    whose half message would lie behind the last one read, or whose op message would.

    :param merged: a table of what :func:`~engine.pipeline.jobs.transaction_reconciliation.merging.merge` made.
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
    """``merged`` with what is settled for longer than ``keep_ms`` summed up by status: what bounds a stream's memory.

    Open transactions stay, those with findings, and those with ``kept_keys``. The clock is the newest message of the
    broker, not ours.

    :param topics: see :class:`Rules`.
    """
    rules = Rules(bounds_of(merged), op_queue or OpQueue(), topics)
    keys = pa.array(kept_keys, pa.string())
    return map_packed(merged, lambda table: [(0, _remembered(table, rules, keep_ms, keys))])


def _remembered(merged: Any, rules: Rules, keep_ms: int, kept_keys: Any) -> Any:
    role = merged.column("role")
    sums = merged.filter(pc.or_(pc.equal(role, BROKER), pc.equal(role, FORGOTTEN)))
    judged, verdict = _judge(merged, rules)
    is_op = pc.equal(judged.column("role"), WAITING_OP)
    age_ms = verdict.of_broker("newest_ms") - milliseconds(judged.column("last_stored"))
    has_findings = pc.greater(pc.list_value_length(judged.column("findings")), 0)
    is_needed = pc.or_(has_findings, pc.is_in(judged.column("key"), kept_keys))
    is_over = pc.and_(pa.array(verdict.is_settled() & (age_ms > keep_ms)), pc.invert(is_needed))
    kept = judged.filter(pc.invert(is_over)).select(list(FACT_COLUMNS))
    # An op message that waits for a half message which never comes is dropped, a transaction counted.
    over = judged.filter(pc.and_(is_over, pc.invert(is_op)))
    replaced = {
        "role": pa.array([FORGOTTEN] * len(over), pa.string()),
        "identity": over.column("status"),
        "half_offsets": pa.array([[]] * len(over), FACT_ARROW.field("half_offsets").type),
        "transactions": pa.array([1] * len(over), pa.int64()),
        "forgotten_checks": pc.fill_null(over.column("checks"), 0).cast(pa.int64()),
    }
    columns = [replaced[name] if name in replaced else over.column(name) for name in FACT_COLUMNS]
    counted = fold(spread_offsets(pa.Table.from_arrays(columns, schema=FACT_ARROW)))
    return pa.concat_tables([sums, kept, counted])


# --- the rules -------------------------------------------------------------------------------------------------------


class _Verdict:
    """Of each row of a table: numpy arrays, in which a null is a number that fulfils no rule."""

    def __init__(self, table: Any, rules: Rules) -> None:
        self._table = table
        self._rules = rules
        self._brokers = table.column("broker_name").to_numpy(zero_copy_only=False)
        self._is_op: _Flags = self._is(WAITING_OP)
        self._is_unread = np.zeros(len(table), bool)
        if rules.topics is not None:
            is_read = pc.is_in(table.column("topic"), pa.array(rules.topics, pa.string()))
            # An op message that nobody knows says no topic.
            self._is_unread = ~self._is_op & ~is_read.to_numpy(zero_copy_only=False)

    def _is(self, role: str) -> _Flags:
        flags: _Flags = pc.equal(self._table.column("role"), role).to_numpy(zero_copy_only=False)
        return flags

    def _of(self, name: str, nothing: int = -1) -> npt.NDArray[np.int64]:
        return numbers(self._table.column(name), nothing)

    def of_broker(self, name: str) -> npt.NDArray[np.int64]:
        """This value of :class:`Bounds`, for the broker of each row."""
        values = np.zeros(len(self._brokers), np.int64)
        for broker_name, bounds in self._rules.bounds.items():
            values[self._brokers == broker_name] = getattr(bounds, name)
        return values

    def status(self) -> Any:
        """Null for op messages that wait."""
        texts = self._seen()
        texts[self._is_unread] = Status.NOT_READ.value
        texts[self._is_op] = None
        return pa.array(texts, pa.string())

    def is_settled(self) -> _Flags:
        """Nobody has to decide it any more, wherever its message went; and op messages that wait."""
        return self._is_op | ~np.isin(self._seen(), [status.value for status in UNSETTLED])

    def _seen(self) -> npt.NDArray[np.object_]:
        """The status if all topics were read."""
        texts = self._undecided()
        is_given_up = (self._of("given_up") > 0) & (self._of("given_up_place") > self._of("last_half_place"))
        texts[is_given_up] = Status.GIVEN_UP.value
        texts[self._of("ops") > 0] = Status.ROLLED_BACK.value
        texts[self._of("committed") > 0] = Status.COMMITTED.value
        return texts

    def _undecided(self) -> npt.NDArray[np.object_]:
        """What those are that neither an op message nor a committed one tells of."""
        queue = self._rules.op_queue
        texts = np.full(len(self._table), (Status.OPEN if queue.is_readable else Status.NOT_COMMITTED).value, object)
        if not queue.is_readable:
            last_offset = self._of("last_half_offset", _NEVER)
            for broker_name, offset in queue.check_offsets.items():
                texts[(self._brokers == broker_name) & (last_offset < offset)] = Status.ROLLED_BACK.value
        return texts

    def findings(self) -> Any:
        """A list of texts for each row."""
        rules = self._finding_rules()
        flags = np.stack(list(rules.values()), axis=1) & ~self._is_unread[:, np.newaxis]
        ends = np.concatenate(([0], np.cumsum(flags.sum(axis=1))))
        texts = pa.array([finding.value for finding in rules], pa.string())
        return pa.ListArray.from_arrays(pa.array(ends.astype(np.int32)), texts.take(pa.array(np.nonzero(flags)[1])))

    def _finding_rules(self) -> dict[Finding, _Flags]:
        copies, committed, ops = self._of("copies"), self._of("committed"), self._of("ops")
        prepared = self._of("prepared_place")
        named = numbers(first_elements(one_chunk(self._table.column("half_offsets"))), -1)
        is_transaction = ~self._is_op
        waits = self._is_op & (named >= self.of_broker("first_offset")) & (named <= self.of_broker("last_offset"))
        lost_half = is_transaction & (copies == 0)
        lost_half &= (prepared >= self.of_broker("first_place")) & (prepared <= self.of_broker("last_place"))
        was_forgotten = prepared <= self.of_broker("forgotten_place")
        # A topic that is read only since a restart: its commits are not late, they were not seen before.
        was_unread = prepared <= self.of_broker("unread_place")
        op_was_forgotten = named <= self.of_broker("forgotten_offset")
        rules = {
            Finding.COMMITTED_TWICE: committed > 1,
            Finding.DECIDED_LATE: (lost_half & was_forgotten & ~was_unread) | (waits & op_was_forgotten),
            Finding.COMMITTED_WITHOUT_HALF: lost_half & ~was_forgotten,
        }
        if self._rules.op_queue.is_readable:
            is_before_ops = self._of("committed_place", _NEVER) < self.of_broker("ops_until")
            rules |= {
                Finding.COMMITTED_AND_ROLLED_BACK: (copies > 0) & (committed > 0) & (ops > committed),
                Finding.ROLLED_BACK_TWICE: is_transaction & (committed == 0) & (ops > 1),
                Finding.COMMITTED_WITHOUT_OP: (copies > 0) & (committed > ops) & is_before_ops,
                Finding.OP_WITHOUT_HALF: waits & ~op_was_forgotten,
            }
        return rules

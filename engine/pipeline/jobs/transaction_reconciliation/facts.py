"""Half, op, committed and given-up messages as *facts*: rows that each say something about a transaction and can be
merged.

One message gives one row; merging all rows of a transaction gives one row with everything about it
(:mod:`~engine.pipeline.jobs.transaction_reconciliation.merging`). Merging the merged rows of two parts of the history
gives those of the whole, so a stream keeps them as its state and a batch makes them in one pass.

A transaction is identified by its broker and its unique id: a check-back stores the half message again, at another
offset of the half queue and of the log, and only the unique id stays. An op message contains only such an offset; until
the half message at it was read, it waits as a row of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from engine.pipeline.jobs.arrow_columns import (
    arrow_schema_of,
    first_elements,
    int64,
    milliseconds,
    numbers,
    property_values,
)
from engine.pipeline.jobs.transaction_reconciliation.packing import PACKED_SCHEMA, pack
from engine.protocol.message.message_properties import (
    PROPERTY_PRODUCER_GROUP,
    PROPERTY_REAL_TOPIC,
    PROPERTY_TRANSACTION_CHECK_TIMES,
    PROPERTY_TRANSACTION_PREPARED,
    PROPERTY_TRANSACTION_PREPARED_QUEUE_OFFSET,
)
from engine.protocol.names import TRANSACTION_CHECK_MAX_TIME_TOPIC, TRANSACTION_HALF_TOPIC, TRANSACTION_OP_HALF_TOPIC

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: What a row of facts is about.
TRANSACTION = "transaction"
#: Op messages whose half message was not read (yet).
WAITING_OP = "waiting op"
#: Everything that was read from one broker; merging makes several such rows per broker.
BROKER = "broker"
#: Settled transactions that a stream no longer remembers individually; ``key`` is their status.
FORGOTTEN = "forgotten"

#: ``TransactionalMessageUtil.REMOVETAG``: the tags of an op message.
_REMOVE_TAG = "d"
#: Columns of messages that :func:`facts_of` needs; ``body`` too if op messages, which are tiny, are among them.
COLUMNS_NEEDED = (
    "topic",
    "broker_name",
    "queue_offset",
    "commit_log_offset",
    "unique_id",
    "keys",
    "tags",
    "properties",
    "born_timestamp",
    "store_timestamp",
    "born_host",
    "prepared_transaction_offset",
)

#: Column -> (type, how the values of two rows are merged). "place" is an offset in the commit log, "offset" one in the
#: half queue: ``first_put_off_offset`` is the original place of a half message before it was put off, according to its
#: copy; ``named_offset`` is the newest one that an op message names.
FIELDS = {
    "topic": ("string", "max"),
    "producer_group": ("string", "max"),
    "key": ("string", "max"),
    "born": ("timestamp", "min"),
    "copies": ("bigint", "sum"),
    "checks": ("int", "max"),
    "first_half_offset": ("bigint", "min"),
    "last_half_offset": ("bigint", "max"),
    "first_half_place": ("bigint", "min"),
    "last_half_place": ("bigint", "max"),
    "first_put_off_offset": ("bigint", "max"),
    "half_stored": ("timestamp", "min"),
    "last_half_stored": ("timestamp", "max"),
    "committed": ("bigint", "sum"),
    "prepared_place": ("bigint", "min"),
    "committed_stored": ("timestamp", "min"),
    "last_committed_stored": ("timestamp", "max"),
    "ops": ("bigint", "sum"),
    "named_offset": ("bigint", "max"),
    "op_stored": ("timestamp", "min"),
    "last_op_stored": ("timestamp", "max"),
    "given_up": ("bigint", "sum"),
    "given_up_place": ("bigint", "max"),
    "last_stored": ("timestamp", "max"),
    "transactions": ("bigint", "sum"),
    "forgotten_checks": ("bigint", "sum"),
}
KEY = ("role", "broker_name", "identity")
#: The columns of facts: the key, all offsets that the half message had in the half queue, and the merged fields.
FACT_COLUMNS = (*KEY, "half_offsets", *FIELDS)
_KEY_SCHEMA = ", ".join(f"{name} string" for name in KEY)
_FIELD_SCHEMA = ", ".join(f"{name} {kind}" for name, (kind, _) in FIELDS.items())
FACT_ARROW = arrow_schema_of(f"{_KEY_SCHEMA}, half_offsets array<bigint>, {_FIELD_SCHEMA}")
#: Facts with at most one half offset.
SPREAD_ARROW = arrow_schema_of(f"{_KEY_SCHEMA}, half_offset bigint, {_FIELD_SCHEMA}")
#: A task emits facts when it has this many.
_ROWS_TOGETHER = 50_000
#: Role of a message in a transaction.
_NOTHING, _HALF, _OP, _GIVEN_UP, _COMMITTED = range(5)
#: Column of facts -> the messages that it counts.
_COUNTED = {"copies": _HALF, "ops": _OP, "given_up": _GIVEN_UP, "committed": _COMMITTED}
#: Column of facts -> the messages that provide it, and from which of their columns.
_TAKEN = {
    "first_half_offset": (_HALF, "queue_offset"),
    "last_half_offset": (_HALF, "queue_offset"),
    "first_half_place": (_HALF, "commit_log_offset"),
    "last_half_place": (_HALF, "commit_log_offset"),
    "half_stored": (_HALF, "store_timestamp"),
    "last_half_stored": (_HALF, "store_timestamp"),
    "op_stored": (_OP, "store_timestamp"),
    "last_op_stored": (_OP, "store_timestamp"),
    "given_up_place": (_GIVEN_UP, "commit_log_offset"),
    "prepared_place": (_COMMITTED, "prepared_transaction_offset"),
    "committed_stored": (_COMMITTED, "store_timestamp"),
    "last_committed_stored": (_COMMITTED, "store_timestamp"),
}


def facts_of(messages: DataFrame) -> DataFrame:
    """Return one row of facts per message of a transaction; other messages give no row. The rows are packed.

    :param messages: messages of the half, op and discard topics and of the real topics, or any part of them; with
        :data:`COLUMNS_NEEDED`, and ``body`` if op messages are among them.
    """
    has_body = "body" in messages.columns
    wanted = messages.select(*COLUMNS_NEEDED, *(("body",) if has_body else ()))
    return wanted.mapInArrow(_extracting, PACKED_SCHEMA)


def _extracting(batches: Iterator[Any]) -> Iterator[Any]:
    kept: list[Any] = []
    for batch in batches:
        kept.append(facts_of_batch(batch))
        if sum(map(len, kept)) >= _ROWS_TOGETHER:
            yield from pack(pa.concat_tables(kept))
            kept.clear()
    if kept:
        yield from pack(pa.concat_tables(kept))


def facts_of_batch(batch: Any) -> Any:
    """Return the facts of one record batch as a table."""
    kinds = _kinds(batch)
    is_ours = pa.array(kinds != _NOTHING)
    ours, kinds = batch.filter(is_ours), kinds[kinds != _NOTHING]
    rows, half_offsets = _half_offsets(ours, kinds)
    return _Extraction(ours.take(pa.array(rows)), kinds[rows]).table(half_offsets)


def _kinds(batch: Any) -> npt.NDArray[np.int64]:
    """Return the role of each message. A committed message keeps the properties of its half message. So do its copies
    in retry and dead-letter topics (``%``), but those are not further commits.
    """
    topic, properties = batch.column("topic"), batch.column("properties")
    is_prepared = pc.equal(pc.utf8_lower(property_values(properties, PROPERTY_TRANSACTION_PREPARED)), "true")
    is_real = pc.equal(topic, property_values(properties, PROPERTY_REAL_TOPIC))
    rules = (
        (_HALF, pc.equal(topic, TRANSACTION_HALF_TOPIC)),
        (_OP, pc.and_(pc.equal(topic, TRANSACTION_OP_HALF_TOPIC), pc.equal(batch.column("tags"), _REMOVE_TAG))),
        (_GIVEN_UP, pc.equal(topic, TRANSACTION_CHECK_MAX_TIME_TOPIC)),
        (_COMMITTED, pc.and_(pc.and_(is_real, is_prepared), pc.invert(pc.starts_with(topic, "%")))),
    )
    flags = [pc.fill_null(rule, False).to_numpy(zero_copy_only=False) for _, rule in rules]
    return np.select(flags, [kind for kind, _ in rules], _NOTHING)


def _half_offsets(messages: Any, kinds: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], Any]:
    """Return the rows of facts: the number of each row's message, and the half offset that it contains (null if it has
    none).

    An op message names one half message in RocketMQ 4, and several separated by commas in RocketMQ 5.
    """
    counts = np.ones(len(kinds), np.int64)
    named: list[int] = []
    op_rows = np.flatnonzero(kinds == _OP)
    bodies = messages.column("body").take(pa.array(op_rows)).to_pylist() if "body" in messages.schema.names else ()
    counts[op_rows] = 0
    for row, body in zip(op_rows.tolist(), bodies, strict=False):
        offsets = [int(text) for text in body.split(b",") if text.strip().isdigit() and len(text) < 19]
        counts[row] = len(offsets)
        named += offsets
    rows = np.repeat(np.arange(len(kinds)), counts)
    half_offsets = int64(messages.column("queue_offset"))[rows]
    is_op = kinds[rows] == _OP
    half_offsets[is_op] = named
    return rows, pa.array(half_offsets, mask=~(is_op | (kinds[rows] == _HALF)))


def _lists(*columns: Any) -> Any:
    """Return one list per row with the values of these columns, without nulls."""
    values = np.stack([numbers(column, -1) for column in columns], axis=1)
    ends = np.concatenate((np.zeros(1, np.int32), np.cumsum((values >= 0).sum(axis=1), dtype=np.int32)))
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(values[values >= 0]))


class _Extraction:
    """Extraction of columns of facts from messages: each column applies to some kinds of messages only."""

    def __init__(self, messages: Any, kinds: npt.NDArray[np.int64]) -> None:
        self._messages = messages
        self._is = {kind: pa.array(kinds == kind) for kind in (_HALF, _OP, _GIVEN_UP, _COMMITTED)}
        self._count = len(kinds)

    def table(self, half_offsets: Any) -> Any:
        """Return the table of facts.

        :param half_offsets: half offset of each row, null if it has none.
        """
        first_put_off = self._first_put_off()
        known = {
            **self._of_all(half_offsets, first_put_off),
            "checks": self._only(_HALF, self._checks()),
            "first_put_off_offset": first_put_off,
            "named_offset": self._only(_OP, half_offsets),
        }
        known |= {name: pc.cast(self._is[kind], pa.int64()) for name, kind in _COUNTED.items()}
        known |= {name: self._only(kind, self._of(column)) for name, (kind, column) in _TAKEN.items()}
        nothing = pa.array(np.zeros(self._count, np.int64))
        arrays = [pc.cast(known.get(field.name, nothing), field.type) for field in FACT_ARROW]
        return pa.Table.from_arrays(arrays, schema=FACT_ARROW)

    def _of(self, name: str) -> Any:
        return self._messages.column(name)

    def _property(self, name: str) -> Any:
        return property_values(self._of("properties"), name)

    def _only(self, kind: int, values: Any) -> Any:
        """Return ``values`` for messages of this kind, null for others."""
        return pc.if_else(self._is[kind], values, None)

    def _first_put_off(self) -> Any:
        """Return the original place of a half message that is immune to checks: an answer of its sender names that
        place.
        """
        reported = self._property(PROPERTY_TRANSACTION_PREPARED_QUEUE_OFFSET)
        is_number = pc.fill_null(pc.match_substring_regex(reported, "^[0-9]{1,18}$"), False)
        offsets = pc.cast(pc.if_else(is_number, reported, None), pa.int64())
        # Senders may write anything.
        return self._only(_HALF, pc.if_else(pc.less(offsets, self._of("queue_offset")), offsets, None))

    def _of_all(self, half_offsets: Any, first_put_off: Any) -> dict[str, Any]:
        """Return the columns for all kinds. An op message is the broker's own, and contains nothing about the
        sender.
        """
        is_op, not_op = self._is[_OP], pc.invert(self._is[_OP])
        key = first_elements(self._of("keys"))

        def of_sender(values: Any) -> Any:
            return pc.if_else(not_op, values, None)

        # The unique id; if a sender gives no id, fields that stay the same when a half message is stored again.
        born_ms = pc.cast(pa.array(milliseconds(self._of("born_timestamp"))), pa.string())
        anonymous = pc.binary_join_element_wise(self._of("born_host"), born_ms, key, "/", null_handling="skip")
        identity = pc.coalesce(self._of("unique_id"), anonymous)
        return {
            "role": pc.if_else(is_op, WAITING_OP, TRANSACTION),
            "broker_name": self._of("broker_name"),
            "identity": pc.if_else(is_op, pc.cast(half_offsets, pa.string()), identity),
            "half_offsets": _lists(first_put_off, half_offsets),
            "topic": of_sender(self._property(PROPERTY_REAL_TOPIC)),
            "producer_group": of_sender(self._property(PROPERTY_PRODUCER_GROUP)),
            "key": of_sender(key),
            "born": of_sender(self._of("born_timestamp")),
            "last_stored": self._of("store_timestamp"),
        }

    def _checks(self) -> Any:
        times = self._property(PROPERTY_TRANSACTION_CHECK_TIMES)
        is_number = pc.fill_null(pc.match_substring_regex(times, "^[0-9]{1,9}$"), False)
        return pc.cast(pc.if_else(is_number, times, "0"), pa.int32())

"""Merging of facts that belong together into one row: two shuffles, with Arrow tables in between.

First, rows with the same half offset are brought together, so that op messages find their transaction; then all rows of
a transaction. Each task holds its share in memory.
"""

from __future__ import annotations

import itertools
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from engine.pipeline.jobs.arrow_columns import int64, numbers, one_chunk
from engine.pipeline.jobs.transaction_reconciliation.facts import (
    BROKER,
    FACT_ARROW,
    FIELDS,
    KEY,
    SPREAD_ARROW,
    TRANSACTION,
    WAITING_OP,
)
from engine.pipeline.jobs.transaction_reconciliation.packing import Sorted, map_packed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: The facts of this many messages are merged by one task, in its memory: some 64 MiB ...
_FACTS_PER_TASK = 250_000
_BYTES_PER_TASK = 64 << 20
#: ... but with more tasks, every piece of facts would be split into too many small ones.
TASKS_MAX = 200


def tasks_for(messages: int) -> int:
    """Return how many tasks merge the facts of this many messages."""
    return min(TASKS_MAX, max(2, -(-messages // _FACTS_PER_TASK)))


def merge_measured(facts: DataFrame) -> DataFrame:
    """Merge facts whose number is unknown: asks Spark for their size, then calls :func:`merge`.

    :param facts: persisted, as they are read twice.
    """
    (size,) = facts.selectExpr("coalesce(sum(length(piece)), 0)").collect()[0]
    wanted = min(TASKS_MAX, -(-size // _BYTES_PER_TASK))
    return merge(facts, wanted if wanted > _partitions(facts) else None)


def _partitions(facts: DataFrame) -> int:
    return int(facts.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)


def merge(facts: DataFrame, tasks: int | None = None) -> DataFrame:
    """Return one row per transaction, per half message that only op messages name, and per forgotten status; several
    per broker.

    ``facts`` may hold merged and new rows in any mixture and order. Input and output are packed.

    :param tasks: None: as many as Spark chooses, at most its ``shuffle.partitions``.
    """
    buckets = tasks or _partitions(facts)

    def by_offset(table: Any) -> Sorted:
        return _sorted(spread := spread_offsets(table), _offset_hashes(spread), buckets)

    def by_identity(table: Any) -> Sorted:
        return _sorted(resolved := resolve(table), _text_hashes(resolved.column("identity")), buckets)

    spread = _gathered(map_packed(facts, by_offset), tasks)
    resolved = _gathered(map_packed(spread, by_identity, is_whole=True), tasks)
    return map_packed(resolved, lambda table: [(0, fold(table))], is_whole=True)


def _gathered(packed: DataFrame, tasks: int | None) -> DataFrame:
    """Bring each bucket into one partition."""
    return packed.repartition("bucket") if tasks is None else packed.repartition(tasks, "bucket")


def _sorted(table: Any, hashes: npt.NDArray[np.int64], buckets: int) -> Sorted:
    """Return buckets and their rows in one pass, as there may be many buckets."""
    places = hashes % buckets
    order = np.argsort(places, kind="stable")
    table, places = table.take(pa.array(order)), places[order]
    begins = np.flatnonzero(np.diff(places, prepend=-1)).tolist()
    for begin, end in itertools.pairwise([*begins, len(places)]):
        yield int(places[begin]), table.slice(begin, end - begin)


def _offset_hashes(spread: Any) -> npt.NDArray[np.int64]:
    """Hash by the half offset; rows without one may go anywhere."""
    offsets = numbers(spread.column("half_offset"), -1)
    return np.where(offsets >= 0, offsets, np.arange(len(offsets)))


def _text_hashes(texts: Any) -> npt.NDArray[np.int64]:
    return np.fromiter(map(zlib.crc32, texts.cast(pa.binary()).to_pylist()), np.int64, len(texts))


def spread_offsets(facts: Any) -> Any:
    """Split a merged row into one row per half offset that it contains.

    Its sums go with the first one, and so do texts that are not part of the key: a row may have very many offsets.
    """
    lists = one_chunk(facts.column("half_offsets"))
    lengths = numbers(pc.list_value_length(lists), 0)
    counts = np.maximum(lengths, 1)
    rows = np.repeat(np.arange(len(counts)), counts)
    position = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    is_named = lengths[rows] > 0
    starts = lists.offsets.to_numpy()[:-1].astype(np.int64)
    half_offsets = lists.values.take(pa.array(starts[rows] + position, mask=~is_named))
    is_first = pa.array(position == 0)
    all_rows, first_rows = pa.array(rows), pa.array(rows, mask=position > 0)
    columns = []
    for name in SPREAD_ARROW.names:
        kind, how = FIELDS.get(name, ("", ""))
        if name == "half_offset":
            columns.append(half_offsets)
        elif how == "sum":
            columns.append(pc.if_else(is_first, facts.column(name).take(all_rows), 0))
        else:
            columns.append(facts.column(name).take(first_rows if kind == "string" else all_rows))
    return pa.Table.from_arrays(columns, schema=SPREAD_ARROW)


def resolve(spread: Any) -> Any:
    """Turn op messages whose half message is in the same table into rows of its transaction.

    A copy that claims an original place yields to the message that is stored there, because a sender can write any
    claim.
    """
    roles, identities = spread.column("role"), spread.column("identity")
    offsets = numbers(spread.column("half_offset"), -1)
    is_hearsay = offsets < numbers(spread.column("first_half_offset"), -1)
    broker_codes = int64(one_chunk(spread.column("broker_name")).dictionary_encode().indices)
    is_transaction = pc.equal(roles, TRANSACTION).to_numpy(zero_copy_only=False) & (offsets >= 0)
    waiting = np.flatnonzero(pc.equal(roles, WAITING_OP).to_numpy(zero_copy_only=False))
    meant = np.arange(len(offsets))
    for broker in np.unique(broker_codes[waiting]):
        halves = np.flatnonzero(is_transaction & (broker_codes == broker))
        if not len(halves):
            continue
        halves = halves[np.lexsort((is_hearsay[halves], offsets[halves]))]
        ops = waiting[broker_codes[waiting] == broker]
        found = np.minimum(np.searchsorted(offsets[halves], offsets[ops]), len(halves) - 1)
        is_found = offsets[halves[found]] == offsets[ops]
        meant[ops[is_found]] = halves[found[is_found]]
    index = pa.array(meant)
    spread = spread.set_column(0, "role", roles.take(index))
    return spread.set_column(spread.schema.get_field_index("identity"), "identity", identities.take(index))


def fold(spread: Any) -> Any:
    """Return one row per key, and one per broker that merges all of these."""
    hows = [(name, how) for name, (_, how) in FIELDS.items()]
    merged = spread.group_by(list(KEY), use_threads=False).aggregate([*hows, ("half_offset", "list")])
    columns = {name: merged.column(name) for name in KEY}
    columns |= {name: merged.column(f"{name}_{how}") for name, how in hows}
    columns["half_offsets"] = _sets(one_chunk(merged.column("half_offset_list")))
    # Every row also counts for its broker, where its sums have no meaning.
    of_brokers = spread.group_by(["broker_name"], use_threads=False).aggregate(hows)
    of_broker = {name: of_brokers.column(f"{name}_{how}") for name, how in hows}
    of_broker |= {
        "role": pa.array([BROKER] * len(of_brokers), pa.string()),
        "broker_name": of_brokers.column("broker_name"),
        "identity": pa.array([""] * len(of_brokers), pa.string()),
        "half_offsets": pa.array([[]] * len(of_brokers), FACT_ARROW.field("half_offsets").type),
    }
    own = _fact_table(columns)
    return pa.concat_tables([own.filter(pc.not_equal(own.column("role"), BROKER)), _fact_table(of_broker)])


def _fact_table(columns: dict[str, Any]) -> Any:
    arrays = [columns[field.name].cast(field.type) for field in FACT_ARROW]
    return pa.Table.from_arrays(arrays, schema=FACT_ARROW)


def _sets(lists: Any) -> Any:
    """Return each list without nulls and duplicates, ascending."""
    values = lists.flatten()
    owners = int64(pc.list_parent_indices(lists))
    is_there = pc.is_valid(values).to_numpy(zero_copy_only=False)
    owners, offsets = owners[is_there], int64(pc.drop_null(values))
    order = np.lexsort((offsets, owners))
    owners, offsets = owners[order], offsets[order]
    is_new = np.ones(len(owners), bool)
    is_new[1:] = (owners[1:] != owners[:-1]) | (offsets[1:] != offsets[:-1])
    owners, offsets = owners[is_new], offsets[is_new]
    ends = np.searchsorted(owners, np.arange(len(lists) + 1))
    return pa.ListArray.from_arrays(pa.array(ends.astype(np.int32)), pa.array(offsets))

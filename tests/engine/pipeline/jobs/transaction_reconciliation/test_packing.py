"""Facts on their way: pieces of tables, and op bodies that nobody vouches for. Without Spark."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from engine.pipeline.jobs.transaction_reconciliation import merging, packing
from engine.pipeline.jobs.transaction_reconciliation.description import DESCRIPTION
from engine.pipeline.jobs.transaction_reconciliation.facts import COLUMNS_NEEDED, facts_of_batch
from engine.pipeline.jobs.transaction_reconciliation.job import _messages_left
from engine.pipeline.jobs.transaction_reconciliation.words import Agreement, Status, TransactionAnomaly, Window
from engine.pipeline.source.cluster.cluster import Cluster
from engine.pipeline.source.cluster.queue_offsets import QueueKey
from engine.pipeline.source.decoding.schema import arrow_schema
from tests.support.pipeline.transaction_log import TransactionLog


def facts(log, *more_columns):
    names = (*COLUMNS_NEEDED, *more_columns)
    columns = {name: [row[name] for row in log.rows] for name in names}
    (batch,) = pa.table(columns, schema=arrow_schema(names)).to_batches()
    return facts_of_batch(batch).to_pylist()


@pytest.mark.parametrize(
    ("body", "offsets"),
    [
        (b"3", [3]),
        (b"1, 2,3", [1, 2, 3]),
        (b"", []),
        (b"x,\xff,-1,7", [7]),
        (b"9" * 19, []),
        ("\N{ARABIC-INDIC DIGIT FIVE}".encode(), []),
    ],
)
def test_of_an_op_message_only_offsets_count(body, offsets):
    log = TransactionLog()
    log.op()
    log.rows[0]["body"] = body
    assert [row["half_offsets"] for row in facts(log, "body")] == [[offset] for offset in offsets]


def test_messages_that_are_no_part_of_a_transaction_give_no_facts():
    log = TransactionLog()
    log.ordinary()
    log.half("t")
    log.ordinary()
    (fact,) = facts(log)
    assert (fact["role"], fact["identity"], fact["half_offsets"], fact["copies"]) == ("transaction", "t", [0], 1)


def test_a_table_travels_in_pieces_of_a_bounded_size(monkeypatch):
    monkeypatch.setattr(packing, "_PIECE_BYTES", 4_000)
    table = pa.table({"text": [f"{number:0100}" for number in range(200)]})
    batches = list(packing.pack(table, bucket=3))
    assert len(batches) > 4
    assert all(batch.num_rows == 1 and batch.nbytes < 8_000 for batch in batches)
    assert pa.concat_tables(packing.unpack(batches)).equals(table)
    assert list(packing.pack(table.slice(0, 0))) == []


def test_the_buckets_of_a_table_hold_each_row_once_however_many_there_are():
    table = pa.table({"number": range(1_000)})
    hashes = np.random.default_rng(1).integers(0, 1 << 40, 1_000)
    places = {}
    for bucket, rows in merging._sorted(table, hashes, 200):
        assert bucket not in places
        (sent,) = packing.unpack(packing.pack(rows, bucket))
        places[bucket] = sent.column("number").to_pylist()
    assert places == {
        bucket: [row for row in range(1_000) if hashes[row] % 200 == bucket] for bucket in set((hashes % 200).tolist())
    }
    assert list(merging._sorted(table.slice(0, 0), hashes[:0], 200)) == []


@pytest.mark.parametrize(("messages", "tasks"), [(0, 2), (500_001, 3), (2_000_000_000, merging.TASKS_MAX)])
def test_the_tasks_of_a_merge_grow_with_the_messages_up_to_a_bound(messages, tasks):
    assert merging.tasks_for(messages) == tasks


def test_what_was_deleted_from_a_queue_needs_no_task():
    queue, empty = QueueKey("T", "broker-a", 0), QueueKey("T", "broker-a", 1)

    class Look(Cluster):
        def __init__(self):
            """Asks nobody."""

        def min_offsets(self, queues):
            return {queue: 1_999_999_000, empty: 0}

    assert _messages_left(Look(), {queue: 2_000_000_000, empty: 0}) == 1_000


def test_every_word_of_the_tables_is_reported_in_both_languages():
    texts = {
        (table.name, column.name): tuple(column.cell_texts)
        for table in DESCRIPTION.tables
        for column in table.columns
        if column.cell_texts
    }
    assert texts == {
        ("summary", "status"): tuple(Status),
        ("open", "status"): tuple(Status),
        ("transfers", "message"): tuple(Status),
        ("finding_counts", "finding"): tuple(TransactionAnomaly),
        ("findings", "finding"): tuple(TransactionAnomaly),
        ("transfer_counts", "agreement"): tuple(Agreement),
        ("transfers", "agreement"): tuple(Agreement),
        ("windows", "what"): tuple(Window),
        ("longest", "what"): tuple(Window),
    }

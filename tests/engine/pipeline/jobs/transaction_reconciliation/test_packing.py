"""Facts on their way: pieces of tables, and op bodies that nobody vouches for. Without Spark."""

from __future__ import annotations

import pyarrow as pa
import pytest

from engine.pipeline.jobs.transaction_reconciliation import packing
from engine.pipeline.jobs.transaction_reconciliation.description import DESCRIPTION
from engine.pipeline.jobs.transaction_reconciliation.facts import COLUMNS_NEEDED, facts_of_batch
from engine.pipeline.jobs.transaction_reconciliation.words import Agreement, Finding, Status, Window
from engine.pipeline.source.schema import arrow_schema
from tests.support.transaction_log import TransactionLog


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


def test_every_word_of_the_tables_is_told_in_both_languages():
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
        ("findings", "finding"): tuple(Finding),
        ("transfers", "agreement"): tuple(Agreement),
        ("windows", "what"): tuple(Window),
        ("longest", "what"): tuple(Window),
    }

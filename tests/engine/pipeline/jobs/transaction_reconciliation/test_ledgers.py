"""Two banks' ledgers beside the messages that should tie them together."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from engine.pipeline.errors import JobFailed
from engine.pipeline.jobs.transaction_reconciliation import results
from engine.pipeline.jobs.transaction_reconciliation.facts import facts_of, merge
from engine.pipeline.jobs.transaction_reconciliation.ledgers import BAD, Agreement, money, read_ledgers, transfers
from engine.pipeline.jobs.transaction_reconciliation.verdicts import judge
from tests.support.transaction_log import START, TransactionLog, messages

START_MS = int(START.timestamp() * 1_000)


def make_bank(path, account, balance, debits=(), credited=()):
    """``debits`` and ``credited``: (key, amount, ms after START)."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE account (name TEXT PRIMARY KEY, balance INTEGER)")
        database.execute("INSERT INTO account VALUES (?, ?)", (account, balance))
        for table, rows in (("transfer", debits), ("credit", credited)):
            columns = "key TEXT PRIMARY KEY, account TEXT, amount INTEGER, at_ms INTEGER, times INTEGER"
            database.execute(f"CREATE TABLE {table} ({columns})")
            for key, amount, ms in rows:
                database.execute(f"INSERT INTO {table} VALUES (?, ?, ?, ?, 1)", (key, account, amount, START_MS + ms))


def halves_of(log, *keys):
    for key in keys:
        log.half(f"id-{key}", key=key)
        log.halves[f"id-{key}"]["properties"]["PGROUP"] = "icbc-0123abcd"


def test_each_transfer_is_compared_with_the_other_bank_and_with_its_message(spark, tmp_path):
    log = TransactionLog()
    halves_of(
        log, "agreed", "on its way", "undecided", "rolled back", "given up", "no transfer", "too much", "too little"
    )
    for key in ("agreed", "on its way", "no transfer", "too much", "too little"):
        log.commit(f"id-{key}")
    log.roll_back("id-rolled back")
    log.give_up("id-given up")
    log.half("id-stranger", key="stranger")
    log.commit("id-stranger")
    debited = ["agreed", "on its way", "undecided", "rolled back", "given up", "no message", "too much", "too little"]
    given = {"agreed": 10, "from nowhere": 10, "too much": 20, "too little": 4}
    make_bank(tmp_path / "icbc.db", "A", 1_000, debits=[(key, 10, 5) for key in debited])
    make_bank(tmp_path / "ccb.db", "B", 44, credited=[(key, amount, 65) for key, amount in given.items()])
    (tmp_path / "bank-id").write_text("0123abcd")
    ledgers = read_ledgers(tmp_path)
    found = transfers(spark, ledgers, judge(merge(facts_of(messages(spark, log.rows)))).persist()).persist()
    assert {row.key: row.agreement for row in found.collect()} == {
        "agreed": Agreement.AGREED,
        "on its way": Agreement.ON_ITS_WAY,
        "undecided": Agreement.UNDECIDED,
        "rolled back": Agreement.ROLLED_BACK,
        "given up": Agreement.GIVEN_UP,
        "no message": Agreement.NO_MESSAGE,
        "no transfer": Agreement.NO_TRANSFER,
        "from nowhere": Agreement.FROM_NOWHERE,
        "too much": Agreement.TOO_MUCH,
        "too little": Agreement.TOO_LITTLE,
    }
    sums = money(ledgers, results.agreement_sums(found))
    assert (sums.before, sums.after) == (1_080, 1_044)
    assert (sums.in_flight, sums.lost, sums.from_nowhere, sums.problems) == (20, 36, 20, 7)
    assert sums.before + sums.from_nowhere == sums.after + sums.in_flight + sums.lost
    assert not sums.is_conserved
    rows = results.transfer_rows(found, BAD)
    assert [row[0] for row in rows] == [one for one in Agreement if one is not Agreement.AGREED]
    assert [row[-1] for row in rows] == [1] * 7 + [0] * 2
    assert results.window_row("w", results.bank_windows(found)) == ["w", 3, 60, 60, 60, 60]
    assert [level for _, level in results.level_over_time(results.money_changes(found))] == [80, 36]


def test_a_debit_younger_than_every_message_that_was_read_may_still_have_one(spark, tmp_path):
    make_bank(tmp_path / "icbc.db", "A", 90, debits=[("young", 10, 50), ("old", 10, 5)])
    make_bank(tmp_path / "ccb.db", "B", 0)
    judged = judge(merge(facts_of(messages(spark, TransactionLog().rows))))
    found = transfers(spark, read_ledgers(tmp_path), judged, read_until_ms=START_MS + 20)
    assert {row.key: row.agreement for row in found.collect()} == {
        "young": Agreement.UNDECIDED,
        "old": Agreement.NO_MESSAGE,
    }


def test_a_folder_that_is_no_banks_is_named(tmp_path):
    with pytest.raises(JobFailed, match=r"bank_folder: there is no .*ccb\.db"):
        read_ledgers(tmp_path)
    (tmp_path / "ccb.db").write_bytes(b"this is no database, it is a text that somebody has put here")
    with pytest.raises(JobFailed, match=r"ccb\.db is not the database of a bank"):
        read_ledgers(tmp_path)

"""Two banks' ledgers compared with the messages that should tie them together."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager

import pytest

from engine.pipeline.errors import JobFailed
from engine.pipeline.jobs.report import ALL_ROWS
from engine.pipeline.jobs.transaction_reconciliation import ledgers as ledgers_module
from engine.pipeline.jobs.transaction_reconciliation.ledgers import Ledgers
from engine.pipeline.jobs.transaction_reconciliation.summary import keys_of
from engine.pipeline.jobs.transaction_reconciliation.words import Agreement, Status
from tests.support.live.bank_files import START_MS, make_banks
from tests.support.pipeline.judged_facts import JudgedFacts
from tests.support.pipeline.transaction_log import TransactionLog


def halves_of(log, *keys):
    for key in keys:
        log.half(f"id-{key}", key=key)
        log.halves[f"id-{key}"]["properties"]["PGROUP"] = "icbc-0123abcd"


@contextmanager
def compared(spark, folder, log, read_until_ms=None):
    """Compare the ledgers in ``folder`` with the messages of ``log``."""
    with Ledgers(folder) as ledgers:
        ledgers.add_messages(keys_of(JudgedFacts(spark).read(log.rows).judged(), ledgers.producer_group))
        ledgers.compare(read_until_ms)
        yield ledgers


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
    make_banks(
        tmp_path, 1_000, 44, [(key, 10, 5) for key in debited], [(key, cents, 65) for key, cents in given.items()]
    )
    (tmp_path / "bank-id").write_text("0123abcd")
    with compared(spark, tmp_path, log) as ledgers:
        rows, sums = ledgers.transfer_rows(), ledgers.money()
        assert ledgers.differing() == len(rows)
        assert sorted(ledgers.uncredited()) == ["given up", "no message", "on its way", "rolled back", "undecided"]
        assert ledgers.window_row() == [3, 60, 60, 60, 60]
        assert [row[1:] for row in ledgers.longest_rows()] == [[START_MS + 5, START_MS + 65, 60]] * 3
        assert [level for _, level in ledgers.levels()] == [50, sums.in_flight]
    assert {row[1]: row[0] for row in rows} == {
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
    assert (sums.before, sums.after) == (1_080, 1_044)
    assert (sums.in_flight, sums.lost, sums.from_nowhere, sums.problems) == (20, 36, 20, 7)
    assert sums.before + sums.from_nowhere == sums.after + sums.in_flight + sums.lost
    assert not sums.is_conserved
    assert [row[0] for row in rows] == [one for one in Agreement if one is not Agreement.AGREED]
    assert [row[-1] for row in rows] == [1] * 7 + [0] * 2


def test_a_debit_younger_than_every_message_that_was_read_may_still_have_one(spark, tmp_path):
    make_banks(tmp_path, 90, 0, debits=[("young", 10, 50), ("as old", 10, 20), ("old", 10, 5)])
    with compared(spark, tmp_path, TransactionLog(), read_until_ms=START_MS + 20) as ledgers:
        assert {row[1]: row[0] for row in ledgers.transfer_rows()} == {
            "young": Agreement.UNDECIDED,
            "as old": Agreement.UNDECIDED,
            "old": Agreement.NO_MESSAGE,
        }


def test_a_stream_remembers_the_oldest_debits_and_of_the_others_it_says_no_loss(tmp_path, monkeypatch):
    monkeypatch.setattr(ledgers_module, "UNCREDITED_MAX", 2)
    # Not in the order of their times; the oldest of all is credited.
    debits = [("third", 10, 30), ("first", 10, 10), ("fourth", 10, 40), ("second", 10, 20), ("done", 10, 1)]
    make_banks(tmp_path, 50, 10, debits=debits, credited=[("done", 10, 60)])
    with Ledgers(tmp_path) as ledgers:
        assert ledgers.uncredited() == ["first", "second"]
        assert ledgers.uncredited_beyond() == (START_MS + 30, START_MS + 40)
        ledgers.compare(START_MS + 100, ledgers.uncredited_beyond())
        assert {row[1]: row[0] for row in ledgers.transfer_rows()} == {
            "first": Agreement.NO_MESSAGE,
            "second": Agreement.NO_MESSAGE,
            "third": Agreement.UNDECIDED,
            "fourth": Agreement.UNDECIDED,
        }
    monkeypatch.setattr(ledgers_module, "UNCREDITED_MAX", 4)
    with Ledgers(tmp_path) as ledgers:
        assert ledgers.uncredited_beyond() is None


@pytest.mark.parametrize(
    ("statuses", "agreement"),
    [
        ((Status.ROLLED_BACK, Status.OPEN), Agreement.UNDECIDED),
        ((Status.ROLLED_BACK, Status.NOT_READ), Agreement.UNDECIDED),
        ((Status.GIVEN_UP, Status.NOT_COMMITTED), Agreement.UNDECIDED),
        ((Status.OPEN, Status.COMMITTED), Agreement.ON_ITS_WAY),
        ((Status.ROLLED_BACK, Status.GIVEN_UP), Agreement.GIVEN_UP),
    ],
)
def test_of_several_messages_with_one_key_the_one_that_may_still_bring_the_credit_counts(tmp_path, statuses, agreement):
    make_banks(tmp_path, 80, 0, debits=[("one", 10, 1), ("other", 10, 2)])
    with Ledgers(tmp_path) as ledgers:
        ledgers.add_messages(zip(["one", "one"], statuses, strict=True))
        ledgers.add_messages(zip(["other", "other"], statuses[::-1], strict=True))
        ledgers.compare()
        assert [row[0] for row in ledgers.transfer_rows()] == [agreement] * 2


def test_a_folder_that_is_no_banks_is_named(tmp_path):
    with pytest.raises(JobFailed, match=r"bank_folder: .*ccb\.db does not exist"):
        Ledgers(tmp_path).__enter__()
    (tmp_path / "ccb.db").write_bytes(b"this is no database, it is a text that somebody has put here")
    with pytest.raises(JobFailed, match=r"ccb\.db is not a bank database"):
        Ledgers(tmp_path).__enter__()


@pytest.mark.parametrize(
    ("column", "value"), [("amount", "10.5"), ("amount", "'ten'"), ("at_ms", "NULL"), ("key", "NULL")]
)
def test_postings_that_are_none_are_refused(tmp_path, column, value):
    make_banks(tmp_path, 90, 10, debits=[("t", 10, 5)], credited=[("t", 10, 5)])
    with closing(sqlite3.connect(tmp_path / "icbc.db")) as database, database:
        database.execute(f"UPDATE transfer SET {column} = {value}")
    reported = rf"icbc\.db is not a bank database: in table transfer, 1 rows have no \w+ in column {column}"
    with pytest.raises(JobFailed, match=reported):
        Ledgers(tmp_path).__enter__()


@pytest.mark.parametrize(("column", "value"), [("balance", "'much'"), ("balance", "NULL"), ("name", "NULL")])
def test_accounts_that_are_none_are_refused(tmp_path, column, value):
    make_banks(tmp_path, 90, 10)
    with closing(sqlite3.connect(tmp_path / "ccb.db")) as database, database:
        database.execute(f"UPDATE account SET {column} = {value}")
    with pytest.raises(JobFailed, match=rf"ccb\.db .* in table account, 1 rows have no \w+ in column {column}"):
        Ledgers(tmp_path).__enter__()


def test_of_many_accounts_and_transfers_some_are_reported_and_all_are_counted(tmp_path):
    debits = [(f"t{number:04}", 10, number) for number in range(600)]
    make_banks(tmp_path, 1_000, 0, debits=debits)
    with closing(sqlite3.connect(tmp_path / "icbc.db")) as database, database:
        database.executemany("INSERT INTO account VALUES (?, 1)", [(f"C{number}",) for number in range(700)])
    with Ledgers(tmp_path) as ledgers:
        # Two transactions of one key: the one that was committed counts, whichever is reported first.
        ledgers.add_messages(zip(["t0000", "t0001"], ["committed", "rolled back"], strict=True))
        ledgers.add_messages(zip(["t0000", "t0001"], ["rolled back", "committed"], strict=True))
        ledgers.compare()
        rows, sums = ledgers.transfer_rows(), ledgers.money()
        assert (len(ledgers.accounts), ledgers.account_count) == (501, 702)
        assert (len(rows), ledgers.differing()) == (500, 600)
        # The 598 do not hide the two.
        assert [row[0] for row in rows] == [Agreement.NO_MESSAGE] * 498 + [Agreement.ON_ITS_WAY] * 2
        assert ledgers.transfer_counts() == [[Agreement.NO_MESSAGE, 598, 598], [Agreement.ON_ITS_WAY, 2, 0]]
        assert (sums.before, sums.after, sums.in_flight, sums.lost, sums.problems) == (7_700, 1_700, 20, 5_980, 598)
        assert ledgers.levels()[-1][1] == 20
        assert 1 < len(ledgers.levels()) <= 200
    with Ledgers(tmp_path, ALL_ROWS) as ledgers:
        ledgers.compare()
        assert (len(ledgers.accounts), len(ledgers.transfer_rows())) == (702, 600)
        assert ledgers.window_row() == [0, None, None, None, None]


def test_a_bank_can_go_on_while_its_ledger_is_looked_at(tmp_path):
    make_banks(tmp_path, 90, 0, debits=[("t", 10, 5)])
    with Ledgers(tmp_path) as ledgers, closing(sqlite3.connect(tmp_path / "icbc.db", timeout=0)) as bank:
        with bank:
            bank.execute("INSERT INTO transfer VALUES ('later', 'A', 10, 1, 1)")
        ledgers.compare()
        assert [row[1] for row in ledgers.transfer_rows()] == ["t"]
        assert ledgers.uncredited() == ["t"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ccb.db", "icbc.db"]

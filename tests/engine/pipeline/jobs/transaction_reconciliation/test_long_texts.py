"""Keys and ids of any length cost a task, and the state of a stream, no more than a bound. Without Spark."""

from __future__ import annotations

from engine.pipeline.jobs.transaction_reconciliation.facts import TEXT_MAX, bounded_text
from engine.pipeline.jobs.transaction_reconciliation.ledgers import Ledgers
from engine.pipeline.jobs.transaction_reconciliation.merging import spread_offsets
from engine.pipeline.jobs.transaction_reconciliation.words import Agreement, Status
from tests.support.live.bank_files import make_bank
from tests.support.pipeline.judged_facts import JudgedFacts, facts_of_rows
from tests.support.pipeline.transaction_log import TransactionLog

LONG = "k" * 30_000
#: Of one text: the beginning, three dots, and a hash.
BOUND = TEXT_MAX + 3 + 64


def test_a_fact_has_a_bounded_size_and_different_texts_stay_different():
    log = TransactionLog()
    for end in ("1", "2"):
        log.half(f"id {LONG}{end}", key=LONG + end)
        log.rows[-1]["properties"] |= {"REAL_TOPIC": LONG, "PGROUP": LONG}
        log.half(f"anonymous {end}", key=LONG + end, unique_id=None)
    facts = facts_of_rows(log.rows).to_pylist()
    for name in ("identity", "key"):
        texts = [fact[name] for fact in facts]
        assert max(map(len, texts)) == BOUND
        assert len(set(texts)) == (4 if name == "identity" else 2)
    assert {len(fact[name]) for fact in facts[::2] for name in ("topic", "producer_group")} == {BOUND}


def test_short_texts_stay_as_they_are():
    assert bounded_text("k" * TEXT_MAX) == "k" * TEXT_MAX
    assert bounded_text("\N{WINE GLASS}" * 300).startswith("\N{WINE GLASS}" * TEXT_MAX + "...")


def test_a_row_that_knows_many_places_does_not_repeat_its_texts_for_each():
    log = TransactionLog()
    for number in range(2_000):
        log.half("same", checks=number % 3, key="k" * TEXT_MAX)
    log.roll_back("same")
    judged = JudgedFacts().read(log.rows)
    spread = spread_offsets(judged.state)
    # Of the transaction, and of its broker.
    assert spread.column("key").drop_null().to_pylist() == ["k" * TEXT_MAX] * 2
    assert spread.nbytes < 2_000 * 300
    # Read again and again, it stays what it was.
    judged.read([])
    (row,) = [row for row in judged.state.to_pylist() if row["role"] == "transaction"]
    assert (row["key"], row["copies"], row["ops"], len(row["half_offsets"])) == ("k" * TEXT_MAX, 2_000, 1, 2_000)
    assert judged.counts() == {Status.ROLLED_BACK: 1}


def test_a_ledger_with_long_keys_meets_its_messages(tmp_path):
    keys = [LONG, LONG + "2", "\0" + LONG, "short"]
    make_bank(tmp_path / "icbc.db", "A", 100, debits=[(key, 10, 5) for key in keys])
    make_bank(tmp_path / "ccb.db", "B", 110, credited=[(key, 10, 65) for key in (*keys[1:], "x" + LONG)])
    log = TransactionLog()
    for number, key in enumerate(keys):
        log.half(f"t{number}", key=key)
    reported = [row for row in JudgedFacts().read(log.rows).state.to_pylist() if row["role"] == "transaction"]
    with Ledgers(tmp_path) as ledgers:
        ledgers.add_messages([row["key"] for row in reported], [Status.OPEN] * len(reported))
        assert ledgers.uncredited() == [bounded_text(LONG)]
        ledgers.compare()
        rows = [row[:2] for row in ledgers.transfer_rows()]
    assert rows == [
        [Agreement.FROM_NOWHERE, bounded_text("x" + LONG)],
        [Agreement.UNDECIDED, bounded_text(LONG)],
    ]

"""Reports on the money, and on ledgers that change or cannot be added up."""

from __future__ import annotations

import pytest

from engine.pipeline.errors import JobFailed
from engine.pipeline.jobs.transaction_reconciliation import ledgers as ledgers_module
from engine.pipeline.jobs.transaction_reconciliation.description import DESCRIPTION
from engine.pipeline.jobs.transaction_reconciliation.ledgers import Ledgers
from engine.pipeline.jobs.transaction_reconciliation.results import money_row
from engine.pipeline.jobs.transaction_reconciliation.words import Agreement
from tests.support.live.bank_files import make_bank, make_banks, post


def reported(ledgers, expected=None):
    """The row of the table, by the names of its columns."""
    table = next(table for table in DESCRIPTION.tables if table.name == "money")
    return dict(zip((column.name for column in table.columns), money_row(ledgers.money(), expected), strict=True))


@pytest.fixture
def folder(tmp_path):
    make_banks(tmp_path, 90, 10, debits=[("t", 10, 5)], credited=[("t", 10, 65)])
    return tmp_path


def test_a_transfer_that_is_done_after_the_ledgers_were_copied_is_not_wrong(folder):
    with Ledgers(folder) as ledgers:
        post(folder / "icbc.db", "transfer", "A", ("meanwhile", 10, 70))
        # Read after that: the newest messages are newer than the copies.
        ledgers.add_messages(zip(["t", "meanwhile", "never"], ["committed"] * 3, strict=True))
        ledgers.compare()
        assert [row[:2] for row in ledgers.transfer_rows()] == [[Agreement.NO_TRANSFER, "never"]]
        assert ledgers.without_transfer() == ["never"]
        assert (ledgers.money().problems, ledgers.money().before) == (1, 100)


def test_a_paying_bank_that_is_gone_by_then_is_named(folder):
    with Ledgers(folder) as ledgers:
        (folder / "icbc.db").unlink()
        ledgers.add_messages(zip(["never"], ["committed"], strict=True))
        with pytest.raises(JobFailed, match=r"bank_folder: .*icbc\.db does not exist"):
            ledgers.compare()


def test_of_too_many_messages_without_a_transfer_the_known_ones_are_remembered(folder, monkeypatch):
    monkeypatch.setattr(ledgers_module, "WITHOUT_TRANSFER_MAX", 2)
    with Ledgers(folder) as ledgers:
        ledgers.add_messages(zip(list("abcde"), ["committed"] * 5, strict=True))
        ledgers.compare()
        assert ledgers.without_transfer() == ["a", "b"]
        assert ledgers.without_transfer(["d", "elsewhere"]) == ["d", "a"]


def test_another_opening_sum_than_the_ledgers_say_is_a_problem_and_the_sums_still_add_up(folder):
    with Ledgers(folder) as ledgers:
        ledgers.compare()
        for expected in (None, 100):
            row = reported(ledgers, expected)
            assert (row["before"], row["expected"], row["conserved"], row["problems"]) == (100, expected, True, 0)
        row = reported(ledgers, 120)
        assert (row["before"], row["expected"], row["conserved"], row["problems"]) == (100, 120, False, 1)
        assert row["before"] + row["from_nowhere"] == row["after"] + row["in_flight"] + row["lost"]


def test_the_plot_of_money_in_flight_ends_where_the_table_stands(tmp_path):
    debits = [(key, 10, 5) for key in ("lost", "gone", "open", "less", "more")]
    make_banks(tmp_path, 0, 0, debits, credited=[("less", 4, 65), ("more", 25, 65), ("nowhere", 10, 65)])
    with Ledgers(tmp_path) as ledgers:
        ledgers.add_messages(zip(["lost", "gone", "open"], ["rolled back", "given up", "open"], strict=True))
        ledgers.compare()
        assert ledgers.money().in_flight == 10
        assert [level for _, level in ledgers.levels()] == [30, 10]


@pytest.mark.parametrize(
    ("bank", "debits", "balance", "column"),
    [
        ("icbc", [("a", 2**62, 5), ("b", -(2**62), 5)], 0, "amount of table transfer"),
        ("icbc", [("a", -(2**63), 5)], 0, "amount of table transfer"),
        ("ccb", [], 2**62, "balance of table account"),
    ],
)
def test_a_ledger_whose_sums_are_too_large_is_named(tmp_path, bank, debits, balance, column):
    for name in ("icbc", "ccb"):
        own = (balance, debits) if name == bank else (0, [])
        make_bank(tmp_path / f"{name}.db", "A", *own)
    with pytest.raises(JobFailed, match=rf"{bank}\.db: column {column} adds up to \S+; sums must be") as failed:
        Ledgers(tmp_path).__enter__()
    assert f"{bank}.db：表" in failed.value.sentence["zh"]

"""Which money has left one bank and arrived at the other."""

from __future__ import annotations

from engine.lab.nodes.history import BankEntry
from engine.lab.nodes.money_flow import MoneyFlow


def entry(time_us: int, doing: str, outcome: str = "committed") -> BankEntry:
    return BankEntry(0, time_us, "N", "bank", "A", doing, "t-0", 100, outcome, 0)


def test_the_window_lies_between_the_first_commits_of_both_sides():
    flow = MoneyFlow()
    for one in (
        entry(1_000, "debit", "prepared"),
        entry(2_000, "debit", "overdraft"),
        entry(3_000, "check", "commit"),
        entry(5_000, "credit"),
        entry(7_000, "debit"),
        entry(8_000, "credit", "duplicate"),
        entry(9_000, "credit"),
    ):
        flow.take(one)
    (transfer,) = flow.transfers.values()
    assert (transfer.credited_us, transfer.debited_us, transfer.window_us) == (5_000, 7_000, 2_000)
    assert (transfer.reserved, transfer.debited, transfer.credited) == (100, 100, 200)
    assert (flow.debited, flow.credited) == (100, 200)
    assert (flow.in_flight, flow.from_nowhere) == (0, 100)


def test_a_window_that_is_not_closed_has_no_length():
    flow = MoneyFlow()
    transfer = flow.take(entry(1_000, "debit"))
    assert transfer is not None
    assert transfer.window_us is None
    assert flow.take(entry(2_000, "credit", "disk-full")) is None
    assert transfer.window_us is None

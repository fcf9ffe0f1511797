"""What the two checkers of money make of single actions of banks, in addition to the runs in ``test_banks.py``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import pytest

from engine.lab.checkers.transactions.money_is_conserved import MoneyIsConserved
from engine.lab.checkers.transactions.no_money_from_nowhere import NoMoneyFromNowhere
from engine.lab.checkers.watch.checker import Checker
from engine.lab.nodes.history import BankEntry
from engine.lab.run.run import LabRun
from engine.lab.witness.logged_message import LoggedMessage
from tests.support.lab.bank_scenarios import bank_run
from tests.support.lab.lab_scenarios import run_to_ms

_Checker = TypeVar("_Checker", bound=Checker)


@pytest.fixture
def run() -> Iterator[LabRun]:
    """A world in which all transfers are done."""
    with bank_run() as run:
        run_to_ms(run, 10_000)
        yield run


def checker(run: LabRun, kind: type[_Checker]) -> _Checker:
    assert run.checkers is not None
    return next(one for one in run.checkers.checkers if isinstance(one, kind))


def complaints(one: Checker) -> list[tuple[str, str]]:
    """(anomaly, text) of what it has found."""
    return [(found.anomaly.value, found.text["en"]) for found in one.watch.found if found.checker == one.name]


def action(doing: str, outcome: str = "committed", time_us: int = 0) -> BankEntry:
    """ICBC or CCB with 100 for the transfer x-0."""
    node, bank, account = ("P1", "ICBC", "A") if doing == "debit" else ("C1", "CCB", "B")
    return BankEntry(0, time_us, node, bank, account, doing, "x-0", 100, outcome, 0)


@pytest.mark.parametrize("outcome", ["committed", "prepared"])
def test_a_debit_that_is_made_or_promised_covers_one_credit_and_no_second(run, outcome):
    nowhere = checker(run, NoMoneyFromNowhere)
    nowhere.bank_entered(action("debit", outcome))
    nowhere.bank_entered(action("credit"))
    assert complaints(nowhere) == []
    nowhere.bank_entered(action("credit"))
    ((anomaly, text),) = complaints(nowhere)
    assert anomaly == "duplicate"
    assert "200 in total" in text


@pytest.mark.parametrize("outcome", ["overdraft", "disk-full", "duplicate"])
def test_a_debit_that_was_not_made_covers_nothing(run, outcome):
    nowhere = checker(run, NoMoneyFromNowhere)
    nowhere.bank_entered(action("debit", outcome))
    nowhere.bank_entered(action("credit"))
    assert [anomaly for anomaly, _ in complaints(nowhere)] == ["ghost read"]


@pytest.mark.parametrize(("is_lawful", "anomalies"), [(True, []), (False, ["skipped"])])
def test_only_a_message_that_a_power_cut_may_take_excuses_missing_money(run, is_lawful, anomalies):
    conserved = checker(run, MoneyIsConserved)
    conserved.bank_entered(action("debit"))
    place = ("B1", "Transfers", 0, 0, 0, 100, 0, True, "Transfers", "")
    conserved.message_lost(
        LoggedMessage(*place, key="x-0", unique_key="U", reconsume_times=0, store_timestamp=0), is_lawful
    )
    conserved.run_ended()
    assert [anomaly for anomaly, _ in complaints(conserved)] == anomalies

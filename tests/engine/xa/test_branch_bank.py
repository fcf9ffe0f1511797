"""The bank of a resource manager: a promise is durable, changes no balance, and is kept or taken back."""

from __future__ import annotations

import pytest

from engine.bank.accounts import Accounts
from engine.bank.bank_action import BankAction, Doing
from engine.bank.database import BankDatabase
from engine.bank.errors import CommitRefused
from engine.bank.transfer import Transfer
from engine.runtime.lab.lab_runtime import LabMachines
from engine.xa.branch_bank import BranchBank, BranchWork
from engine.xa.states import BranchState


@pytest.fixture
def world():
    with LabMachines(seed=1) as world:
        yield world


def opened(world: LabMachines, reported: list[BankAction] | None = None) -> BranchBank:
    runtime = world.node("R1")
    accounts = Accounts(BankDatabase(runtime.disk, "bank.db"))
    accounts.open_account("A", 100)
    return BranchBank(runtime, accounts, reported.append if reported is not None else lambda action: None)


def work(amount: int = 30, doing: Doing = Doing.DEBIT, xid: str = "TC-1-1") -> BranchWork:
    return BranchWork(xid, doing, Transfer("t-1", "A", "B", amount))


def test_a_promise_survives_a_power_cut_and_changes_no_balance(world):
    assert opened(world).prepare(work(), 5) == ""
    world.crash("R1", keep_page_cache=False)
    world.restart("R1")
    bank = opened(world)
    assert bank.branches(BranchState.PREPARED) == [work()]
    assert bank.accounts.committed_balance("A") == 100


def test_a_kept_promise_is_posted_and_one_taken_back_is_not(world):
    bank = opened(world)
    bank.prepare(work(), 5)
    bank.commit(work(), 6)
    other = work(50, xid="TC-1-2")._replace(transfer=Transfer("t-2", "A", "B", 50))
    bank.prepare(other, 7)
    bank.roll_back(other, 8)
    assert bank.accounts.committed_balance("A") == 70
    assert bank.accounts.has_transfer("t-1")
    assert not bank.accounts.has_transfer("t-2")
    assert [bank.state_of(xid) for xid in ("TC-1-1", "TC-1-2", "TC-9-9")] == [
        BranchState.COMMITTED,
        BranchState.ROLLED_BACK,
        None,
    ]


def test_what_the_account_has_not_got_is_not_promised(world):
    bank = opened(world)
    assert "less than 101" in bank.prepare(work(101), 5)
    assert bank.branches(BranchState.PREPARED) == []


def test_a_transfer_that_was_credited_before_is_not_promised_again(world):
    bank = opened(world)
    credit = BranchWork("TC-1-1", Doing.CREDIT, Transfer("t-1", "Z", "A", 5))
    bank.prepare(credit, 5)
    bank.commit(credit, 6)
    assert "credited before" in bank.prepare(credit._replace(xid="TC-1-2"), 7)


def test_a_promise_that_the_disk_cannot_take_is_none(world):
    bank = opened(world)
    storage = world.storages["R1"]
    storage.occupied_bytes = storage.capacity_bytes - storage.used_bytes
    assert "disk is full" in bank.prepare(work(), 5)
    storage.occupied_bytes = 0
    assert bank.branches(BranchState.PREPARED) == []
    assert bank.prepare(work(), 6) == ""


def test_a_promise_that_cannot_be_kept_now_still_stands(world):
    bank = opened(world)
    bank.prepare(work(), 5)
    storage = world.storages["R1"]
    storage.occupied_bytes = storage.capacity_bytes - storage.used_bytes
    with pytest.raises(CommitRefused):
        bank.commit(work(), 6)
    storage.occupied_bytes = 0
    assert bank.branches(BranchState.PREPARED) == [work()]
    assert bank.accounts.committed_balance("A") == 100


def test_watchers_learn_of_the_promise_and_of_its_end(world):
    reported: list[BankAction] = []
    bank = opened(world, reported)
    bank.at_work(work())
    assert [action.key for action in bank.open.values()] == ["t-1"]
    bank.prepare(work(), 5)
    bank.commit(work(), 6)
    bank.done_with(work(), "committed")
    assert [(action.outcome, action.balance) for action in reported] == [("prepared", 100), ("committed", 70)]
    assert not bank.open

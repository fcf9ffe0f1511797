"""The bank that pays: its local transaction, its answers to check-backs, and the three ways."""

from __future__ import annotations

import asyncio

import pytest

from engine.bank.bank_action import Doing
from engine.bank.errors import CommitUncertain, DatabaseClosed
from engine.bank.paying_bank import TransferVariant
from engine.bank.transfer import Transfer
from engine.client.callbacks.send_result import SendStatus
from engine.client.callbacks.transaction_listener import LocalTransactionState
from engine.protocol.message.message import Message
from engine.runtime.lab.lab_runtime import LabMachines
from engine.runtime.port import DiskFault
from tests.engine.bank.bank_nodes import TRANSFER, acknowledged, message, paying

COMMIT, ROLLBACK, UNKNOW = (
    LocalTransactionState.COMMIT_MESSAGE,
    LocalTransactionState.ROLLBACK_MESSAGE,
    LocalTransactionState.UNKNOW,
)


@pytest.fixture
def world():
    with LabMachines(seed=1) as world:
        yield world


def half(transfer: Transfer = TRANSFER) -> Message:
    """What was sent, as the listener gets it."""
    return transfer.message("Transfers")


def run(world: LabMachines, work):
    return world.run(work, node="ICBC")


def test_a_local_transaction_debits_once_and_says_commit(world):
    bank, actions = paying(world)
    assert run(world, bank.execute_local_transaction(half(), 0)) is COMMIT
    assert bank.accounts.committed_balance("A") == 150
    assert [(action.doing, action.outcome, action.balance) for action in actions] == [(Doing.DEBIT, "committed", 150)]
    assert run(world, bank.execute_local_transaction(half(), 0)) is ROLLBACK, "that key was debited"
    assert bank.accounts.committed_balance("A") == 150
    assert actions[-1].outcome == "known"


def test_sqlites_check_refuses_an_overdraft_and_the_answer_is_rollback(world):
    bank, actions = paying(world, opening=99)
    assert run(world, bank.execute_local_transaction(half(), 0)) is ROLLBACK
    assert bank.accounts.committed_balance("A") == 99
    assert not bank.accounts.has_transfer("t-1"), "the row went with the debit"
    assert actions[0].outcome == "overdraft"


def test_a_full_disk_refuses_the_commit_and_the_answer_is_rollback(world):
    bank, actions = paying(world)
    storage = world.storages["ICBC"]
    storage.occupied_bytes = storage.capacity_bytes - storage.used_bytes
    assert run(world, bank.execute_local_transaction(half(), 0)) is ROLLBACK
    assert actions[0].outcome == "disk-full"
    assert bank.accounts.committed_balance("A") == 250


def test_who_cannot_tell_whether_the_debit_is_on_the_disk_does_not_say_rollback(world, monkeypatch):
    bank, _ = paying(world)
    disk = world.node("ICBC").disk
    write = disk.write_whole

    def write_and_fail(path, data):
        write(path, data)
        raise DiskFault("the folder could not be synchronised")

    monkeypatch.setattr(disk, "write_whole", write_and_fail)
    with pytest.raises(CommitUncertain):
        run(world, bank.execute_local_transaction(half(), 0))
    with pytest.raises(DatabaseClosed):
        run(world, bank.check_local_transaction(message()))
    world.restart("ICBC")
    again, _ = paying(world)
    assert run(world, again.check_local_transaction(message())) is COMMIT, "the next process reads the disk"


def test_a_check_finds_the_row_after_a_crash_and_nothing_of_what_was_not_committed(world):
    bank, _ = paying(world)
    run(world, bank.execute_local_transaction(half(), 0))
    world.restart("ICBC")
    again, actions = paying(world)
    assert run(world, again.check_local_transaction(message())) is COMMIT
    other = message(Transfer("t-2", "A", "B", 100))
    assert run(world, again.check_local_transaction(other)) is ROLLBACK
    assert [action.outcome for action in actions] == ["commit", "rollback"]
    assert again.accounts.committed_balance("A") == 150, "a check does nothing again"


def test_a_crash_in_the_middle_of_a_local_transaction_rolls_it_back(world):
    bank, _ = paying(world, duration_ms=1_000)
    world.node("ICBC").spawn(bank.execute_local_transaction(half(), 0), "debits")
    world.run_for(500)
    assert bank.accounts.balance("A") == 150
    assert bank.accounts.committed_balance("A") == 250
    assert [action.key for action in bank.open.values()] == ["t-1"]
    world.crash("ICBC")
    world.restart("ICBC")
    again, _ = paying(world)
    assert again.accounts.committed_balance("A") == 250
    assert run(world, again.check_local_transaction(message())) is ROLLBACK


@pytest.mark.parametrize("sending_ms", [0, 400])
def test_who_is_still_at_a_transfer_never_says_rollback(world, sending_ms):
    """Not even before the local transaction has begun: the answer to the send may be on its way."""
    bank, _ = paying(world, duration_ms=400)
    answers = []

    async def send():
        await asyncio.sleep(sending_ms / 1_000)
        await bank.execute_local_transaction(half(), 0)
        return acknowledged()

    async def check_meanwhile():
        await asyncio.sleep(0.2)
        answers.append(await bank.check_local_transaction(message()))
        await asyncio.sleep(1)
        answers.append(await bank.check_local_transaction(message()))

    async def both():
        await asyncio.gather(bank.pay(TRANSFER, send), check_meanwhile())

    run(world, both())
    assert answers == [UNKNOW, COMMIT]
    assert bank.paying == {}


@pytest.mark.parametrize(
    ("way", "send_works", "balance", "sent"),
    [
        (TransferVariant.SEND_THEN_DEBIT, True, 150, 1),
        (TransferVariant.SEND_THEN_DEBIT, False, 250, 1),
        (TransferVariant.DEBIT_THEN_SEND, True, 150, 1),
        (TransferVariant.DEBIT_THEN_SEND, False, 150, 1),
    ],
)
def test_the_naive_ways_do_one_thing_after_the_other(world, way, send_works, balance, sent):
    bank, _ = paying(world, way=way)
    sends = []

    async def send():
        sends.append(bank.accounts.committed_balance("A"))
        return acknowledged() if send_works else None

    run(world, bank.pay(TRANSFER, send))
    assert len(sends) == sent
    assert sends[0] == (150 if way is TransferVariant.DEBIT_THEN_SEND else 250)
    assert bank.accounts.committed_balance("A") == balance


def test_send_then_debit_leaves_a_sent_message_behind_when_the_debit_fails(world):
    bank, actions = paying(world, opening=50, way=TransferVariant.SEND_THEN_DEBIT)
    sends = []

    async def send():
        sends.append(1)
        return acknowledged()

    run(world, bank.pay(TRANSFER, send))
    assert sends == [1]
    assert actions[0].outcome == "overdraft"
    assert bank.accounts.committed_balance("A") == 50


def test_debit_then_send_sends_nothing_when_the_debit_fails(world):
    bank, _ = paying(world, opening=50, way=TransferVariant.DEBIT_THEN_SEND)

    async def send():
        raise AssertionError("nothing was debited")

    run(world, bank.pay(TRANSFER, send))


def test_a_message_that_may_vanish_is_no_ground_to_debit(world):
    bank, actions = paying(world, way=TransferVariant.SEND_THEN_DEBIT)

    async def send():
        return acknowledged(SendStatus.FLUSH_DISK_TIMEOUT)

    run(world, bank.pay(TRANSFER, send))
    assert actions == []


def test_transfers_of_one_bank_wait_for_each_other(world):
    bank, actions = paying(world, opening=150, duration_ms=100)
    second = Transfer("t-2", "A", "B", 100)

    async def both():
        return await asyncio.gather(
            bank.execute_local_transaction(half(), 0), bank.execute_local_transaction(half(second), 1)
        )

    assert run(world, both()) == [COMMIT, ROLLBACK]
    assert [action.outcome for action in actions] == ["committed", "overdraft"]

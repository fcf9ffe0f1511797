"""The bank that receives: one credit per transfer, however often its message comes."""

from __future__ import annotations

import pytest

from engine.bank.errors import CommitRefused, NoSuchAccount, NotATransfer
from engine.bank.transfer import Transfer
from engine.runtime.lab.lab_runtime import LabMachines
from tests.engine.bank.bank_nodes import message, receiving


@pytest.fixture
def world():
    with LabMachines(seed=1) as world:
        yield world


def run(world: LabMachines, work):
    return world.run(work, node="CCB")


def test_a_message_that_comes_again_is_ignored_even_by_the_next_process(world):
    bank, actions = receiving(world)
    run(world, bank.receive(message()))
    run(world, bank.receive(message()))
    assert bank.duplicates_ignored == 1
    world.restart("CCB")
    again, more = receiving(world)
    run(world, again.receive(message()))
    assert [action.outcome for action in (*actions, *more)] == ["committed", "duplicate", "duplicate"]
    assert again.accounts.committed_balance("B") == 100


def test_without_idempotence_it_credits_as_often_as_it_is_asked(world):
    bank, actions = receiving(world)
    bank.idempotent = False
    for _ in range(3):
        run(world, bank.receive(message()))
    assert bank.accounts.committed_balance("B") == 300
    assert [action.outcome for action in actions] == ["committed"] * 3
    (row,) = bank.accounts.newest("credit", 10)
    assert (row.amount, row.times) == (300, 3)
    bank.idempotent = True
    run(world, bank.receive(message()))
    assert bank.accounts.committed_balance("B") == 300


def test_a_process_that_dies_before_its_commit_has_credited_nothing(world):
    bank, _ = receiving(world)
    bank.duration_ms = 1_000
    world.node("CCB").spawn(bank.receive(message()), "credits")
    world.run_for(500)
    assert bank.accounts.balance("B") == 100
    world.restart("CCB")
    again, _ = receiving(world)
    assert again.accounts.committed_balance("B") == 0
    run(world, again.receive(message()))
    assert again.accounts.committed_balance("B") == 100


def test_what_cannot_be_credited_raises_so_that_it_comes_again(world):
    bank, actions = receiving(world)
    with pytest.raises(NoSuchAccount, match="'C'"):
        run(world, bank.receive(message(Transfer("t-2", "A", "C", 5))))
    with pytest.raises(NotATransfer):
        run(world, bank.receive(message(body=b"hello")))
    storage = world.storages["CCB"]
    storage.occupied_bytes = storage.capacity_bytes - storage.used_bytes
    with pytest.raises(CommitRefused):
        run(world, bank.receive(message()))
    assert [action.outcome for action in actions] == ["no-account", "disk-full"]
    assert bank.accounts.committed_balance("B") == 0
    storage.occupied_bytes = 0
    run(world, bank.receive(message()))
    assert bank.accounts.committed_balance("B") == 100

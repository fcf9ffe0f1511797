"""Locks on accounts: first come, first served; who waits too long, or does not want it any more, goes without."""

from __future__ import annotations

import asyncio

import pytest

from engine.runtime.lab.lab_runtime import LabMachines
from engine.xa.account_locks import AccountLocks


@pytest.fixture
def node():
    with LabMachines(seed=1) as world:
        yield world.node("R1")


def test_the_lock_goes_to_whoever_waits_longest(node):
    locks = AccountLocks(node.clock.monotonic_us)

    async def story() -> list[str]:
        order: list[str] = []

        async def want(owner: str) -> None:
            assert await locks.acquire("A", owner, 1_000)
            order.append(owner)
            await asyncio.sleep(0.01)
            locks.release("A", owner)

        await asyncio.gather(*(want(owner) for owner in ("x", "y", "z")))
        return order

    assert node.run(story()) == ["x", "y", "z"]
    assert locks.holder_of("A") is None
    assert [(wait.waiter, wait.holder, wait.since_us, wait.until_us) for wait in locks.waits] == [
        ("y", "x", 0, 10_000),
        ("z", "y", 0, 20_000),
    ]


def test_who_waits_too_long_goes_without_and_is_not_in_the_way(node):
    locks = AccountLocks(node.clock.monotonic_us)

    async def story() -> bool:
        locks.take("A", "doubtful")
        got = await locks.acquire("A", "impatient", 50)
        locks.release("A", "doubtful")
        assert await locks.acquire("A", "next", 50)
        return got

    assert node.run(story()) is False
    assert [wait.is_in_vain for wait in locks.waits] == [True]


def test_giving_up_is_reported_immediately(node):
    locks = AccountLocks(node.clock.monotonic_us)

    async def story() -> tuple[bool, int]:
        locks.take("A", "x")
        waiting = asyncio.create_task(locks.acquire("A", "y", 60_000))
        await asyncio.sleep(0.01)
        locks.give_up("A", "y")
        return await waiting, node.clock.monotonic_us()

    assert node.run(story()) == (False, 10_000)


def test_releasing_what_one_does_not_hold_changes_nothing(node):
    locks = AccountLocks(node.clock.monotonic_us)
    locks.take("A", "x")
    locks.release("A", "y")
    locks.release("B", "y")
    assert locks.holder_of("A") == "x"

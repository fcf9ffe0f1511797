from __future__ import annotations

import asyncio

import pytest

from engine.runtime.lab.lab_loop import LabLoop
from engine.runtime.shield import shield


@pytest.fixture
def loop():
    loop = LabLoop.new()
    yield loop
    loop.close()


def settled(loop, settle):
    """A task that waits for a shielded future, and how many events ran after ``settle`` was called with the future."""
    inner = loop.create_future()

    async def wait():
        return await shield(inner)

    waiter = loop.create_task(wait())
    loop.run_events(10)
    settle(inner)
    events = loop.run_events(10)
    return waiter, events


def test_the_outcome_of_the_inner_future_is_that_of_the_shield(loop):
    waiter, events = settled(loop, lambda inner: inner.set_result(7))
    assert waiter.result() == 7
    # The shield is settled, what settled it is forgotten, the task goes on: the same in every version of Python.
    assert events == 3
    waiter, _ = settled(loop, lambda inner: inner.set_exception(ValueError("no")))
    with pytest.raises(ValueError, match="no"):
        waiter.result()
    waiter, _ = settled(loop, lambda inner: inner.cancel())
    assert waiter.cancelled()


@pytest.mark.parametrize("ending", ["result", "exception", "cancel"])
def test_a_cancelled_shield_leaves_the_inner_future_alone(loop, ending):
    inner = loop.create_future()

    async def wait():
        await shield(inner)

    waiter = loop.create_task(wait())
    loop.run_events(10)
    waiter.cancel()
    loop.run_events(10)
    assert waiter.cancelled()
    assert not inner.done()
    match ending:
        case "result":
            inner.set_result(1)
        case "exception":
            inner.set_exception(ValueError)
            assert inner.exception() is not None
        case _:
            inner.cancel()
    loop.run_events(10)
    assert loop.failures.failures == []


def test_a_future_that_is_done_is_its_own_shield(loop):
    inner = loop.create_future()
    inner.set_result(3)
    assert shield(inner) is inner


def test_the_shield_and_its_future_may_end_in_the_same_moment(loop):
    inner: asyncio.Future[int] = loop.create_future()
    outer = shield(inner)
    inner.set_result(1)
    outer.cancel()
    loop.run_events(10)
    assert outer.cancelled()
    assert loop.failures.failures == []

from __future__ import annotations

import asyncio

import pytest

from engine.runtime.future_waits import all_ended, shield
from engine.runtime.lab.lab_loop import LabLoop


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


# --- all_ended -------------------------------------------------------------------------------------------------------


def test_all_ended_is_done_with_the_last_however_each_ended(loop):
    done, failing, cancelled, last = (loop.create_future() for _ in range(4))
    done.set_result(1)
    ended = all_ended([done, failing, cancelled, last])
    failing.set_exception(ValueError("no"))
    cancelled.cancel()
    loop.run_events(10)
    assert not ended.done()
    last.set_result(2)
    loop.run_events(10)
    assert ended.result() is None


def test_all_of_nothing_has_ended(loop):
    async def wait():
        return await all_ended([])

    assert loop.run_until_complete(wait()) is None


def test_who_is_cancelled_while_it_waits_cancels_them_and_waits_for_their_end(loop):
    story = []

    async def slow():
        try:
            await asyncio.sleep(100)
        finally:
            await asyncio.sleep(1)
            story.append("slow has ended")

    async def wait(tasks):
        try:
            await all_ended(tasks)
        finally:
            story.append("waited")

    tasks = [loop.create_task(slow()), loop.create_task(slow())]
    waiter = loop.create_task(wait(tasks))
    loop.run_events(20, until_us=1_000)
    waiter.cancel()
    loop.run_events(100, until_us=10_000_000)
    assert story == ["slow has ended", "slow has ended", "waited"]
    assert waiter.cancelled()
    assert loop.failures.failures == []


@pytest.mark.parametrize("count", [1, 3])
def test_what_has_ended_already_costs_an_event_each_in_every_version(loop, count):
    futures = [loop.create_future() for _ in range(count)]
    for future in futures:
        future.set_result(None)
    ended = all_ended(futures)
    assert not ended.done()
    assert loop.run_events(100) == count
    assert ended.done()

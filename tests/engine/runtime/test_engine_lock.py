"""Owner, waiters, switch and step points of the engine's lock, in the lab and live."""

from __future__ import annotations

import asyncio

import pytest

from engine.runtime.engine_lock import EngineLock
from engine.runtime.lab.lab_loop import LabLoop
from engine.runtime.step import step


def lab_run(coroutine):
    loop = LabLoop.new()
    try:
        return loop.run_until_complete(coroutine)
    finally:
        loop.close()


@pytest.fixture(params=[lab_run, asyncio.run], ids=["lab", "live"])
def run(request):
    return request.param


async def hold(lock, begun, go_on):
    async with lock:
        begun.set()
        await go_on.wait()


def test_one_at_a_time_and_the_longest_waiter_next(run):
    async def scenario():
        lock, order, inside = EngineLock("queue"), [], []

        async def work(number):
            async with lock:
                inside.append(number)
                assert len(inside) == 1
                await asyncio.sleep(0)
                order.append(number)
                inside.remove(number)

        await asyncio.gather(*(work(number) for number in range(10)))
        assert order == list(range(10))
        assert (lock.owner, lock.waiters, lock.is_locked) == (None, (), False)

    run(scenario())


def test_the_owner_and_the_waiters_are_known_by_name(run):
    async def scenario():
        lock, begun, go_on = EngineLock("queue"), asyncio.Event(), asyncio.Event()
        tasks = [asyncio.create_task(hold(lock, begun, go_on), name=name) for name in ("first", "second", "third")]
        await begun.wait()
        for _ in range(5):
            await asyncio.sleep(0)
        assert str(lock.owner).rpartition("/")[2] == "first"
        assert [name.rpartition("/")[2] for name in lock.waiters] == ["second", "third"]
        go_on.set()
        await asyncio.gather(*tasks)

    run(scenario())


def test_only_the_owner_can_release(run):
    async def scenario():
        lock, begun, go_on = EngineLock("queue"), asyncio.Event(), asyncio.Event()
        with pytest.raises(RuntimeError, match="held by nobody"):
            lock.release()
        task = asyncio.create_task(hold(lock, begun, go_on), name="owner")
        await begun.wait()
        with pytest.raises(RuntimeError, match=r"releases lock queue, which is held by .*owner"):
            lock.release()
        go_on.set()
        await task

    run(scenario())


def test_acquiring_it_again_is_a_bug(run):
    async def scenario():
        lock = EngineLock("queue")
        async with lock:
            with pytest.raises(AssertionError, match="not reentrant"):
                await lock.acquire()
        assert not lock.is_locked

    run(scenario())


def test_try_acquire_takes_a_free_lock_only(run):
    async def scenario():
        lock, begun, go_on = EngineLock("queue"), asyncio.Event(), asyncio.Event()
        assert lock.try_acquire()
        lock.release()
        task = asyncio.create_task(hold(lock, begun, go_on))
        await begun.wait()
        assert not lock.try_acquire()
        go_on.set()
        await task
        assert lock.try_acquire()

    run(scenario())


def test_an_exception_inside_releases_the_lock(run):
    async def scenario():
        lock = EngineLock("queue")
        with pytest.raises(ValueError, match="inside"):
            async with lock:
                raise ValueError("inside")
        assert not lock.is_locked

    run(scenario())


@pytest.mark.parametrize("woken", [False, True], ids=["while waiting", "just woken"])
def test_a_cancelled_waiter_does_not_lose_the_lock_for_the_next(run, woken):
    async def scenario():
        lock, got = EngineLock("queue"), []

        async def work(name):
            async with lock:
                got.append(name)

        async with lock:
            tasks = [asyncio.create_task(work(name)) for name in "ab"]
            for _ in range(5):
                await asyncio.sleep(0)
            if not woken:
                tasks[0].cancel()
        if woken:
            tasks[0].cancel()
        async with asyncio.timeout(10):
            await asyncio.gather(*tasks, return_exceptions=True)
        assert got == ["b"]
        assert lock.waiters == ()

    run(scenario())


def test_who_was_overtaken_still_waits_longest(run):
    async def scenario():
        lock, got = EngineLock("queue"), []

        async def work(name):
            async with lock:
                got.append(name)

        await lock.acquire()
        tasks = [asyncio.create_task(work(name)) for name in "ab"]
        for _ in range(5):
            await asyncio.sleep(0)
        lock.release()
        assert lock.try_acquire()
        for _ in range(5):
            await asyncio.sleep(0)
        lock.release()
        await asyncio.gather(*tasks)
        assert got == ["a", "b"]

    run(scenario())


def test_a_switched_off_lock_lets_everybody_in(run):
    async def scenario():
        lock, inside = EngineLock("queue", enabled=False), []

        async def work(number):
            async with lock:
                inside.append(number)
                await asyncio.sleep(0.001)
                assert len(inside) == 3

        await asyncio.gather(*(work(number) for number in range(3)))
        assert lock.owner is None

    run(scenario())


def test_switching_it_off_frees_those_who_wait_and_everybody_can_release(run):
    async def scenario():
        lock, begun, go_on = EngineLock("queue"), asyncio.Event(), asyncio.Event()
        tasks = [asyncio.create_task(hold(lock, begun, go_on)) for _ in range(3)]
        await begun.wait()
        for _ in range(3):
            await asyncio.sleep(0)
        assert lock.waiters
        lock.enabled = False
        for _ in range(3):
            await asyncio.sleep(0)
        assert not lock.waiters
        go_on.set()
        await asyncio.gather(*tasks)
        lock.enabled = True
        async with lock:
            assert lock.is_locked

    run(scenario())


def test_acquiring_passes_a_labelled_step_point_even_when_the_lock_is_free_or_off():
    loop, labels = LabLoop.new(), []
    loop.on_event = lambda event: labels.append(event.label)

    async def work():
        async with EngineLock("consume queue"):
            pass
        async with EngineLock("consume queue", enabled=False):
            pass

    loop.run_until_complete(work())
    assert labels.count("acquires lock consume queue") == 2
    loop.close()


def test_without_the_lock_a_lost_update_shows_and_with_it_none():
    def total_after(enabled):
        loop, lock, account = LabLoop.new(), EngineLock("account", enabled), {"balance": 0}

        async def deposit():
            for _ in range(10):
                async with lock:
                    balance = account["balance"]
                    await step("adds one")
                    account["balance"] = balance + 1

        async def everybody():
            await asyncio.gather(deposit(), deposit())

        loop.run_until_complete(everybody())
        loop.close()
        return account["balance"]

    assert total_after(enabled=True) == 20
    assert total_after(enabled=False) < 20


def test_whoever_waits_only_so_long_gets_the_lock_in_time_or_not_at_all(run):
    async def scenario():
        lock, begun, go_on = EngineLock("queue"), asyncio.Event(), asyncio.Event()
        holder = asyncio.create_task(hold(lock, begun, go_on))
        await begun.wait()
        async with lock.within(20) as is_held:
            assert not is_held
            assert lock.is_locked
        assert lock.waiters == ()
        go_on.set()
        await holder
        async with lock.within(20) as is_held:
            assert is_held
            assert lock.is_locked
        assert not lock.is_locked

    run(scenario())


def test_a_coroutine_that_is_thrown_away_leaves_its_lock_without_a_word():
    """What happens to the tasks of a lab world that is closed in the middle of its story."""
    lock = EngineLock("queue")

    async def work():
        async with lock:
            await asyncio.Event().wait()

    async def scenario():
        task = asyncio.current_task()
        assert task is not None
        coroutine = work()
        coroutine.send(None)
        coroutine.close()

    asyncio.run(scenario())
    assert lock.is_locked

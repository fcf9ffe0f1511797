"""Calls that block, outside the loop: nothing of them goes on after a cancellation without the caller's knowledge."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from engine.runtime.live.blocking_calls import BlockingCalls


@pytest.fixture
def calls() -> Iterator[BlockingCalls]:
    made = BlockingCalls("test", 1)
    yield made
    made.close()


def test_results_and_errors_pass_through(calls: BlockingCalls):
    async def program() -> None:
        assert await calls.run(lambda: 6 * 7) == 42
        with pytest.raises(ZeroDivisionError):
            await calls.run(lambda: 1 // 0)

    asyncio.run(program())


def test_who_is_cancelled_however_often_waits_for_the_end_of_the_call(calls: BlockingCalls):
    begun, may_end, has_ended = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        may_end.wait(10)
        has_ended.set()

    async def program() -> None:
        task = asyncio.create_task(calls.run(work))
        while not begun.is_set():
            await asyncio.sleep(0)
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0)
        assert not task.done()
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert has_ended.is_set()

    asyncio.run(program())


def test_a_call_that_takes_too_long_is_left_and_one_that_waits_for_its_thread_never_begins(calls: BlockingCalls):
    may_end, begun = threading.Event(), threading.Event()

    async def program() -> None:
        with pytest.raises(TimeoutError, match="no answer for 10 ms"):
            await calls.run(lambda: may_end.wait(10), timeout_ms=10)
        with pytest.raises(TimeoutError):
            await calls.run(begun.set, timeout_ms=10)
        may_end.set()
        assert await calls.run(lambda: "the next") == "the next"
        assert not begun.is_set()

    asyncio.run(program())


def test_after_the_end_nothing_is_taken(calls: BlockingCalls):
    async def program() -> None:
        calls.close()
        with pytest.raises(RuntimeError):
            await calls.run(lambda: None)

    asyncio.run(program())

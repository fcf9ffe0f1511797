"""Blocking calls in threads next to the loop: of database drivers, and of file systems."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from engine.runtime.live.live_platform import new_executor

_T = TypeVar("_T")


class BlockingCalls:
    """A pool for blocking calls. At most ``threads`` of them run in parallel; more wait. Threads are created when
    needed.
    """

    def __init__(self, name: str, threads: int) -> None:
        self._threads = new_executor(threads, name)

    async def run(self, work: Callable[[], _T], timeout_ms: int | None = None) -> _T:
        """Run ``work`` in a thread; return its result or raise its exception.

        A cancelled caller still waits for the end of ``work``, however often it is cancelled: work that continued alone
        would conflict with later work. Raises ``TimeoutError`` after ``timeout_ms``: then ``work`` does continue alone,
        unless it still waits for a thread. Raises ``RuntimeError`` after ``close``.
        """
        call = self._threads.submit(work)
        running = asyncio.wrap_future(call)
        cancelled: asyncio.CancelledError | None = None
        while not running.done():
            try:
                done, _ = await asyncio.wait((running,), timeout=None if timeout_ms is None else timeout_ms / 1_000)
            except asyncio.CancelledError as error:
                cancelled = error
                continue
            if not done:
                call.cancel()  # immediately, while the loop would do it in its next turn
                running.cancel()
                raise cancelled or TimeoutError(f"no answer for {timeout_ms} ms")
        if cancelled is not None:
            running.exception()  # otherwise asyncio complains that the exception was never retrieved
            raise cancelled
        return running.result()

    def close(self) -> None:
        """Accept no more calls; threads end once their calls have ended."""
        self._threads.shutdown(wait=False)

"""Calls that block, in threads beside the loop: of databases' drivers, and of file systems."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

_T = TypeVar("_T")


class BlockingCalls:
    """``threads`` of them may run at once; more wait. Threads are made when they are needed."""

    def __init__(self, name: str, threads: int) -> None:
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix=name)

    async def run(self, work: Callable[[], _T], timeout_ms: int | None = None) -> _T:
        """What ``work`` returns or raises. A caller that is cancelled still waits for its end, however often it is:
        what went on alone would be in the way of what comes next.

        Raises ``TimeoutError`` after ``timeout_ms``: then ``work`` does go on alone, unless it still waits for a
        thread. ``RuntimeError`` after ``close``.
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
                call.cancel()  # at once, while the loop would do it in its next turn
                running.cancel()
                raise cancelled or TimeoutError(f"no answer for {timeout_ms} ms")
        if cancelled is not None:
            running.exception()  # else asyncio complains that nobody has asked
            raise cancelled
        return running.result()

    def close(self) -> None:
        """No more calls; threads end once theirs have ended."""
        self._threads.shutdown(wait=False)

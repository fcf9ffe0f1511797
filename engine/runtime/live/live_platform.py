"""Executors and event loops of the live runtime, also where a platform has neither threads nor sockets.

That platform is WebAssembly in a browser. Work that would block runs in line there: nothing else could run meanwhile.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any, TypeVar

_T = TypeVar("_T")

HAS_THREADS = sys.platform != "emscripten"
#: The unit of ``st_blocks``: POSIX's, or that of WebAssembly's file system in memory.
BLOCK_BYTES = 512 if HAS_THREADS else 4_096


def new_executor(threads: int, name: str) -> Executor:
    """Return a pool of at most ``threads`` threads, created when needed, or one that runs calls in line."""
    return ThreadPoolExecutor(threads, thread_name_prefix=name) if HAS_THREADS else InLineExecutor()


def new_event_loop() -> asyncio.AbstractEventLoop:
    """Return uvloop's event loop where it is installed (it is about twice as fast on this kind of work), else asyncio's
    own. In WebAssembly: one without sockets.
    """
    if not HAS_THREADS:
        return LoopWithoutSockets()
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


class InLineExecutor(Executor):
    """An executor whose calls have ended when ``submit`` returns."""

    def submit(self, call: Callable[..., _T], /, *arguments: Any, **keywords: Any) -> Future[_T]:
        done: Future[_T] = Future()
        try:
            done.set_result(call(*arguments, **keywords))
        except Exception as error:
            done.set_exception(error)
        return done


class LoopWithoutSockets(asyncio.BaseEventLoop):
    """An event loop of callbacks and timers alone."""

    def __init__(self) -> None:
        super().__init__()
        # asyncio's base class takes events and its pauses from here.
        self._selector = self

    def select(self, timeout_s: float | None) -> list[object]:
        """Wait for the next timer. Raises ``RuntimeError`` without one: nothing could end that wait."""
        if timeout_s is None:
            raise RuntimeError("the event loop waits for something that cannot happen")
        time.sleep(timeout_s)
        return []

    def _process_events(self, event_list: list[object]) -> None: ...

    def _write_to_self(self) -> None:
        """Do nothing: what another thread would wake is awake."""

"""Background tasks: the long-running loops and periodic actions of one node (RocketMQ: ``ServiceThread``,
``ScheduledExecutorService``).
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
from collections.abc import Awaitable, Callable, Collection, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from engine.runtime.port import RuntimeFault

_T = TypeVar("_T")
_log = logging.getLogger("glassmq.runtime")


@dataclass(slots=True, eq=False)
class _Nap:
    """The wait between two calls of a periodic action."""

    over: asyncio.Future[None]
    due_s: float
    timer: asyncio.TimerHandle


def _end_nap(over: asyncio.Future[None]) -> None:
    if not over.done():
        over.set_result(None)


class BackgroundTasks:
    """An owner of tasks until ``stop``. None fails silently: a failure is logged with its name and passed to
    ``on_crash``.
    """

    def __init__(self, name: str, on_crash: Callable[[str, BaseException], None] | None = None) -> None:
        self.name = name
        self._on_crash = on_crash
        # A dict, because a set has no order.
        self._tasks: dict[asyncio.Task[Any], None] = {}
        self._is_stopped = False
        self._naps: dict[_Nap, None] = {}

    @property
    def running(self) -> tuple[str, ...]:
        """Return the names of the unfinished tasks, oldest first."""
        return tuple(task.get_name() for task in self._tasks)

    def spawn(self, coroutine: Coroutine[Any, Any, _T], name: str) -> asyncio.Task[_T]:
        """Run ``coroutine`` until it ends or ``stop`` cancels it. Raises ``RuntimeError`` after ``stop``."""
        if self._is_stopped:
            coroutine.close()
            raise RuntimeError(f"{self.name} is stopped: task {name} cannot start")
        task = asyncio.get_running_loop().create_task(coroutine, name=name)
        self._tasks[task] = None
        task.add_done_callback(self._ended)
        return task

    def lend_context(self, name: str, take: Callable[[contextvars.Context], None]) -> None:
        """Pass ``take`` the context of a task that does nothing else.

        Callbacks that run in it appear in the lab as a separate actor, and not as part of the actor that requested
        them.
        """
        self.spawn(_lend_context(take), name)

    def every(
        self,
        interval_ms: int | Callable[[], int],
        action: Callable[[], Awaitable[object] | object],
        name: str,
        first_after_ms: int | None = None,
    ) -> asyncio.Task[None]:
        """Call ``action`` (a plain or a coroutine function) again and again, ``interval_ms`` after it last ended.

        The first call comes after ``first_after_ms`` (default: one interval). A callable interval is called before each
        wait, so that a changed setting takes effect. An exception of the action is logged; the next call takes place
        nevertheless.
        """
        return self.spawn(self._repeat(interval_ms, action, name, first_after_ms), name)

    async def _repeat(
        self,
        interval_ms: int | Callable[[], int],
        action: Callable[[], Awaitable[object] | object],
        name: str,
        first_after_ms: int | None,
    ) -> None:
        wait_ms = first_after_ms
        while True:
            if wait_ms is None:
                wait_ms = interval_ms() if callable(interval_ms) else interval_ms
            await self._nap(wait_ms / 1_000)
            wait_ms = None
            try:
                result = action()
                if inspect.isawaitable(result):
                    await result
            except Exception as error:
                # What the world outside refuses is no bug, also where a table reports it: its name says enough.
                is_named = isinstance(error, RuntimeFault) or isinstance(error.__cause__, RuntimeFault)
                text = "%s: periodic action %s failed; it will be called again: %s"
                _log.error(text, self.name, name, error, exc_info=None if is_named else error)

    async def _nap(self, seconds: float) -> None:
        if seconds <= 0:
            return await asyncio.sleep(0)
        loop = asyncio.get_running_loop()
        over: asyncio.Future[None] = loop.create_future()
        due_s = loop.time() + seconds
        nap = _Nap(over, due_s, loop.call_at(due_s, _end_nap, over))
        self._naps[nap] = None
        try:
            await over
        finally:
            nap.timer.cancel()
            del self._naps[nap]

    def advance(self, ms: int) -> None:
        """Make all periodic actions due earlier by ``ms``, once, so that setting the clock ahead causes no wait for
        them.
        """
        loop = asyncio.get_running_loop()
        for nap in self._naps:
            nap.timer.cancel()
            nap.due_s -= ms / 1_000
            nap.timer = loop.call_at(nap.due_s, _end_nap, nap.over)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.pop(task, None)
        if task.cancelled():
            return
        failure = task.exception()
        if failure is not None:
            _log.error("%s: task %s failed", self.name, task.get_name(), exc_info=failure)
            if self._on_crash is not None:
                self._on_crash(task.get_name(), failure)

    async def stop(self) -> None:
        """Cancel everything and wait until it has ended, even if this is cancelled.

        A task that calls this is left to end by itself.
        """
        self._is_stopped = True
        tasks = [task for task in self._tasks if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await wait_until_ended(tasks)


async def wait_until_ended(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Wait until ``tasks``, which were cancelled, have ended; a cancellation of the caller is only raised then."""
    is_cancelled = False
    while any(not task.done() for task in tasks):
        try:
            await asyncio.wait(tasks)
        except asyncio.CancelledError:
            is_cancelled = True
    if is_cancelled:
        raise asyncio.CancelledError


async def _lend_context(take: Callable[[contextvars.Context], None]) -> None:
    take(contextvars.copy_context())
    await asyncio.get_running_loop().create_future()

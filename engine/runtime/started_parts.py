"""What a start has set going, and how it ends: wholly, on every way out.

    NEW --starting--> STARTING --all steps done--> RUNNING --end--> ENDING --> ENDED
     |                   +---- an error, a cancellation, end() ---->  ^
     +--------------------------- end --------------------------------+

A step says what ends its effect *before* it has that effect, so that a step which is cut off half-way is ended too::

    async with self._parts.starting():
        self._parts.add(self.server.shutdown)
        await self.server.start(...)

RocketMQ has nothing like it: a start that fails half-way leaves its threads and connections there.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from enum import Enum

_log = logging.getLogger("glassmq.runtime")

#: Ends a part; a plain or a coroutine function. Its part may not have been started, or only half.
Ending = Callable[[], Awaitable[object] | object]


class PartsState(Enum):
    """Where in its life a component is."""

    NEW = "not started"
    STARTING = "starting"
    RUNNING = "running"
    ENDING = "shutting down"
    ENDED = "shut down"


_NEXT: dict[PartsState, tuple[PartsState, ...]] = {
    PartsState.NEW: (PartsState.STARTING, PartsState.ENDING),
    PartsState.STARTING: (PartsState.RUNNING, PartsState.ENDING),
    PartsState.RUNNING: (PartsState.ENDING,),
    PartsState.ENDING: (PartsState.ENDED,),
    PartsState.ENDED: (),
}


class StartRefused(RuntimeError):
    """A component starts once; and it was not started if it was shut down meanwhile."""


class StartedParts:
    """The parts of one component, each with what ends it.

    :param name: of the component, for errors and the log.
    """

    def __init__(self, name: str) -> None:
        self.state = PartsState.NEW
        self._name = name
        self._endings: list[Ending] = []
        self._starter: asyncio.Task[object] | None = None
        #: ``end`` was called while it started.
        self._is_cut_off = False
        #: Those who wait until all is ended.
        self._waiting: list[asyncio.Future[None]] = []

    def add(self, ending: Ending, *, is_last: bool = False) -> None:
        """Have ``ending`` called when this ends, before those that were added earlier; with ``is_last`` after them."""
        self._endings.insert(0 if is_last else len(self._endings), ending)

    @asynccontextmanager
    async def starting(self) -> AsyncIterator[None]:
        """Start inside. When that raises or is cancelled, everything is ended before the exception goes on.

        Raises :class:`StartRefused` for a second start, and when :meth:`end` is called meanwhile.
        """
        if self.state is not PartsState.NEW:
            raise StartRefused(f"{self._name} is {self.state.value}: it cannot be started again; make a new one")
        self._go(PartsState.STARTING)
        starter = self._starter = asyncio.current_task()
        assert starter is not None, "a start is awaited in a task"
        cancellations = starter.cancelling()
        try:
            yield
            if self._is_cut_off:
                raise asyncio.CancelledError
            self._go(PartsState.RUNNING)
        except GeneratorExit:  # its world was dropped: there is no loop in which anything could be ended
            raise
        except BaseException as reason:
            is_cut_off = self._is_cut_off and starter.uncancel() <= cancellations
            try:
                await self._end_all()
            except Exception:
                _log.exception("%s could not be started, nor ended wholly", self._name)
            if is_cut_off and isinstance(reason, asyncio.CancelledError):
                raise StartRefused(f"{self._name} was shut down while it started; make a new one") from None
            raise

    async def end(self, instead: Sequence[Ending] | None = None) -> None:
        """End all parts, last first; a start that is under way is cut off. A second call waits for the first.

        See :func:`end_all` for cancellations and failures.

        :param instead: called, in this order, in place of the endings; a start that is under way ends as ever.
        """
        if self.state is PartsState.STARTING:
            assert self._starter is not None and self._starter is not asyncio.current_task()
            if not self._is_cut_off:
                self._is_cut_off = True
                self._starter.cancel()
        elif self.state is not PartsState.ENDING and self.state is not PartsState.ENDED:
            if instead is not None:
                self._endings = [*reversed(instead)]
            await self._end_all()
        if self.state is not PartsState.ENDED:
            waiting = asyncio.get_running_loop().create_future()
            self._waiting.append(waiting)
            await waiting

    async def _end_all(self) -> None:
        self._go(PartsState.ENDING)
        endings, self._endings = reversed(self._endings), []
        try:
            await end_all(endings, self._name)
        finally:
            self._go(PartsState.ENDED)
            for waiting in self._waiting:
                if not waiting.done():
                    waiting.set_result(None)

    def _go(self, state: PartsState) -> None:
        assert state in _NEXT[self.state], f"{self._name} goes not from {self.state} to {state}"
        self.state = state


async def end_all(endings: Iterable[Ending], name: str) -> None:
    """Call ``endings`` in their order. A cancellation cuts short the one that is under way, and a failing one is no
    reason to leave out the others; the cancellation, or else the first exception, goes on when all were called.
    """
    failures: list[BaseException] = []
    for ending in endings:
        try:
            result = ending()
            if inspect.isawaitable(result):
                await result
        except (Exception, asyncio.CancelledError) as failure:
            failures.append(failure)
    failures.sort(key=lambda failure: isinstance(failure, Exception))
    for other in failures[1:]:
        _log.error("%s could not be ended wholly", name, exc_info=other)
    if failures:
        raise failures[0]

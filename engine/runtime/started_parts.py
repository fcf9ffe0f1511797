"""The started parts of a component, and their complete shutdown on every path.

    NEW --starting--> STARTING --all steps done--> RUNNING --end--> ENDING --> ENDED
     |                   +---- an error, a cancellation, end() ---->  ^
     +--------------------------- end --------------------------------+

A step registers its ending *before* it has an effect, so that an interrupted step is ended, too::

    async with self._parts.starting():
        self._parts.add(self.server.shutdown)
        await self.server.start(...)

RocketMQ has no such mechanism: a start that fails half-way leaves its threads and connections open.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from enum import Enum

from engine.runtime.state_table import successor

_log = logging.getLogger("glassmq.runtime")

#: Ends a part; a plain or a coroutine function. Its part may not have been started, or only partly.
Ending = Callable[[], Awaitable[object] | object]


class PartsState(Enum):
    """The states of a component."""

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
}


class StartRefused(RuntimeError):
    """A second start, or a start during a shutdown, is refused."""


class StartedParts:
    """The parts of one component, each with its ending.

    :param name: the name of the component, for errors and the log.
    """

    def __init__(self, name: str) -> None:
        self.state = PartsState.NEW
        self._name = name
        self._endings: list[Ending] = []
        self._starter: asyncio.Task[object] | None = None
        #: ``end`` was called during the start.
        self._is_cut_off = False
        #: Callers that wait until everything has ended.
        self._waiting: list[asyncio.Future[None]] = []

    def add(self, ending: Ending, *, is_last: bool = False) -> None:
        """Have ``ending`` called when this ends, before those that were added earlier; with ``is_last`` after them."""
        self._endings.insert(0 if is_last else len(self._endings), ending)

    @asynccontextmanager
    async def starting(self) -> AsyncIterator[None]:
        """Run a start inside this context. If it raises or is cancelled, everything is ended before the exception is
        passed on.

        Raises :class:`StartRefused` for a second start, and if :meth:`end` is called meanwhile.
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
                _log.exception("%s could not be started, nor shut down completely", self._name)
            if is_cut_off and isinstance(reason, asyncio.CancelledError):
                raise StartRefused(f"{self._name} was shut down while it started; make a new one") from None
            raise

    async def end(self, instead: Sequence[Ending] | None = None) -> None:
        """End all parts, last first; a start in progress is interrupted. A second call waits for the first.

        Cancellations and failures are handled as in :func:`end_all`.

        :param instead: called, in this order, in place of the endings; a start in progress ends as usual.
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
        self.state = successor(_NEXT, self.state, state, self._name)


async def end_all(endings: Iterable[Ending], name: str) -> None:
    """Call ``endings`` in their order.

    A cancellation interrupts the current one, and a failure of one does not prevent the others; the cancellation, or
    else the first exception, is raised when all were called.
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
        _log.error("%s could not be shut down completely", name, exc_info=other)
    if failures:
        raise failures[0]

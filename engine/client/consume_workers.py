"""The workers that call listeners (RocketMQ: the ``consumeExecutor`` of a consume service).

Waiting requests are bounded by the flow control of pulling: so many messages per owned queue.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar

from engine.protocol.message_queue import MessageQueue
from engine.runtime.background_tasks import BackgroundTasks

_log = logging.getLogger("glassmq.client")


class _AboutAQueue(Protocol):
    @property
    def message_queue(self) -> MessageQueue: ...


_Request = TypeVar("_Request", bound=_AboutAQueue)


class ConsumeWorkers(Generic[_Request]):
    """:param run: does one request; an exception of it is logged.

    :ivar background: further tasks of the service; they end with the workers.
    :ivar is_stopping: nothing new is begun any more.
    """

    def __init__(self, group: str, run: Callable[[_Request], Awaitable[None]]) -> None:
        self._group = group
        self._run = run
        self._requests: asyncio.Queue[_Request | None] = asyncio.Queue()
        self._workers: list[asyncio.Task[None]] = []
        self.background = BackgroundTasks(f"consume service of {group}")
        self.is_stopping = False

    def start(self, count: int) -> None:
        """Let ``count`` workers begin."""
        for number in range(count):
            self._workers.append(self.background.spawn(self._work(), f"worker-{number}"))

    def submit(self, request: _Request) -> None:
        """Have the next free worker do it."""
        self._requests.put_nowait(request)

    def submit_later(self, request: _Request, delay_ms: int) -> None:
        """The same after ``delay_ms``."""
        asyncio.get_running_loop().call_later(delay_ms / 1000, self.submit, request)

    async def _work(self) -> None:
        while True:
            request = await self._requests.get()
            if request is None or self.is_stopping:
                return
            try:
                await self._run(request)
            except Exception:
                _log.exception("group %s: a consume request of %s failed", self._group, request.message_queue)

    async def shutdown(self, await_termination_ms: int) -> None:
        """Begin nothing new and wait at most that long for what runs."""
        self.is_stopping = True
        for _ in self._workers:
            self._requests.put_nowait(None)
        workers = [worker for worker in self._workers if worker is not asyncio.current_task()]
        try:
            async with asyncio.timeout(await_termination_ms / 1000):
                await asyncio.gather(*workers, return_exceptions=True)
        except TimeoutError:
            _log.warning(
                "group %s: listeners still ran after %d ms; their messages will be delivered again",
                self._group,
                await_termination_ms,
            )
        await self.background.stop()


def is_being_cancelled() -> bool:
    """Whether a CancelledError is meant for this worker: a listener may bring one of its own, from within."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0

"""The workers that call listeners (RocketMQ: the ``consumeExecutor`` of a consume service).

Waiting requests are bounded by the flow control of pulling, which limits the messages per owned queue.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar

from engine.protocol.body.message_queue import MessageQueue
from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.future_waits import all_ended

_log = logging.getLogger("glassmq.client")

#: ``updateCorePoolSize``: ``Short.MAX_VALUE``.
CORE_POOL_SIZE_MAX = 0x7FFF


class _AboutAQueue(Protocol):
    @property
    def message_queue(self) -> MessageQueue: ...


#: A request for a worker to consume a queue.
Request = TypeVar("Request", bound=_AboutAQueue)


class ConsumeWorkers(Generic[Request]):
    """The workers of one consumer.

    :param run: processes one request; an exception is logged.
    :ivar background: further tasks of the service; they end with the workers.
    :ivar is_stopping: no new requests are started.
    :ivar size: the number of workers.
    """

    def __init__(self, group: str, run: Callable[[Request], Awaitable[None]]) -> None:
        self._group = group
        self._run = run
        self._requests: asyncio.Queue[Request | None] = asyncio.Queue()
        self._workers: dict[int, asyncio.Task[None]] = {}
        self._workers_made = 0
        self.size = 0
        self.background = BackgroundTasks(f"consume service of {group}")
        self.is_stopping = False

    def resize(self, count: int) -> None:
        """Change the number of workers to ``count``; surplus workers finish their current request first."""
        self.size = count
        while len(self._workers) < count:
            number = self._workers_made
            self._workers_made += 1
            self._workers[number] = self.background.spawn(self._work(number), f"worker-{number}")
        for _ in range(len(self._workers) - count):
            self._requests.put_nowait(None)  # wakes one that is idle

    def update_core_pool_size(self, count: int, thread_max: int) -> bool:
        """Call ``resize`` if ``count`` is at least 1 and less than ``thread_max``, as RocketMQ requires; else return
        False.
        """
        if not 0 < count <= min(CORE_POOL_SIZE_MAX, thread_max - 1):
            return False
        self.resize(count)
        return True

    def submit(self, request: Request) -> None:
        """Have the next free worker process ``request``."""
        self._requests.put_nowait(request)

    def submit_later(self, request: Request, delay_ms: int) -> None:
        """Submit ``request`` after ``delay_ms``."""
        asyncio.get_running_loop().call_later(delay_ms / 1000, self.submit, request)

    async def _work(self, number: int) -> None:
        while not self._may_leave(number):
            request = await self._requests.get()
            if self.is_stopping:
                return
            if request is None:
                continue
            try:
                await self._run(request)
            except Exception:
                _log.exception("group %s: a consume request of %s failed", self._group, request.message_queue)

    def _may_leave(self, number: int) -> bool:
        """Return whether worker ``number`` is surplus; then it is no longer counted."""
        if self.is_stopping or len(self._workers) <= self.size:
            return False
        del self._workers[number]
        return True

    async def shutdown(self, await_termination_ms: int) -> None:
        """Start no new requests and wait at most that long for running ones."""
        self.is_stopping = True
        for _ in self._workers:
            self._requests.put_nowait(None)
        workers = [worker for worker in self._workers.values() if worker is not asyncio.current_task()]
        try:
            async with asyncio.timeout(await_termination_ms / 1000):
                await all_ended(workers)
        except TimeoutError:
            _log.warning(
                "group %s: listeners still ran after %d ms; their messages will be delivered again",
                self._group,
                await_termination_ms,
            )
        finally:
            await self.background.stop()


def is_being_cancelled() -> bool:
    """Return whether a CancelledError is meant for this worker: a listener may raise one itself."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0

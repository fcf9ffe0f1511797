"""The executor of asynchronous sends (RocketMQ: in ``DefaultMQProducerImpl``, ``SendCallback``)::

send_async(message, callback)
    │ reserve a permit            refused immediately if too many wait already
    ▼
waiting for a permit              its timeout runs: may end here, with nothing sent
    │
    ▼
in flight: choose a queue, send, try again after a timeout
    │ return the permit
    ▼
callback(result, error)           once in every case; a shutdown that stops waiting is an error, too
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from engine.client.callbacks.send_result import SendResult
from engine.client.foundation.errors import ClientNotRunning, RequestFailed
from engine.client.producer.async_send_permits import AsyncSendPermits
from engine.runtime.future_waits import all_ended, shield
from engine.runtime.port import Runtime

_log = logging.getLogger("glassmq.client")

#: A callback for the result and None, or None and the error; a plain or a coroutine function.
SendCallback = Callable[[SendResult | None, Exception | None], Any]
#: Sends within the remaining milliseconds.
SendWithin = Callable[[int], Awaitable[SendResult]]


class AsyncSender:
    """A sender.

    :param permits: bounds the running and waiting sends.
    """

    def __init__(self, runtime: Runtime, permits: AsyncSendPermits) -> None:
        self.permits = permits
        self._runtime = runtime
        #: Unfinished sends -> what ``begin`` returned.
        self._tasks: dict[asyncio.Task[None], asyncio.Future[None]] = {}
        #: Those that only wait for their callback.
        self._calling_back: dict[asyncio.Task[None], None] = {}
        self._gives_up = False

    def begin(self, send: SendWithin, callback: SendCallback, size: int, timeout_ms: int) -> asyncio.Future[None]:
        """Start to send ``size`` bytes within ``timeout_ms``, including the wait for a permit.

        The future is done when the send is running, or has ended. Raises
        :class:`~engine.client.foundation.errors.TooManyPendingSends`.
        """
        permit = self.permits.reserve(size)
        accepted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(self._run(permit, accepted, send, callback, size, timeout_ms), name="async send")
        self._tasks[task] = accepted
        task.add_done_callback(self._forget)
        return accepted

    async def finish(self, timeout_ms: int) -> None:
        """Wait until all sends and their callbacks have ended.

        After ``timeout_ms`` the remaining sends are cancelled, and their callbacks notified; callbacks get the same
        time again to end.
        """
        if not await self._ended_within(timeout_ms):
            self._gives_up = True
            given_up = [task for task in self._tasks if task not in self._calling_back]
            _log.warning("%d asynchronous sends did not end in %d ms and are given up", len(given_up), timeout_ms)
            for task in given_up:
                task.cancel()
            if not await self._ended_within(timeout_ms):
                _log.error("callbacks of %d asynchronous sends do not return", len(self._tasks))

    async def _ended_within(self, timeout_ms: int) -> bool:
        try:
            async with asyncio.timeout(timeout_ms / 1_000):
                await shield(all_ended(self._tasks))
        except TimeoutError:
            return False
        return True

    async def _run(
        self,
        permit: asyncio.Future[None],
        accepted: asyncio.Future[None],
        send: SendWithin,
        callback: SendCallback,
        size: int,
        timeout_ms: int,
    ) -> None:
        result: SendResult | None = None
        failure: Exception | None = None
        started_us = self._runtime.clock.monotonic_us()
        is_begun = False
        try:
            is_begun = await self._wait_for(permit, size, timeout_ms)
            _settle(accepted)
            if is_begun:
                result = await self._send(send, size, started_us, timeout_ms)
            else:
                others = self.permits.in_flight
                text = f"the asynchronous send waited {timeout_ms} ms for {others} others and was not begun"
                failure = RequestFailed(text, outcome_is_known=True)
        except asyncio.CancelledError:
            if not self._gives_up:
                raise
            advice = "it may be stored all the same" if is_begun else "it was not begun"
            text = f"the producer was shut down before the asynchronous send ended; {advice}"
            failure = ClientNotRunning(text, outcome_is_known=not is_begun)
        except Exception as error:  # a user's selector may raise anything
            failure = error
        task = asyncio.current_task()
        assert task is not None, "begin() makes one"
        self._calling_back[task] = None
        try:
            await self._runtime.call_listener(callback, result, failure)
        except Exception:
            _log.exception("the callback of an asynchronous send failed")

    async def _send(self, send: SendWithin, size: int, started_us: int, timeout_ms: int) -> SendResult:
        try:
            return await send(timeout_ms - (self._runtime.clock.monotonic_us() - started_us) // 1_000)
        finally:
            self.permits.release(size)

    async def _wait_for(self, permit: asyncio.Future[None], size: int, timeout_ms: int) -> bool:
        if permit.done():
            return True
        try:
            async with asyncio.timeout(timeout_ms / 1_000):
                await permit
        except TimeoutError:
            self.permits.give_up(permit, size)
            return False
        except asyncio.CancelledError:
            self.permits.give_up(permit, size)
            raise
        return True

    def _forget(self, task: asyncio.Task[None]) -> None:
        # A shutdown may have cancelled it while it waited for a permit: do not wait for that.
        self._calling_back.pop(task, None)
        _settle(self._tasks.pop(task))


def _settle(accepted: asyncio.Future[None]) -> None:
    if not accepted.done():
        accepted.set_result(None)

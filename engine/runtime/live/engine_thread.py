"""The one thread in which the live engine runs, with its own event loop.

All engine code runs in this thread. Other threads hand it a function (``call``) or a coroutine (``run``) and wait a
bounded time for the result.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from engine.runtime.live.live_platform import new_event_loop

log = logging.getLogger("glassmq.host")

_T = TypeVar("_T")

#: Seconds that another thread waits for the engine before it gives up.
CALL_TIMEOUT_S = 5.0
#: Seconds before a pause begins: enough for the answer to the request for it.
_PAUSE_BEGINS_AFTER_S = 0.05


class EngineUnavailable(Exception):
    """The engine did not answer in time, or it is stopped; the message says which."""


class EngineThread:
    """A running thread with an event loop, until ``stop``."""

    def __init__(self, name: str = "engine") -> None:
        self._loop = new_event_loop()
        #: What other threads wait for; a table, as sets have no order.
        self._answers: dict[concurrent.futures.Future[Any], None] = {}
        self._goes_on = threading.Event()
        self._paused_until_s = 0.0
        self._pause_s = 0.0
        self._pause: asyncio.TimerHandle | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            for answer in [*self._answers]:
                answer.cancel()
            self._loop.run_until_complete(asyncio.sleep(0))  # what was cancelled ends
            self._loop.close()

    @property
    def is_running(self) -> bool:
        """Return False after ``stop``, and when the loop broke."""
        return self._thread.is_alive()

    def call(self, function: Callable[[], _T], timeout_s: float = CALL_TIMEOUT_S) -> _T:
        """Run ``function`` between two of the engine's steps and return its result; its exceptions pass through.

        Raises :class:`EngineUnavailable` when the engine is stopped or does not get to it in time; then the function
        will not run later either.
        """
        answer: concurrent.futures.Future[_T] = concurrent.futures.Future()

        def in_engine() -> None:
            if not answer.set_running_or_notify_cancel():
                return
            try:
                answer.set_result(function())
            except Exception as error:
                answer.set_exception(error)

        self._submit(in_engine)
        try:
            return answer.result(timeout_s)
        except concurrent.futures.TimeoutError:
            answer.cancel()
            raise EngineUnavailable(f"the engine did not answer within {timeout_s:g} s") from None

    def run(self, coroutine: Coroutine[Any, Any, _T], timeout_s: float) -> _T:
        """Run ``coroutine`` in the engine's loop and return its result; cancelled when it takes too long.

        Raises :class:`EngineUnavailable` then, and when the engine is stopped, also meanwhile.
        """
        if not self.is_running:
            coroutine.close()
            raise EngineUnavailable("the engine is stopped")
        if self.paused_ms:
            coroutine.close()
            raise self._paused()
        answer = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        self._answers[answer] = None
        try:
            return answer.result(timeout_s)
        except concurrent.futures.CancelledError:
            raise EngineUnavailable("the engine is stopped") from None
        except concurrent.futures.TimeoutError:
            answer.cancel()
            raise EngineUnavailable(f"the engine did not finish within {timeout_s:g} s") from None
        finally:
            del self._answers[answer]

    def pause(self, ms: int) -> None:
        """Let nothing run in the engine for this long, as if its process got no processor time; a fault.

        To be called in the engine's thread. It begins a moment later, so that the request for it is answered; of
        several requests within that moment the last one counts. Any other request in that moment is refused because of
        the pause, as its answer might come too late.
        """
        if self._pause is not None:
            self._pause.cancel()
        self._goes_on.clear()
        self._pause_s = ms / 1_000
        self._paused_until_s = time.monotonic() + _PAUSE_BEGINS_AFTER_S + self._pause_s
        self._pause = self._loop.call_later(_PAUSE_BEGINS_AFTER_S, self._sleep)

    def _sleep(self) -> None:
        self._pause = None
        self._goes_on.wait(self.paused_ms / 1_000)
        self._paused_until_s = 0.0

    def resume(self) -> None:
        """End a pause, from any thread; requests to the engine from now on wait for its end."""
        self._paused_until_s = 0.0
        self._goes_on.set()

    @property
    def paused_ms(self) -> int:
        """Return the remaining milliseconds of a pause."""
        if not self._paused_until_s:
            return 0
        return max(0, round(min(self._pause_s, self._paused_until_s - time.monotonic()) * 1_000))

    def stop(self) -> None:
        """End the loop after its current step and wait for the thread."""
        self.resume()
        if self.is_running:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(timeout=5)

    def _submit(self, callback: Callable[[], None]) -> None:
        if not self.is_running:
            raise EngineUnavailable("the engine is stopped")
        if self.paused_ms:
            raise self._paused()
        try:
            self._loop.call_soon_threadsafe(callback)
        except RuntimeError:  # the loop was closed meanwhile
            raise EngineUnavailable("the engine is stopped") from None

    def _paused(self) -> EngineUnavailable:
        return EngineUnavailable(f"a fault pauses the engine for {self.paused_ms / 1_000:.1f} s more")

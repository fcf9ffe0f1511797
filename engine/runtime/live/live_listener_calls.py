"""Calls of users' listeners by a live node: plain functions may block, so they run in threads."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

#: How many plain listeners of one node run at once. RocketMQ's ``consumeThreadMax`` is 20 for each
#: consumer; a node has a few consumers. More wait.
LISTENER_THREADS_MAX = 64


class LiveListenerCalls:
    """One pool of threads for a node, made at first use."""

    def __init__(self, node_name: str) -> None:
        self._node_name = node_name
        self._threads: ThreadPoolExecutor | None = None

    async def call(self, listener: Callable[..., Any], *arguments: Any) -> Any:
        """See ``Runtime.call_listener``."""
        if _is_coroutine_listener(listener):
            return await listener(*arguments)
        if self._threads is None:
            self._threads = ThreadPoolExecutor(LISTENER_THREADS_MAX, f"{self._node_name}-listener")
        context = contextvars.copy_context()
        call = functools.partial(context.run, listener, *arguments)
        result = await asyncio.get_running_loop().run_in_executor(self._threads, call)
        # A lambda around a coroutine function is a plain function that returns a coroutine.
        return await result if inspect.isawaitable(result) else result

    def close(self) -> None:
        """No more calls; a listener that still runs is left to end."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)


def _is_coroutine_listener(listener: Callable[..., Any]) -> bool:
    """Whether calling ``listener`` makes a coroutine: an ``async def``, a partial of one, or an async ``__call__``."""
    return inspect.iscoroutinefunction(listener) or inspect.iscoroutinefunction(
        getattr(listener, "__call__", None)  # noqa: B004  # not a test for being callable
    )

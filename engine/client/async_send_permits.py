"""Bounds how many asynchronous sends run and wait (RocketMQ 4.9: ``semaphoreAsync`` and a bounded executor queue)."""

from __future__ import annotations

import asyncio
from collections import deque

from engine.client.errors import TooManyPendingSends


class AsyncSendPermits:
    """First come, first served.

    :param in_flight_max: how many permits there are.
    :param waiting_max: how many may wait for one; beyond it ``reserve`` refuses.
    """

    def __init__(self, in_flight_max: int, waiting_max: int) -> None:
        self.in_flight_max = in_flight_max
        self.waiting_max = waiting_max
        self.in_flight = 0
        self._waiters: deque[asyncio.Future[None]] = deque()

    @property
    def waiting(self) -> int:
        """How many wait for a permit."""
        return len(self._waiters)

    def reserve(self) -> asyncio.Future[None]:
        """A future that is done once the caller has a permit; it must be given back with ``release``.

        Raises :class:`TooManyPendingSends` when too many wait already.
        """
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self.in_flight < self.in_flight_max:
            self.in_flight += 1
            future.set_result(None)
        elif len(self._waiters) < self.waiting_max:
            self._waiters.append(future)
        else:
            raise TooManyPendingSends(
                f"{self.in_flight} asynchronous sends are under way and {len(self._waiters)} wait; await what "
                "send_async returns to slow down"
            )
        return future

    def release(self) -> None:
        """Hand a permit to whoever waits longest."""
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return
        self.in_flight -= 1

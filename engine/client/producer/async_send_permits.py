"""Back-pressure for asynchronous sends: bounds on running and waiting sends, and on the bytes of both.

RocketMQ 4.9 bounds them by the queue of its executor (50,000) and 65535 open calls. Version 5 added this
(``enableBackpressureForAsyncMode`` with ``backPressureForAsyncSendNum`` and ``backPressureForAsyncSendSize``), off by
default there; here it is always on, with the same bounds.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict

from engine.client.foundation.errors import TooManyPendingSends


class AsyncSendPermits:
    """Permits for sends: first come, first served.

    :param in_flight_max: the number of permits.
    :param waiting_max: how many may wait for one; beyond it ``reserve`` refuses.
    :param in_flight_max_bytes: the maximum size of the sends with a permit. A single send may be larger.
    :param waiting_max_bytes: the same for waiting sends.
    """

    def __init__(
        self,
        in_flight_max: int,
        waiting_max: int,
        in_flight_max_bytes: int = 1 << 62,
        waiting_max_bytes: int = 1 << 62,
    ) -> None:
        self.in_flight_max = in_flight_max
        self.waiting_max = waiting_max
        self.in_flight_max_bytes = in_flight_max_bytes
        self.waiting_max_bytes = waiting_max_bytes
        self.in_flight = 0
        self.in_flight_bytes = 0
        self.waiting_bytes = 0
        #: Waiting sends -> their sizes in bytes; longest waiting first.
        self._waiters: OrderedDict[asyncio.Future[None], int] = OrderedDict()

    @property
    def waiting(self) -> int:
        """Return how many sends wait for a permit."""
        return len(self._waiters)

    def reserve(self, size: int = 0) -> asyncio.Future[None]:
        """Return a future that is done once the caller has a permit for ``size`` bytes; return it with ``release``.

        Raises :class:`TooManyPendingSends` when too many wait already.
        """
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if not self._waiters and self._has_room(size):
            self._take(future, size)
        elif self._may_wait(size):
            self._waiters[future] = size
            self.waiting_bytes += size
        else:
            raise TooManyPendingSends(
                f"{self.in_flight} asynchronous sends are under way and {len(self._waiters)} wait with "
                f"{self.waiting_bytes} bytes (at most {self.waiting_max}, async_sends_waiting_max, with "
                f"{self.waiting_max_bytes}, async_sends_waiting_max_bytes); await what send_async returns to slow down"
            )
        return future

    def _may_wait(self, size: int) -> bool:
        fits = self.waiting_bytes + size <= self.waiting_max_bytes or not self._waiters
        return len(self._waiters) < self.waiting_max and fits

    def give_up(self, future: asyncio.Future[None], size: int = 0) -> None:
        """Cancel a reservation; a permit that it has got meanwhile is returned."""
        if future in self._waiters:
            self._leave(future)
            self._hand_out()
        elif not future.cancelled():  # a cancelled one never got a permit
            self.release(size)

    def release(self, size: int = 0) -> None:
        """Return a permit, and grant free ones to the longest waiting sends."""
        self.in_flight -= 1
        self.in_flight_bytes -= size
        self._hand_out()

    def _hand_out(self) -> None:
        while self._waiters:
            waiter, size = next(iter(self._waiters.items()))
            # A cancelled one belongs to a finished task.
            if not waiter.done():
                if not self._has_room(size):
                    return
                self._take(waiter, size)
            self._leave(waiter)

    def _leave(self, waiter: asyncio.Future[None]) -> None:
        self.waiting_bytes -= self._waiters.pop(waiter)

    def _has_room(self, size: int) -> bool:
        fits = self.in_flight_bytes + size <= self.in_flight_max_bytes or not self.in_flight
        return self.in_flight < self.in_flight_max and fits

    def _take(self, future: asyncio.Future[None], size: int) -> None:
        self.in_flight += 1
        self.in_flight_bytes += size
        future.set_result(None)

"""Senders that wait until copies of the log have their message (RocketMQ: the queue in ``GroupTransferService``).

RocketMQ looks every 10 ms whether a sender may be answered. Here each report answers those that it frees.
"""

from __future__ import annotations

import asyncio
from collections import deque


class WaitingSenders:
    """See the module; as many wait as the connections let through."""

    def __init__(self) -> None:
        #: End of the message and who waits for it, in the order of the log.
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()

    async def wait(self, end_offset: int, timeout_ms: int) -> bool:
        """Return when everything before ``end_offset`` is copied; False: that took too long."""
        freed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((end_offset, freed))
        try:
            async with asyncio.timeout(timeout_ms / 1_000):
                await freed
        except TimeoutError:
            return False
        return True

    def free(self, copied_offset: int) -> None:
        """Everything before ``copied_offset`` is copied."""
        waiting = self._waiting
        while waiting and (waiting[0][1].done() or waiting[0][0] <= copied_offset):
            _, freed = waiting.popleft()
            if not freed.done():
                freed.set_result(None)

"""Senders that wait until copies of the log have their message (RocketMQ: the queue in ``GroupTransferService``).

RocketMQ looks every 10 ms whether a sender may be answered. Here each report answers those that it frees.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable


class WaitingSenders:
    """See the module; as many wait as the connections let through."""

    def __init__(self) -> None:
        #: Offset and end of the message and who waits for it, in the order of the log.
        self._waiting: deque[tuple[int, int, asyncio.Future[None]]] = deque()

    async def wait(self, offset: int, end_offset: int, timeout_ms: int) -> bool:
        """Return when the bytes from ``offset`` to ``end_offset`` are copied; False: that took too long."""
        freed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((offset, end_offset, freed))
        try:
            async with asyncio.timeout(timeout_ms / 1_000):
                await freed
        except TimeoutError:
            return False
        return True

    def free(self, copied_offset: int, is_copied: Callable[[int, int], bool] = lambda offset, end_offset: True) -> None:
        """Nothing after ``copied_offset`` is copied yet; of what is before it, all that ``is_copied`` says."""
        waiting, kept = self._waiting, []
        while waiting and (waiting[0][2].done() or waiting[0][1] <= copied_offset):
            offset, end_offset, freed = sender = waiting.popleft()
            if freed.done():
                continue
            if is_copied(offset, end_offset):
                freed.set_result(None)
            else:
                kept.append(sender)
        waiting.extendleft(reversed(kept))

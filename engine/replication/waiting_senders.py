"""Senders that wait until copies of the log have their message (RocketMQ: the queue in ``GroupTransferService``).

RocketMQ checks every 10 ms whether a sender may be answered. Here each report answers the senders it frees.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable


class WaitingSenders:
    """Senders that wait for copies; their number is bounded by what the connections let through."""

    def __init__(self) -> None:
        #: Offset and end of each message and the sender that waits for it, in log order.
        self._waiting: deque[tuple[int, int, asyncio.Future[None]]] = deque()

    async def wait(self, offset: int, end_offset: int, timeout_ms: int) -> bool:
        """Return True when the bytes from ``offset`` to ``end_offset`` are copied, and False if that takes too long."""
        freed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((offset, end_offset, freed))
        try:
            async with asyncio.timeout(timeout_ms / 1_000):
                await freed
        except TimeoutError:
            return False
        return True

    def free(self, copied_offset: int, is_copied: Callable[[int, int], bool] = lambda offset, end_offset: True) -> None:
        """Answer the senders whose messages end at or before ``copied_offset`` and are copied according to
        ``is_copied``.
        """
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

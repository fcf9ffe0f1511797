"""Round-robin service of connections that have received more than one turn of the loop may process.

A turn of a connection ends after :data:`TURN_FRAMES` frames, :data:`TURN_BYTES` or :data:`TURN_MS`; the remaining
frames wait here, and nothing more is read from it. So other connections wait for one such share of each, however much
one of them sends. RocketMQ distributes requests over thread pools instead: there a flood fills the pool's queue, and
all clients get BUSY.
"""

from __future__ import annotations

import asyncio
from collections import deque
from time import monotonic
from typing import Protocol

#: A single send takes about 25 microseconds, so this is less than 2 ms.
TURN_FRAMES = 64
#: The size of the received frames; a longer frame is a turn by itself.
TURN_BYTES = 1024 * 1024
#: For requests that take long however small they are: bulk reads, filters, listings.
TURN_MS = 2
#: All waiting connections together take this long in one turn of the loop; the rest is processed next time, before
#: others.
_ALL_TURNS_MS = 4


class WaitingConnection(Protocol):
    """The interface of a connection for its turns."""

    def take_turn(self) -> None:
        """Handle one share of frames; add itself again while some are left."""
        ...


class FrameTurns:
    """The queue of waiting connections."""

    def __init__(self) -> None:
        self._waiting: deque[WaitingConnection] = deque()

    @property
    def is_busy(self) -> bool:
        """Return whether a connection waits: new ones are added after it."""
        return bool(self._waiting)

    def add(self, connection: WaitingConnection) -> None:
        """Give ``connection`` its turn in a later turn of the loop. It must not be waiting here already."""
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._run)
        self._waiting.append(connection)

    def _run(self) -> None:
        end_s = monotonic() + _ALL_TURNS_MS / 1_000
        # The first is removed after its turn: while one waits, ``add`` need not schedule anything.
        for _ in range(len(self._waiting)):
            self._waiting[0].take_turn()
            self._waiting.popleft()
            if monotonic() >= end_s:
                break
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._run)

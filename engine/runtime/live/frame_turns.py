"""Connections that have received more than one turn of the loop may take, served round robin.

A turn of a connection ends after :data:`TURN_FRAMES` frames, :data:`TURN_BYTES` or :data:`TURN_MS`; what is left waits
here, and nothing more is read from it. So the others wait for one such share of each, however much one of them sends.
RocketMQ spreads requests over thread pools instead: there one flood fills the pool's queue, and everybody is told BUSY.
"""

from __future__ import annotations

import asyncio
from collections import deque
from time import monotonic
from typing import Protocol

#: A single send takes about 25 microseconds, so this is less than 2 ms.
TURN_FRAMES = 64
#: Of frames received; one that is longer is a turn by itself.
TURN_BYTES = 1024 * 1024
#: For requests that take long however small they are: bulk reads, filters, listings.
TURN_MS = 2
#: All that wait here together take so long of one turn of the loop; the rest comes next time, before the others.
_ALL_TURNS_MS = 4


class WaitingConnection(Protocol):
    """A connection as its turns see it."""

    def take_turn(self) -> None:
        """Handle one share of frames; add itself again while some are left."""
        ...


class FrameTurns:
    """Who comes next."""

    def __init__(self) -> None:
        self._waiting: deque[WaitingConnection] = deque()

    @property
    def is_busy(self) -> bool:
        """Whether somebody waits: who comes now stands behind them."""
        return bool(self._waiting)

    def add(self, connection: WaitingConnection) -> None:
        """Let ``connection`` have its turn in a later turn of the loop. It must not wait here already."""
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._run)
        self._waiting.append(connection)

    def _run(self) -> None:
        end_s = monotonic() + _ALL_TURNS_MS / 1_000
        # The first is taken off after its turn: while one waits, ``add`` need not schedule anything.
        for _ in range(len(self._waiting)):
            self._waiting[0].take_turn()
            self._waiting.popleft()
            if monotonic() >= end_s:
                break
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._run)

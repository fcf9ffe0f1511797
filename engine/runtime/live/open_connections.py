"""The open connections of one listener, or all outgoing ones of a node, with their shared limits."""

from __future__ import annotations

import asyncio
from typing import Protocol

from engine.runtime.connection_limits import UNHANDLED_LIMIT_BYTES, UNSENT_ALL_LIMIT_BYTES
from engine.runtime.live.frame_turns import FrameTurns, WaitingConnection
from engine.runtime.live.freed_memory import give_back_freed_memory
from engine.runtime.unsent_budget import CountedConnection, UnsentBudget

#: How many times per idle timeout a connection is checked: reading the clock per frame would cost more, and an idle
#: connection may well exist a quarter of the timeout longer.
_SWEEPS_PER_TIMEOUT = 4
#: How long ``close`` waits for peers to read unsent data.
_CLOSE_GRACE_MS = 1_000
#: Memory is returned to the kernel if this much was unsent and half of it has been sent.
_GIVE_BACK_FROM_BYTES = 64 * 1024 * 1024


class OpenConnection(CountedConnection, WaitingConnection, Protocol):
    """The interface of a connection for this module."""

    was_active: bool
    idle_sweeps: int

    def close(self) -> None: ...


class OpenConnections:
    """A set of connections that bounds their total buffers and closes idle ones.

    :param limit: the maximum number of connections.
    :param waits_for_readers: whether requests wait while their connection's replies are not read. Only the answering
        end may do so: if both did, each could wait for the other forever.
    """

    def __init__(
        self,
        limit: int,
        idle_timeout_ms: int,
        *,
        unsent_limit_bytes: int = UNSENT_ALL_LIMIT_BYTES,
        waits_for_readers: bool,
    ) -> None:
        self.waits_for_readers = waits_for_readers
        self.budget = UnsentBudget(unsent_limit_bytes)
        self.turns = FrameTurns()
        self._connections: dict[OpenConnection, None] = {}
        self._limit = limit
        self._idle_timeout_ms = idle_timeout_ms
        self._sweep_timer: asyncio.TimerHandle | None = None
        self._emptied: asyncio.Future[None] | None = None
        self._unhandled_bytes = 0

    def __len__(self) -> int:
        return len(self._connections)

    def opened(self, connection: OpenConnection) -> str | None:
        """Add a new connection; return an error text if there are too many."""
        if len(self._connections) >= self._limit:
            return f"{self._limit} connections are open, which is the maximum"
        self._connections[connection] = None
        if self._sweep_timer is None:
            self._schedule_sweep()
        return None

    def lost(self, connection: OpenConnection) -> None:
        """Remove a connection."""
        self.budget.forget(connection)
        self._connections.pop(connection, None)
        if self._emptied is not None and not self._connections and not self._emptied.done():
            self._emptied.set_result(None)

    def unhandled(self, change: int) -> str | None:
        """Count bytes received and not handled yet; return an error text for a connection that exceeds the common
        limit.
        """
        self._unhandled_bytes += change
        if change > 0 and self._unhandled_bytes > UNHANDLED_LIMIT_BYTES:
            return f"{self._unhandled_bytes} bytes received are not handled yet; allowed: {UNHANDLED_LIMIT_BYTES}"
        return None

    def _schedule_sweep(self) -> None:
        delay_s = self._idle_timeout_ms / _SWEEPS_PER_TIMEOUT / 1_000
        self._sweep_timer = asyncio.get_running_loop().call_later(delay_s, self._sweep)

    def _sweep(self) -> None:
        readers = dict.fromkeys(self.budget.recount())
        for connection in list(self._connections):
            if connection.was_active or connection in readers:
                connection.was_active = False
                connection.idle_sweeps = 0
                continue
            connection.idle_sweeps += 1
            if connection.idle_sweeps >= _SWEEPS_PER_TIMEOUT:
                # Nothing was read for that long: waiting for unsent bytes to leave could take forever.
                connection.abort(f"idle for {self._idle_timeout_ms // 1_000} s")
        peak_bytes = self.budget.take_peak()
        if peak_bytes >= _GIVE_BACK_FROM_BYTES and self.budget.total_bytes < peak_bytes // 2:
            give_back_freed_memory()
        self._sweep_timer = None
        if self._connections:
            self._schedule_sweep()

    async def close(self) -> None:
        """Close all connections; those whose peers do not read the rest in time are aborted."""
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()
            self._sweep_timer = None
        if not self._connections:
            return
        self._emptied = asyncio.get_running_loop().create_future()
        for connection in list(self._connections):
            connection.close()
        try:
            await asyncio.wait([self._emptied], timeout=_CLOSE_GRACE_MS / 1_000)
        finally:
            for connection in list(self._connections):
                connection.abort("closed by this end")
        await self._emptied

"""The slave's side: connects to the master, appends what it receives, and reports the end of its own log (RocketMQ:
``HAClient``).

    APART ---connect---> FOLLOWS ---lost, silence, foreign piece---> APART
      +------- the master's log is another one ------> REFUSED (until the next start)

Before its first report it has its last message compared with the master's (``check``). RocketMQ's slave does not, so a
master that lost the end of its log and then grew past it would be followed as if nothing had happened.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from enum import Enum

from engine.replication.ha.ha_config import HaConfig
from engine.replication.ha.ha_frames import PieceSplitter, decode_piece, encode_report
from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.port import ConnectFailed, Connection, DiskFault, Runtime
from engine.runtime.state_table import successor
from engine.store.services.replica_log import ReplicaLog, WrongPiece

_log = logging.getLogger("glassmq.replication")

CONNECT_TIMEOUT_MS = 3_000
#: Delay after a connection was lost or could not be made (``HAClient``: ``waitForRunning(1000 * 5)``).
RECONNECT_AFTER_MS = 5_000
#: How often, during that delay, it checks whether its master has moved; if so, it connects immediately.
_NEWS_INTERVAL_MS = 500


class MasterDiverged(Exception):
    """The master's log is not a longer copy of this one. The message says where they differ and what to do."""


class FollowerState(Enum):
    """State of a slave's connection to its master."""

    APART = "not connected"
    FOLLOWS = "follows"
    REFUSED = "refused: the logs differ"


_NEXT = {
    FollowerState.APART: (FollowerState.FOLLOWS, FollowerState.REFUSED),
    FollowerState.FOLLOWS: (FollowerState.APART, FollowerState.REFUSED),
}


class HaClient:
    """Follow a master's commit log; a ``FrameHandler`` of the runtime port.

    :param find_master: the master's address for slaves, ``"host:port"``; None while it is not known.
    :param check: raises :class:`MasterDiverged`; or ``ConnectFailed`` when the master cannot be asked.
    :param moved: called when no master is known or none answers at its last address: it may have moved.
    :ivar heard_ms: when the last frame from the master arrived; 0: never.
    :ivar problem: why the slave is not following; empty while it is.
    """

    def __init__(
        self,
        runtime: Runtime,
        log: ReplicaLog,
        config: HaConfig,
        find_master: Callable[[], str | None],
        check: Callable[[], Awaitable[None]],
        moved: Callable[[], None] = lambda: None,
    ) -> None:
        self.splitter = PieceSplitter()
        self.state = FollowerState.APART
        self.heard_ms = 0
        self.problem = "it has not connected yet"
        self._runtime = runtime
        self._clock = runtime.clock
        self._log = log
        self._config = config
        self._find_master = find_master
        self._check = check
        self._moved = moved
        self._connection: Connection | None = None
        self._heard_us = self._said_us = 0
        self._is_apart = asyncio.Event()

    def start(self, tasks: BackgroundTasks) -> None:
        """Start the tasks that follow the master."""
        tasks.spawn(self._follow(), "follow master")
        tasks.every(self._config.send_heartbeat_interval_ms // 4, self._look_at_the_clock, "report to master")

    def shutdown(self) -> None:
        """Close the connection. The tasks of :meth:`start` must have ended."""
        if self._connection is not None:
            self._connection.close()

    async def _follow(self) -> None:
        while True:
            try:
                await self._connect()
                await self._is_apart.wait()
            except ConnectFailed as failure:
                self._note(str(failure))
                # RocketMQ's slave waits for its next registration, up to 30 s, when it has started before its master.
                self._moved()
            except MasterDiverged as why:
                self._note(str(why))
                self._go(FollowerState.REFUSED)
                return
            if self.state is FollowerState.REFUSED:
                return
            await self._wait()

    async def _wait(self) -> None:
        tried = self._find_master()
        for _ in range(RECONNECT_AFTER_MS // _NEWS_INTERVAL_MS):
            await asyncio.sleep(_NEWS_INTERVAL_MS / 1_000)
            if self._find_master() != tried:
                return

    async def _connect(self) -> None:
        address = self._find_master()
        if address is None:
            raise ConnectFailed("no name server knows a master of this name yet")
        await self._check()
        self._log.cut_to_whole()
        self._is_apart.clear()
        self.splitter = PieceSplitter()
        self._connection = await self._runtime.network.connect(address, self, CONNECT_TIMEOUT_MS)

    def _note(self, problem: str) -> None:
        if problem != self.problem:
            _log.warning("the master is not followed: %s", problem)
        self.problem = problem

    # --- the port's FrameHandler -------------------------------------------------------------------------------------

    def connection_made(self, connection: Connection) -> None:
        """Report the end of the slave's log, which requests everything after it."""
        self._connection = connection
        self._go(FollowerState.FOLLOWS)
        self.problem = ""
        _log.info("follows master %s from %d", connection.remote_address, self._log.end_offset)
        self._heard_us = self._clock.monotonic_us()
        self._report()

    def frame_received(self, frame: bytes) -> None:
        """Handle a piece of the log or a heartbeat."""
        assert self._connection is not None
        self._heard_us, self.heard_ms = self._clock.monotonic_us(), self._clock.now_ms()
        offset, data = decode_piece(frame)
        try:
            self._log.append(offset, data)
        except (WrongPiece, DiskFault) as problem:
            self._note(str(problem))
            self._connection.close()
        else:
            if data:
                self._report()

    def connection_lost(self, reason: str) -> None:
        """Note that the connection is lost; it is opened again later."""
        self._connection = None
        if self.state is FollowerState.FOLLOWS:
            self._go(FollowerState.APART)
        if not self.problem:
            self._note(f"connection lost: {reason}")
        self._is_apart.set()

    # --- reporting ---------------------------------------------------------------------------------------------------

    def _report(self) -> None:
        assert self._connection is not None
        self._connection.send_frame(encode_report(self._log.end_offset))
        self._said_us = self._clock.monotonic_us()

    def _look_at_the_clock(self) -> None:
        connection, now_us = self._connection, self._clock.monotonic_us()
        if connection is None or self.state is not FollowerState.FOLLOWS:
            return
        if now_us - self._heard_us > self._config.housekeeping_interval_ms * 1_000:
            self._note("the master is silent")
            connection.close()
        elif now_us - self._said_us >= self._config.send_heartbeat_interval_ms * 1_000:
            self._report()

    def _go(self, state: FollowerState) -> None:
        self.state = successor(_NEXT, self.state, state, "the connection to the master")

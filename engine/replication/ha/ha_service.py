"""The master's side: slaves connect here to receive the log, and senders wait here until slaves have it (RocketMQ:
``HAService`` with its ``AcceptSocketService`` and ``GroupTransferService``).
"""

from __future__ import annotations

from collections.abc import Callable

from engine.replication.ha.ha_config import HaConfig
from engine.replication.ha.ha_connection import HaConnection
from engine.replication.waiting_senders import WaitingSenders
from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.port import Listener, Runtime
from engine.store.log.commit_log import CommitLog
from engine.store.log.put_message_result import PutMessageStatus


class HaService:
    """Serve the log to slaves, and let senders wait for them.

    :param refusal: as in :class:`HaConnection`.
    :ivar slaves: the connected slaves, in the order in which they connected.
    :ivar timeouts: how many senders received an answer that slaves took too long.
    """

    def __init__(
        self,
        runtime: Runtime,
        log: CommitLog,
        config: HaConfig,
        refusal: Callable[[str], str | None] = lambda address: None,
    ) -> None:
        self.config = config
        self._refusal = refusal
        self.slaves: dict[HaConnection, None] = {}
        self.timeouts = 0
        self._runtime = runtime
        self._log = log
        self._listener: Listener | None = None
        self._waiting = WaitingSenders()

    async def start(self, host: str, port: int, tasks: BackgroundTasks) -> None:
        """Listen for slaves. Raises ``AddressInUse``, ``RuntimeFault``."""
        self._listener = await self._runtime.network.listen(host, port, self._new_connection)
        # Four checks in the shortest time that matters.
        tasks.every(self.config.send_heartbeat_interval_ms // 4, self._look_at_the_clock, "slaves")

    @property
    def address(self) -> str:
        """Return the ``"ip:port"`` to which slaves connect; empty until :meth:`start`."""
        return "" if self._listener is None else self._listener.address

    async def shutdown(self) -> None:
        """End all connections."""
        if self._listener is not None:
            await self._listener.close()

    def _new_connection(self) -> HaConnection:
        connection = HaConnection(
            self._log, self._runtime.clock, self.config, self._free_waiting, self._ended, self._refusal
        )
        self.slaves[connection] = None
        return connection

    def _ended(self, connection: HaConnection) -> None:
        del self.slaves[connection]

    def _look_at_the_clock(self) -> None:
        for slave in list(self.slaves):
            slave.look_at_the_clock()

    # --- the log -----------------------------------------------------------------------------------------------------

    def log_grew(self) -> None:
        """Send what was appended to the log."""
        for slave in list(self.slaves):
            slave.send_more()

    async def replicated(self, offset: int, end_offset: int) -> PutMessageStatus:
        """Wait until enough slaves have confirmed the bytes from ``offset`` to ``end_offset``: PUT_OK, or
        FLUSH_SLAVE_TIMEOUT when they take too long. Return SLAVE_NOT_AVAILABLE immediately when too few slaves can
        confirm them. The message is stored in any case.
        """
        if self._is_copied(offset, end_offset):
            return PutMessageStatus.PUT_OK
        can_hold = sum(slave.is_near and slave.begin_offset <= offset for slave in self.slaves)
        if can_hold < self.config.slaves_needed:
            return PutMessageStatus.SLAVE_NOT_AVAILABLE
        self.log_grew()
        is_copied = await self._waiting.wait(offset, end_offset, self.config.slave_timeout_ms)
        self._free_waiting()
        if not is_copied:
            self.timeouts += 1
            return PutMessageStatus.FLUSH_SLAVE_TIMEOUT
        return PutMessageStatus.PUT_OK

    def _free_waiting(self) -> None:
        needed = self.config.slaves_needed
        ends = sorted((slave.confirmed_offset for slave in self.slaves), reverse=True)
        if 0 < needed <= len(ends):
            self._waiting.free(ends[needed - 1], self._is_copied)

    def _is_copied(self, offset: int, end_offset: int) -> bool:
        return sum(slave.holds(offset, end_offset) for slave in self.slaves) >= self.config.slaves_needed

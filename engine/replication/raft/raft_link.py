"""The way from one peer to another: a connection that is opened when there is something to say.

Nothing is kept for one that cannot be reached: the protocol says everything again that still counts.
"""

from __future__ import annotations

from engine.replication.raft.raft_messages import RaftMessage, encode_message
from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.port import ConnectFailed, Connection, Network

#: What waits while the connection is being opened; older messages give way to newer ones.
WAITING_MAX = 16


class RaftLink:
    """:param timeout_ms: so long may it take to connect."""

    def __init__(self, network: Network, tasks: BackgroundTasks, name: str, address: str, timeout_ms: int) -> None:
        self._network = network
        self._tasks = tasks
        self._name = name
        self._address = address
        self._timeout_ms = timeout_ms
        self._connection: Connection | None = None
        self._waiting: list[RaftMessage] = []
        self._is_connecting = False

    def send(self, message: RaftMessage) -> None:
        """Send it, or not: to an end that does not read, nothing is."""
        connection = self._connection
        if connection is not None and not connection.is_closing:
            if connection.has_room:
                connection.send_frame(encode_message(message))
            return
        self._waiting = [*self._waiting, message][-WAITING_MAX:]
        if not self._is_connecting:
            self._is_connecting = True
            self._tasks.spawn(self._connect(), f"connects to {self._name}")

    async def _connect(self) -> None:
        try:
            self._connection = await self._network.connect(self._address, self, self._timeout_ms)
        except ConnectFailed:
            return
        finally:
            self._is_connecting = False
            waiting, self._waiting = self._waiting, []
        for message in waiting:
            self.send(message)

    def connection_made(self, connection: Connection) -> None:
        """See the port. It is known from now on: whoever waits for it may be cancelled."""
        self._connection = connection

    def frame_received(self, frame: bytes) -> None:
        """See the port. Nothing comes this way: who answers has a link of its own."""

    def connection_lost(self, reason: str) -> None:
        """See the port."""
        self._connection = None

    def close(self) -> None:
        """End the connection."""
        if self._connection is not None:
            self._connection.close()

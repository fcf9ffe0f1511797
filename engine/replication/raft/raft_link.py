"""The link from one peer to another: a connection that is opened when there is something to send.

Nothing is kept for a peer that cannot be reached: the protocol repeats everything that still matters.
"""

from __future__ import annotations

from engine.replication.raft.raft_messages import RaftMessage, encode_message
from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.port import ConnectFailed, Connection, Network

#: Most messages that wait while the connection is being opened; newer messages replace older ones.
WAITING_MAX = 16


class RaftLink:
    """Send messages to one peer.

    :param timeout_ms: timeout for opening the connection.
    """

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
        """Send ``message``, or drop it if the other end is not reading."""
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
        """Keep the connection immediately, since the task that waits for it may be cancelled."""
        self._connection = connection

    def frame_received(self, frame: bytes) -> None:
        """Ignore the frame: peers answer on links of their own."""

    def connection_lost(self, reason: str) -> None:
        self._connection = None

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()

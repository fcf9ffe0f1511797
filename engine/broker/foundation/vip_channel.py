"""The VIP channel: a second port of the broker, two below its own (RocketMQ: ``BrokerController.fastRemotingServer``).

Java clients 4.1 to 4.4 send there unless they are configured otherwise, and have no fallback if the port is closed.
RocketMQ's port has its own threads and serves everything but pulls. Here it is the same server with the same bounds on
another port, and serves pulls, too.
"""

from __future__ import annotations

import logging

from engine.remoting.remoting_server import RemotingServer
from engine.runtime.port import RuntimeFault

logger = logging.getLogger("glassmq.broker")

#: Clients compute the port from the broker's (``MixAll.brokerVIPChannel``).
VIP_PORT_DISTANCE = 2


class VipChannel:
    """The VIP channel's port, closed until ``open``; the server's end closes it.

    :ivar address: ``"ip:port"`` while it is open, else empty.
    :ivar problem: why it could not be opened, else empty.
    """

    def __init__(self) -> None:
        self.address = ""
        self.problem = ""

    async def open(self, server: RemotingServer) -> None:
        """Listen two ports below ``server``.

        An unavailable port causes a warning: most clients do not need it, and a broker must not fail because another
        one uses the port two below its own (RocketMQ's start fails).
        """
        port = int(server.address.rpartition(":")[2]) - VIP_PORT_DISTANCE
        try:
            if port < 1:
                raise RuntimeFault(f"there is no port {port}")
            self.address = await server.listen_also(port)
        except RuntimeFault as fault:
            self.problem = str(fault)
            logger.warning("no VIP channel, so Java clients 4.1 to 4.4 cannot send here by default: %s", fault)

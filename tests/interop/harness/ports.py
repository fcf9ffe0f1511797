"""Free TCP ports on loopback."""

from __future__ import annotations

import socket

#: Where RocketMQ's name server listens unless told otherwise; some of its examples know no other.
DEFAULT_NAME_SERVER_PORT = 9876


def free_port() -> int:
    """A port nobody listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_free(port: int) -> bool:
    """True if nobody listens on ``port``."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def free_broker_port() -> int:
    """A port whose neighbours are free too.

    The real broker takes three: ``listenPort - 2`` (its "VIP" listener), ``listenPort`` and ``listenPort + 1``
    (replication).
    """
    for _ in range(50):
        port = free_port()
        if 1026 < port < 65535 and is_free(port - 2) and is_free(port + 1):
            return port
    raise RuntimeError("no three free ports near each other in 50 attempts")

"""Free TCP ports on loopback."""

from __future__ import annotations

import itertools
import os
import socket

#: Where RocketMQ's name server listens by default; some of its examples know no other port.
DEFAULT_NAME_SERVER_PORT = 9876


#: Below the ports that the kernel gives to sockets which ask for none (32768 and up on Linux), each pytest worker takes
#: its own ports, four at a time: a broker also listens two below its own port, and for slaves one above.
_FIRST_PORT, _LAST_PORT, _PORTS_OF_WORKER, _STEP = 11_000, 32_000, 2_000, 4
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_FIRST_OF_WORKER = _FIRST_PORT + _WORKER * _PORTS_OF_WORKER % (_LAST_PORT - _FIRST_PORT - _PORTS_OF_WORKER)
#: Begins elsewhere in each process: runs one after the other meet no connection that is still being closed.
_offsets = itertools.cycle(range(0, _PORTS_OF_WORKER, _STEP))
for _ in range(os.getpid() % (_PORTS_OF_WORKER // _STEP)):
    next(_offsets)


def free_port() -> int:
    """Return a port that nobody listens on, and that nobody gets who asks for any port."""
    for _ in range(_PORTS_OF_WORKER // _STEP):
        port = _FIRST_OF_WORKER + next(_offsets)
        if is_free(port):
            return port
    raise RuntimeError("no free port")


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

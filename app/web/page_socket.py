"""The listening socket of the page server, separate from the server itself, which takes a moment to import."""

from __future__ import annotations

import errno
import socket

from engine.runtime.port import AddressInUse, RuntimeFault

#: Connections that may wait to be accepted while the page server still starts.
BACKLOG = 128


class AddressNotUsable(RuntimeFault):
    """The address is not this machine's, or needs rights that the process lacks."""


def bind_page_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens at ``host:port`` (0 = any free port).

    Raises AddressInUse, :class:`AddressNotUsable`.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise AddressInUse(f"{host}:{port} is in use") from None
        raise AddressNotUsable(f"cannot listen on {host}:{port}: {error.strerror or error}") from None
    return listening


def address_of(listening: socket.socket) -> str:
    """Return the address in the form of a URL."""
    host, port = listening.getsockname()[:2]
    return f"[{host}]:{port}" if listening.family == socket.AF_INET6 else f"{host}:{port}"

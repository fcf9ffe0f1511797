"""A port that stays reserved while the broker that listens on it is replaced."""

from __future__ import annotations

import socket
import sys


class HeldPort:
    """A free port of ``host``, reserved for this process until ``release``.

    Between the end of one broker and the start of the next, another process could be given a port that nothing is
    bound to. A second socket is therefore bound to it and never listens. Only Linux lets two sockets share a port so;
    elsewhere ``number`` is 0 at first, and the port is free for that moment.
    """

    def __init__(self, host: str) -> None:
        self.number = 0
        self._socket: socket.socket | None = None
        if sys.platform != "linux":
            return
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.socket(family, socket.SOCK_STREAM)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.bind((host, 0))
        except OSError:
            self._socket.close()
            raise
        self.number = self._socket.getsockname()[1]

    def release(self) -> None:
        """Give the port back."""
        if self._socket is not None:
            self._socket.close()

"""Connections whose request has not arrived yet: bounded per address and in total, each with a deadline.

A client that opens connections and sends nothing, or a byte now and then, takes places from others. So the connection
that has waited longest makes room for the next; a connection that is served is never touched.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

#: Half-open connections, in total and from one address: browsers open some before they need them.
HALF_OPEN_MAX = 128
HALF_OPEN_PER_ADDRESS_MAX = 64
#: Seconds within which the whole head of a request must arrive, and its whole body.
REQUEST_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class _Waiting:
    connection: socket.socket
    address: str
    since_s: float


class HalfOpenConnections:
    """The half-open connections, for all threads. Times are monotonic seconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[int, _Waiting] = {}  # by identity of the connection
        self._of_address: Counter[str] = Counter()

    def wait_for(self, connection: socket.socket, address: str, since_s: float) -> None:
        """Note that ``connection`` is expected to send since ``since_s``; where there are too many, the oldest one is
        cut.
        """
        with self._lock:
            if self._of_address[address] >= HALF_OPEN_PER_ADDRESS_MAX:
                self._cut(_oldest(one for one in self._waiting.values() if one.address == address))
            elif len(self._waiting) >= HALF_OPEN_MAX:
                self._cut(_oldest(self._waiting.values()))
            self._waiting[id(connection)] = _Waiting(connection, address, since_s)
            self._of_address[address] += 1

    def done(self, connection: socket.socket) -> None:
        """Note that the connection has sent the request, or is gone."""
        with self._lock:
            waiting = self._waiting.get(id(connection))
            if waiting is not None:
                self._forget(waiting)

    def cut_oldest(self) -> bool:
        """Cut the oldest half-open connection to make room; return False when none is half open."""
        with self._lock:
            if not self._waiting:
                return False
            self._cut(_oldest(self._waiting.values()))
            return True

    def cut_overdue(self, now_s: float) -> None:
        """Cut the connections whose time is over."""
        with self._lock:
            for waiting in list(self._waiting.values()):
                if now_s - waiting.since_s >= REQUEST_TIMEOUT_S:
                    self._cut(waiting)

    def _cut(self, waiting: _Waiting) -> None:
        """Cut a connection: its thread, which waits for the client, finds the end of the stream."""
        self._forget(waiting)
        with contextlib.suppress(OSError):  # closed by the client at the same moment
            waiting.connection.shutdown(socket.SHUT_RDWR)

    def _forget(self, waiting: _Waiting) -> None:
        del self._waiting[id(waiting.connection)]
        self._of_address[waiting.address] -= 1
        if not self._of_address[waiting.address]:
            del self._of_address[waiting.address]


def _oldest(waiting: Iterable[_Waiting]) -> _Waiting:
    return min(waiting, key=lambda one: one.since_s)

"""A connection for processes that have no event loop: the tasks of a Spark executor, scripts.

It carries the same frames as the port's ``Connection`` but is not part of the port: its users never run in a lab. A
method waits in the kernel, no longer than its timeout. After any error the connection is closed, because the start of
the next frame is unknown.
"""

from __future__ import annotations

import socket
import ssl
import time
from typing import Self

from engine.runtime.frame_splitter import FRAME_MIN_LENGTH_BYTES, LENGTH_PREFIX
from engine.runtime.live.live_tls import ClientTls
from engine.runtime.port import FRAME_MAX_LENGTH_BYTES, ConnectFailed, RuntimeFault

#: The size of reads from the kernel, which return many small frames; a larger frame is read directly to its buffer.
_READ_AHEAD_BYTES = 64 * 1024
#: The size of the kernel's receive buffer: replies to requests that were sent ahead.
_RECEIVE_BUFFER_BYTES = 4 * 1024 * 1024


class ConnectionLost(RuntimeFault):
    """The other end closed the connection, sent invalid data, or did not answer in time; the text says which."""


class BlockingConnection:
    """One end of a TCP connection, encrypted or not. Not thread-safe."""

    def __init__(self, address: str, *, connect_timeout_ms: int, tls: ClientTls | None = None) -> None:
        """Connect to ``"host:port"``.

        Raises :class:`~engine.runtime.port.ConnectFailed`, and :class:`~engine.runtime.live.live_tls.TlsUnusable` for
        unusable certificates.
        """
        self.address = address
        host, port = split_address(address)
        context = tls.context() if tls is not None else None
        try:
            plain = socket.create_connection((host, port), connect_timeout_ms / 1_000)
        except (OSError, ValueError) as failure:  # UnicodeError, a ValueError: a name that no host can have
            raise ConnectFailed(f"cannot connect to {address}: {_reason(failure)}") from failure
        try:
            # A request is one small write: Nagle's algorithm would delay it until the next one.
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER_BYTES)
            self._socket = plain if context is None else context.wrap_socket(plain, server_hostname=host)
        except (OSError, ValueError) as failure:  # ssl.SSLError is an OSError
            plain.close()
            raise ConnectFailed(f"no encrypted connection to {address}: {_reason(failure)}") from failure
        self._stream = self._socket.makefile("rb", buffering=_READ_AHEAD_BYTES)
        #: False once it was closed, by either end.
        self.is_open = True
        #: When the last frame was received, on the monotonic clock; a server closes what is idle for 120 s.
        self.last_used_s = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def send_frame(self, frame: bytes, timeout_ms: int) -> None:
        """Send a frame including its length prefix, or several joined frames. Raises :class:`ConnectionLost`."""
        try:
            self._socket.settimeout(timeout_ms / 1_000)
            self._socket.sendall(frame)
        except (OSError, ValueError) as failure:
            self.close()
            raise ConnectionLost(f"{self.address}: {_reason(failure)}") from failure

    def receive_frame(self, timeout_ms: int) -> bytes:
        """Receive the next frame without its length prefix. Raises :class:`ConnectionLost`.

        The timeout applies to silence: a large frame may take longer while bytes keep arriving.
        """
        try:
            self._socket.settimeout(timeout_ms / 1_000)
            prefix = self._stream.read(4)
            if len(prefix) < 4:
                raise ConnectionLost(f"{self.address} closed the connection")
            (length,) = LENGTH_PREFIX.unpack(prefix)
            if not FRAME_MIN_LENGTH_BYTES <= length <= FRAME_MAX_LENGTH_BYTES:
                raise ConnectionLost(
                    f"{self.address} sent a frame length of {length}; allowed: {FRAME_MIN_LENGTH_BYTES} to "
                    f"{FRAME_MAX_LENGTH_BYTES} bytes"
                )
            frame: bytes = self._stream.read(length)
            if len(frame) < length:
                raise ConnectionLost(f"{self.address} closed the connection within a frame")
        except (OSError, ValueError) as failure:
            self.close()
            raise ConnectionLost(f"{self.address}: {_reason(failure)}") from failure
        except ConnectionLost:
            self.close()
            raise
        self.last_used_s = time.monotonic()
        return frame

    def close(self) -> None:
        """Close the connection; a second call does nothing."""
        if self.is_open:
            self.is_open = False
            self._stream.close()
            self._socket.close()


def split_address(address: str) -> tuple[str, int]:
    """Split ``"host:port"``; an IPv6 address is in brackets. Raises ``ConnectFailed``."""
    host, separator, port = address.rpartition(":")
    if not separator or not host or not (port.isascii() and port.isdigit()) or not 0 < int(port) <= 65_535:
        raise ConnectFailed(f"{address!r} is not an address; write host:port, such as 127.0.0.1:9876")
    return host.strip("[]"), int(port)


def _reason(failure: Exception) -> str:
    if isinstance(failure, ssl.SSLError):
        return str(failure.reason or failure)
    if isinstance(failure, TimeoutError):
        return "no answer in time"
    return str(getattr(failure, "strerror", None) or failure)

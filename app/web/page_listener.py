"""The HTTP server of the page: werkzeug's threaded server with a bound on connections, and on those that only wait.

``disable_nagle_algorithm`` matters: without it every small Socket.IO message waits up to 40 ms.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from io import BufferedIOBase
from typing import Any

from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler

from app.foundation.half_open import HalfOpenConnections
from app.web.page_socket import address_of

log = logging.getLogger("glassmq.http")

#: Connections served at the same time; each has a thread. More are closed immediately.
CONNECTIONS_MAX = 256
#: Seconds between two log lines about refused connections.
REFUSALS_LOG_INTERVAL_S = 10
#: Seconds that a new connection may wait for the place of a half-open one that was cut for it.
CUT_TAKES_S = 1.0
#: Seconds within which a client must take each part of the answer. Not for WebSockets: a timeout would cut a frame.
ANSWER_TIMEOUT_S = 60
#: Bytes of one read of a body, however many were requested: what is sent after an answer is discarded in parts of this
#: size.
READ_MAX_BYTES = 64 * 1024


class _RequestBody:
    """The request body. While the server waits for it, the connection is half open again."""

    def __init__(self, stream: BufferedIOBase, waiting: Callable[[float], AbstractContextManager[None]]) -> None:
        """Make the body. ``waiting`` takes the monotonic second of the first read: the whole body has one deadline."""
        self._stream = stream
        self._waiting = waiting
        self._begun_s: float | None = None

    def read(self, size: int = -1) -> bytes:
        with self._client():
            return self._stream.read(min(size, READ_MAX_BYTES) if size >= 0 else READ_MAX_BYTES)

    def readline(self, size: int = -1) -> bytes:
        with self._client():
            return self._stream.readline(min(size, READ_MAX_BYTES) if size >= 0 else READ_MAX_BYTES)

    def readinto(self, buffer: Any) -> int:
        with self._client():
            return self._stream.readinto(buffer)

    def close(self) -> None:
        self._stream.close()

    def _client(self) -> AbstractContextManager[None]:
        if self._begun_s is None:
            self._begun_s = time.monotonic()
        return self._waiting(self._begun_s)


class PageRequestHandler(WSGIRequestHandler):
    """Handle one connection of a client. Requests are logged at DEBUG only, and the server's version is not sent."""

    disable_nagle_algorithm = True

    def version_string(self) -> str:
        return "GlassMQ"

    server: PageListener

    def run_wsgi(self) -> None:
        """Run the application once the request's head has arrived."""
        self.server.half_open.done(self.connection)
        is_socket = "upgrade" in self.headers.get("Connection", "").lower()
        self.connection.settimeout(None if is_socket else ANSWER_TIMEOUT_S)
        self.rfile = _RequestBody(self.rfile, self._waiting)  # type: ignore[assignment]  # all that is read of it
        super().run_wsgi()
        if is_socket:  # the WebSocket's own thread, which still waits for the client, must see the end
            with contextlib.suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)

    @contextlib.contextmanager
    def _waiting(self, since_s: float) -> Iterator[None]:
        half_open = self.server.half_open
        half_open.wait_for(self.connection, str(self.client_address[0]), since_s)
        try:
            yield
        finally:
            half_open.done(self.connection)

    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002 -- the base class names it so
        log.debug(message, *args)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        log.debug("%s %s", getattr(self, "requestline", "?"), code)


class PageListener(ThreadedWSGIServer):
    """Accepts connections and gives each a daemon thread, up to a bound."""

    daemon_threads = True

    def __init__(self, listening: socket.socket, app: Any) -> None:
        """Make the server. ``listening`` is bound and listens already; the server takes it over."""
        self.half_open = HalfOpenConnections()
        self._free = threading.BoundedSemaphore(CONNECTIONS_MAX)
        self._refused = 0
        self._refusals_logged_at = -float(REFUSALS_LOG_INTERVAL_S)
        host, port = listening.getsockname()[:2]
        super().__init__(host, port, app, handler=PageRequestHandler, fd=listening.fileno())
        listening.close()  # the server works on its own duplicate

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._take_place():
            self.shutdown_request(request)
            self._count_refusal()
            return
        self.half_open.wait_for(request, str(client_address[0]), time.monotonic())
        try:
            super().process_request(request, client_address)
        except BaseException:  # there is no thread for it
            self._give_place_back(request)
            raise

    def _take_place(self) -> bool:
        """Take a place for a connection. A half-open one makes room for a new one; those that are served stay."""
        if self._free.acquire(blocking=False):
            return True
        return self.half_open.cut_oldest() and self._free.acquire(timeout=CUT_TAKES_S)

    def service_actions(self) -> None:
        """Do periodic work; called a few times a second."""
        self.half_open.cut_overdue(time.monotonic())

    def _count_refusal(self) -> None:
        """Log refusals together: a flood of connections must not become a flood of log lines."""
        self._refused += 1
        now = time.monotonic()
        if now - self._refusals_logged_at >= REFUSALS_LOG_INTERVAL_S:
            log.warning(
                "%d connections to the page are open; %d more were refused so far", CONNECTIONS_MAX, self._refused
            )
            self._refusals_logged_at = now

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._give_place_back(request)

    def _give_place_back(self, request: Any) -> None:
        self.half_open.done(request)
        self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log a connection that broke, or a request handler that failed outside Flask: neither may end the server."""
        log.debug("connection from %s failed", client_address, exc_info=True)

    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002 -- the base class names it so
        log.debug(message, *args)

    @property
    def bound_address(self) -> str:
        """Return the actual ``"host:port"``."""
        return address_of(self.socket)

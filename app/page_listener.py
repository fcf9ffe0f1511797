"""The HTTP server under the page: werkzeug's threaded server with a bound on connections.

``disable_nagle_algorithm`` matters: without it every small Socket.IO message waits up to 40 ms.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from typing import Any

from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler

log = logging.getLogger("glassmq.http")

#: Connections served at the same time; each has a thread. More are closed at once.
CONNECTIONS_MAX = 256
#: Refused connections are logged at most so often.
REFUSALS_LOG_INTERVAL_S = 10
#: Seconds within which a client must send its request's head.
REQUEST_HEAD_TIMEOUT_S = 15
#: Seconds within which it must take each part of the answer. Not for WebSockets: a timeout would cut a frame.
ANSWER_TIMEOUT_S = 60


class PageRequestHandler(WSGIRequestHandler):
    """One connection. Quiet: requests are logged at DEBUG only, and the server's version is nobody's business."""

    disable_nagle_algorithm = True

    def version_string(self) -> str:
        return "GlassMQ"

    def handle_one_request(self) -> None:
        self.connection.settimeout(REQUEST_HEAD_TIMEOUT_S)
        super().handle_one_request()

    def run_wsgi(self) -> None:
        is_socket = "upgrade" in self.headers.get("Connection", "").lower()
        self.connection.settimeout(None if is_socket else ANSWER_TIMEOUT_S)
        super().run_wsgi()

    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002 -- the base class names it so
        log.debug(message, *args)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        log.debug("%s %s", getattr(self, "requestline", "?"), code)


class PageListener(ThreadedWSGIServer):
    """Accepts connections and gives each a daemon thread, up to a bound."""

    daemon_threads = True

    def __init__(self, listening: socket.socket, app: Any) -> None:
        """``listening`` is bound and listens already; the server takes it over."""
        self._free = threading.BoundedSemaphore(CONNECTIONS_MAX)
        self._refused = 0
        self._refusals_logged_at = -float(REFUSALS_LOG_INTERVAL_S)
        host, port = listening.getsockname()[:2]
        super().__init__(host, port, app, handler=PageRequestHandler, fd=listening.fileno())
        listening.close()  # the server works on its own duplicate

    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            self._count_refusal()
            return
        super().process_request(request, client_address)

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
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection broke, or a request handler failed outside Flask: neither may end the server."""
        log.debug("connection from %s failed", client_address, exc_info=True)

    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002 -- the base class names it so
        log.debug(message, *args)

    @property
    def bound_address(self) -> str:
        """``"host:port"`` that is really listened on."""
        host, port = self.socket.getsockname()[:2]
        return f"[{host}]:{port}" if self.socket.family == socket.AF_INET6 else f"{host}:{port}"

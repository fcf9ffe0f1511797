"""The HTTP server of the test kit's API, on the standard library alone. Each request has a thread, as some wait."""

from __future__ import annotations

import socket
import socketserver
import threading
from typing import TYPE_CHECKING
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

#: Seconds between two checks of whether the server must stop: a stop takes no longer than this.
_STOP_POLL_S = 0.02


class _RequestHandler(WSGIRequestHandler):
    #: Seconds that a silent connection is kept.
    timeout = 30

    def address_string(self) -> str:
        return str(self.client_address[0])

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name in the standard library)
        """Say nothing of requests."""


class _Server(socketserver.ThreadingMixIn, WSGIServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def server_bind(self) -> None:
        """Bind without asking for the name of the host, which takes seconds where no name server answers."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])
        self.setup_environ()


class ApiServer:
    """A free port of ``host`` that answers from ``start`` to ``stop``. Raises ``OSError``."""

    def __init__(self, host: str) -> None:
        server_class = type("_Server6", (_Server,), {"address_family": socket.AF_INET6}) if ":" in host else _Server
        self._server: _Server = server_class((host, 0), _RequestHandler)
        self.port = self._server.server_port
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_STOP_POLL_S,), name="glassmq-testkit-http", daemon=True
        )

    def start(self, application: WSGIApplication) -> None:
        """Answer requests; connections that came before have waited."""
        self._server.set_app(application)
        self._thread.start()

    def stop(self) -> None:
        """Answer no more requests, and give the port back."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()

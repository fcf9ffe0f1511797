"""Waits at the page's port for the first connection, and only then imports the HTTP server."""

from __future__ import annotations

import logging
import selectors
import socket
import threading
from typing import TYPE_CHECKING, Any

from app.web.page_socket import address_of

if TYPE_CHECKING:
    from app.web.page_listener import PageListener

log = logging.getLogger("glassmq.http")

#: Seconds until the next try when the HTTP server cannot be created: file descriptors may be free again by then.
RETRY_AFTER_S = 1.0
#: Seconds between two checks whether the HTTP server must end, and of overdue connections.
POLL_INTERVAL_S = 0.2


class LazyListener:
    """Serves ``app`` at ``listening``, which it takes over, from a thread of its own until ``close``.

    :ivar address: the actual ``"host:port"``.
    """

    def __init__(self, listening: socket.socket, app: Any) -> None:
        self.address = address_of(listening)
        self._listening = listening
        self._app = app
        self._lock = threading.Lock()
        self._is_closed = False
        self._listener: PageListener | None = None
        self._to_end, self._ending = socket.socketpair()
        self._thread = threading.Thread(target=self._run, name="page-listener", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with self._ending, selectors.DefaultSelector() as either:
            either.register(self._listening, selectors.EVENT_READ)
            either.register(self._ending, selectors.EVENT_READ)
            either.select()
            either.unregister(self._listening)
            while (listener := self._make_listener()) is None:
                if either.select(RETRY_AFTER_S):
                    self._listening.close()
                    return
        listener.serve_forever(POLL_INTERVAL_S)

    def _make_listener(self) -> PageListener | None:
        with self._lock:
            if self._is_closed:
                return None
            try:
                from app.web.page_listener import PageListener

                self._listener = PageListener(self._listening, self._app)
            except Exception:
                log.exception("the page cannot be served yet")
            return self._listener

    def close(self) -> None:
        """Stop accepting connections."""
        with self._lock:
            self._is_closed = True
            self._to_end.close()
        if self._listener is not None:
            self._listener.shutdown()
        self._thread.join()

"""A Socket.IO client of a few lines over a raw WebSocket: tests see every frame and may misbehave."""

from __future__ import annotations

import json
import socket
from collections import deque

from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, RejectConnection, Request, TextMessage

from app.foundation.patch import apply_patch


class Refused(Exception):
    """The server did not accept the WebSocket; ``args[0]`` is the HTTP status."""


class SocketBrowser:
    """Connects to a namespace of a page server at ``"host:port"``. Every wait ends after ``timeout_s`` with None."""

    def __init__(self, address, *, headers=None, join=True, timeout_s=60, namespace="/live"):
        self._namespace = namespace
        host, _, port = address.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout=timeout_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as browsers do
        self._connection = WSConnection(ConnectionType.CLIENT)
        self._texts: deque[str] = deque()
        self._partial = ""
        self._state = None
        self._is_accepted = self._is_closed = False
        extra = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
        target = "/socket.io/?EIO=4&transport=websocket"
        self._send(Request(host=address, target=target, extra_headers=extra))
        while not self._is_accepted:
            if not self._read():
                raise Refused("no answer")
        self.hello = json.loads(self.receive_text()[1:])
        self.joined = None
        if join:
            self.send_raw(f"40{namespace},")
            self.joined = self.receive_text()

    def _send(self, event):
        self._socket.sendall(self._connection.send(event))

    def _read(self):
        """Take what comes next; False when nothing came in time or the connection ended."""
        try:
            data = self._socket.recv(65536)
        except (TimeoutError, ConnectionError):
            return False
        self._connection.receive_data(data or None)
        for event in self._connection.events():
            if isinstance(event, AcceptConnection):
                self._is_accepted = True
            elif isinstance(event, RejectConnection):
                raise Refused(event.status_code)
            elif isinstance(event, CloseConnection):
                self._is_closed = True
            elif isinstance(event, TextMessage):
                self._partial += event.data
                if event.message_finished:
                    self._texts.append(self._partial)
                    self._partial = ""
        return bool(data)

    def receive_text(self):
        """The next frame's text, or None."""
        while not self._texts:
            if self._is_closed or not self._read():
                return None
        return self._texts.popleft()

    def receive(self):
        """The next event as (name, payload); answers pings meanwhile. None when nothing comes any more."""
        while (text := self.receive_text()) is not None:
            if text == "2":
                self.send_raw("3")
            elif text.startswith(f"42{self._namespace},"):
                name, payload = json.loads(text.removeprefix(f"42{self._namespace},"))
                return name, payload
        return None

    def state_when(self, condition):
        """Follow the live stream as the page does until ``condition(state)`` holds; that state."""
        while (event := self.receive()) is not None:
            name, payload = event
            if name == "snapshot":
                self._state = payload["state"]
            elif name == "patch":
                self._state = apply_patch(self._state, payload["operations"])
            else:
                break
            self.send("acknowledge", {"sequence": payload["sequence"]})
            if condition(self._state):
                return self._state
        raise AssertionError(f"the stream ended with {event} before it came to that: {str(self._state)[:2000]}")

    def patience(self, timeout_s):
        """From now on a wait ends after this many seconds."""
        self._socket.settimeout(timeout_s)

    def send(self, event, *arguments):
        self.send_raw(f"42{self._namespace}," + json.dumps([event, *arguments]))

    def send_raw(self, text):
        """Raises OSError when the connection is gone."""
        self._send(TextMessage(text))

    def close(self):
        self._socket.close()

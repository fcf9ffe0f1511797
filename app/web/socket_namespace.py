"""The Socket.IO namespace ``/live`` and the transport of the stream."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from flask import Flask
from simple_websocket import ConnectionClosed
from wsproto.utilities import LocalProtocolError, RemoteProtocolError

from app.foundation.json_text import SocketJson
from app.web.socketio import Namespace, Packet, SimpleWebSocketWSGI, SocketConnectionRefused, SocketIO
from app.web.stream import LiveStream, TooManyViewers

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

#: The libraries' log about every malformed frame: broken clients are not this server's errors.
_library_log = logging.getLogger("glassmq.stream.library")
_library_log.setLevel(logging.CRITICAL)

NAMESPACE = "/live"
#: Bytes of the longest message that a browser may send; its acknowledgements have some 30 bytes.
MESSAGE_MAX_BYTES = 4096
PING_INTERVAL_S = 10
PING_TIMEOUT_S = 15
_FRAME_TYPES = "0123456"


class BoundedWebSocket(SimpleWebSocketWSGI):  # type: ignore[misc]  # the library has no types
    """A WebSocket that refuses long messages while they arrive (engineio checks only when they are complete), treats
    anything but an Engine.IO frame as the end, and tolerates a browser that is gone already when it is closed.
    """

    def __init__(self, handler: Any, server: Any, **options: Any) -> None:
        super().__init__(handler, server, max_message_size=MESSAGE_MAX_BYTES, **options)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        try:
            answer: Iterable[bytes] = super().__call__(environ, start_response)
        except RemoteProtocolError:
            start_response("400 Bad Request", [("Content-Type", "text/plain")])
            return [b"400: this is no WebSocket request\n"]
        return answer

    def wait(self) -> str | None:
        """Return the next frame; None at the end of the connection, and where not even pings are answered any more.

        engineio itself watches sessions only: a WebSocket that never becomes one would stay forever.
        """
        try:
            frame = self.ws.receive(timeout=PING_INTERVAL_S + PING_TIMEOUT_S)
        except ConnectionClosed:
            return None
        # A frame begins with the digit of its type; this protocol has no binary frames.
        return frame if isinstance(frame, str) and frame[:1] in _FRAME_TYPES and frame else None

    def close(self) -> None:
        """Send a close frame if the peer still listens, and wake the thread that waits for a frame."""
        with contextlib.suppress(OSError, LocalProtocolError):  # the peer is gone, or has sent its close frame already
            super().close()
        self.ws.event.set()


class TextPacket(Packet):  # type: ignore[misc]  # the library has no types
    """A packet whose payload is JSON without bytes: searching it for bytes is not needed."""

    uses_binary_events = False


def create_socketio(app: Flask) -> SocketIO:
    """Return the Socket.IO server inside ``app``. Origins are checked by the access gate before it."""
    socketio = SocketIO(
        app,
        async_mode="threading",
        async_handlers=False,  # a browser's events are handled one after the other, in its own thread
        cors_allowed_origins=[],  # no CORS headers at all
        max_http_buffer_size=MESSAGE_MAX_BYTES,
        ping_interval=PING_INTERVAL_S,
        ping_timeout=PING_TIMEOUT_S,
        json=SocketJson,
        serializer=TextPacket,  # type: ignore[call-arg]  # the stubs do not know it; python-socketio does
        manage_session=False,
        logger=_library_log,
        engineio_logger=_library_log,
    )
    engine = _server(socketio).eio
    # engineio names its WebSocket class here and has no option for the longest message.
    engine._async = {**engine._async, "websocket": BoundedWebSocket}
    return socketio


def _server(socketio: SocketIO) -> Any:
    """Return the python-socketio server inside; the type stubs of Flask-SocketIO do not know it."""
    return cast(Any, socketio).server


class SocketTransport:
    """Sends the messages of one namespace through Socket.IO."""

    def __init__(self, socketio: SocketIO, namespace: str = NAMESPACE) -> None:
        self._socketio = socketio
        self._namespace = namespace

    def send(self, viewer_ids: list[str], event: str, payload: Mapping[str, object]) -> None:
        """Queue one message for several viewers; it is encoded once."""
        _server(self._socketio).emit(event, payload, to=viewer_ids, namespace=self._namespace)

    def disconnect(self, viewer_id: str, reason: str) -> None:
        """Send the reason, then close the connection, without waiting for a browser that may never read it."""
        self._socketio.emit("goodbye", {"reason": reason}, to=viewer_id, namespace=self._namespace)
        server = _server(self._socketio)
        session = server.eio.sockets.get(server.manager.eio_sid_from_sid(viewer_id, self._namespace))
        if session is not None:
            session.close(wait=False, reason=server.eio.reason.SERVER_DISCONNECT)


class LiveNamespace(Namespace):
    """Hands every event of a browser, known or not, to the stream, which limits and checks them."""

    def __init__(self, stream: LiveStream, namespace: str = NAMESPACE) -> None:
        super().__init__(namespace)
        self._stream = stream

    def trigger_event(self, event: str, *arguments: Any) -> None:
        """Handle an event.

        Socket.IO passes the session id first, then the connection's data or the event's arguments.
        """
        viewer_id = str(arguments[0])
        match event:
            case "connect":
                try:
                    self._stream.add_viewer(viewer_id)
                except TooManyViewers as error:
                    raise SocketConnectionRefused(str(error), {"reason": "too_many_viewers"}) from None
            case "disconnect":
                self._stream.remove_viewer(viewer_id)
            case _:
                self._stream.event_received(viewer_id, event, arguments[1:])


def open_socket_sessions(socketio: SocketIO) -> int:
    """Return how many Socket.IO sessions are open, watching or not."""
    return len(_open_sessions(socketio))


def has_room(socketio: SocketIO, limit: int) -> bool:
    """Return whether fewer than ``limit`` sessions are open; the oldest one that watches nothing makes room.

    A browser's session joins a namespace immediately. One that has not is an abandoned poll.
    """
    server = _server(socketio)
    sessions = _open_sessions(socketio)
    if len(sessions) < limit:
        return True
    for session in sessions:
        if all(server.manager.sid_from_eio_sid(session.sid, name) is None for name in list(server.manager.rooms)):
            session.close(wait=False, abort=True, reason=server.eio.reason.SERVER_DISCONNECT)
            return True
    return False


def _open_sessions(socketio: SocketIO) -> list[Any]:
    """Return the open sessions, the oldest first. Closed ones stay in engineio's table until its next round."""
    # A copy, because other threads change it.
    return [session for session in list(_server(socketio).eio.sockets.values()) if not session.closed]

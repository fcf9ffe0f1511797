"""Flask-SocketIO without what only its clients and its clusters of servers use.

``socketio`` imports Kafka's and Redis' clients and requests wherever they are installed: 15 MB and half a second of
each server's start for nothing.
"""

from __future__ import annotations

from engine.runtime.hidden_packages import hidden_packages

with hidden_packages("kafka", "redis", "requests"):
    from engineio.async_drivers._websocket_wsgi import (  # type: ignore[import-untyped]  # has no types
        SimpleWebSocketWSGI,
    )
    from flask_socketio import Namespace, SocketIO
    from socketio.exceptions import ConnectionRefusedError as SocketConnectionRefused  # type: ignore[import-untyped]
    from socketio.packet import Packet  # type: ignore[import-untyped]

__all__ = ["Namespace", "Packet", "SimpleWebSocketWSGI", "SocketConnectionRefused", "SocketIO"]

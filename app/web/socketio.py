"""Flask-SocketIO without what only its clients and its clusters of servers use.

``socketio`` imports Kafka's and Redis' clients and requests wherever they are installed: 15 MB and half a second of
each server's start for nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_UNUSED = ("kafka", "redis", "requests")


@contextmanager
def _hidden(names: tuple[str, ...]) -> Iterator[None]:
    """Let imports of these packages fail within the block, unless they are loaded already."""
    hidden = [name for name in names if name not in sys.modules]
    # An import of a name that stands for None fails as that of a missing package does.
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


with _hidden(_UNUSED):
    from engineio.async_drivers._websocket_wsgi import (  # type: ignore[import-untyped]  # has no types
        SimpleWebSocketWSGI,
    )
    from flask_socketio import Namespace, SocketIO
    from socketio.exceptions import ConnectionRefusedError as SocketConnectionRefused  # type: ignore[import-untyped]
    from socketio.packet import Packet  # type: ignore[import-untyped]

__all__ = ["Namespace", "Packet", "SimpleWebSocketWSGI", "SocketConnectionRefused", "SocketIO"]

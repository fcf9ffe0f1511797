"""JSON text for the page: fast where possible, and never failing on what a client may have sent.

orjson refuses lone surrogates and integers beyond 64 bits. Both can reach the state from a client's JSON, so the
standard library, which escapes them, takes over in that case.
"""

from __future__ import annotations

import json
from typing import Any

from engine.protocol.json_form import json_library


def dump_json(value: object) -> bytes:
    """Return ``value`` as compact JSON. Raises TypeError for what JSON cannot express."""
    try:
        return json_library.dumps(value)
    except TypeError:
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


class SocketJson:
    """The ``json`` module that python-socketio asks for: two functions with the standard library's names."""

    @staticmethod
    def dumps(value: object, **_options: object) -> str:
        """Return ``value`` as :func:`dump_json` does; the caller's options only request compact output."""
        return dump_json(value).decode()

    @staticmethod
    def loads(text: str | bytes, **_options: object) -> Any:  # JSON from a browser may be anything
        """Parse what a browser sent. Raises ValueError."""
        return json_library.loads(text)

"""Decoding of bytes as Java does it (``new String(bytes, UTF_8)``)."""

from __future__ import annotations

import re
from typing import Final

#: Half of a surrogate pair in three bytes: one wrong character in Java, but one per byte in Python.
_ENCODED_SURROGATE: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")
_REPLACEMENT: Final = "\ufffd".encode()


def java_text(data: bytes) -> str:
    """Decode UTF-8. Invalid bytes become U+FFFD, as many as Java makes of them; no input is refused."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _ENCODED_SURROGATE.sub(_REPLACEMENT, data).decode("utf-8", "replace")

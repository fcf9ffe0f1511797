"""Bytes as text, as Java reads them (``new String(bytes, UTF_8)``)."""

from __future__ import annotations

import re
from typing import Final

#: Half of a surrogate pair in three bytes: to Java one wrong character, to Python as many as it has bytes.
_ENCODED_SURROGATE: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")
_REPLACEMENT: Final = "\ufffd".encode()


def java_text(data: bytes) -> str:
    """Decode UTF-8; what is not UTF-8 becomes U+FFFD, as often as Java counts it. No bytes are refused."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _ENCODED_SURROGATE.sub(_REPLACEMENT, data).decode("utf-8", "replace")

"""Origins of web pages that may embed a stage of the lab in a frame; see :mod:`app.web.framing`."""

from __future__ import annotations

import re

#: The argument of ``glassmq serve --allow-embedding``: a scheme and a host, with or without a port; ``:*`` is any port.
_ORIGIN = re.compile(r"https?://(?:[a-z0-9](?:[a-z0-9.-]{0,250}[a-z0-9])?|\[[0-9a-f:.]{2,45}\])(?::(?:[0-9]{1,5}|\*))?")

#: Pages that the visitor's own machine serves: slides, a notebook.
LOOPBACK_ORIGINS = ("http://localhost:*", "http://127.0.0.1:*")


def origin_of(text: str) -> str | None:
    """Return ``text`` as an origin of web pages, in lower case; None when it is not an origin."""
    origin = text.strip().lower().rstrip("/")
    return origin if _ORIGIN.fullmatch(origin) else None

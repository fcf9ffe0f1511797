"""Which pages may stand in a frame, and whose: nothing may, but a stage of the lab that was asked for with ``?embed``.

Such a page shows worlds of the lab only. Whoever could lure a visitor into clicking on it invisibly would reach no
message and no setting of the live broker.
"""

from __future__ import annotations

import re

from flask import g

#: What ``glassmq serve --allow-embedding`` takes: a scheme and a host, with or without a port; ``:*`` is any port.
_ORIGIN = re.compile(r"https?://(?:[a-z0-9](?:[a-z0-9.-]{0,250}[a-z0-9])?|\[[0-9a-f:.]{2,45}\])(?::(?:[0-9]{1,5}|\*))?")

#: Pages that the visitor's own machine serves: slides, a notebook.
LOOPBACK_ORIGINS = ("http://localhost:*", "http://127.0.0.1:*")


def origin_of(text: str) -> str | None:
    """``text`` as an origin of web pages, in lower case; None when it is none."""
    origin = text.strip().lower().rstrip("/")
    return origin if _ORIGIN.fullmatch(origin) else None


def let_frame(origins: tuple[str, ...]) -> None:
    """The answer to the current request may stand in frames of this server's own pages and of ``origins``."""
    g.frame_ancestors = " ".join(("'self'", *origins))


def let_hold_frames() -> None:
    """The page that answers the current request may hold frames with pages of this server."""
    g.frame_sources = "'self'"


def framing_policy() -> str:
    """The part of the Content-Security-Policy that is about frames."""
    policy = f"frame-ancestors {g.get('frame_ancestors', _NOBODY)}"
    sources = g.get("frame_sources")
    return policy if sources is None else f"{policy}; frame-src {sources}"


def frame_options() -> str | None:
    """``X-Frame-Options``, for browsers that know nothing else; None: it could not say who may."""
    return {_NOBODY: "DENY", "'self'": "SAMEORIGIN"}.get(g.get("frame_ancestors", _NOBODY))


_NOBODY = "'none'"

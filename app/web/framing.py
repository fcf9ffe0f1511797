"""Which pages may stand in a frame, and whose: nothing may, but a stage of the lab that was asked for with ``?embed``.

Such a page shows worlds of the lab only. Whoever could lure a visitor into clicking on it invisibly would reach no
message and no setting of the live broker.
"""

from __future__ import annotations

from flask import g


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

"""Permission to frame pages: only a stage of the lab that was requested with ``?embed``, by the allowed sites.

Such a page shows worlds of the lab only. An attacker who lures a visitor into clicking on it invisibly would reach no
message and no setting of the live broker.
"""

from __future__ import annotations

from flask import g


def let_frame(origins: tuple[str, ...]) -> None:
    """Allow frames with the answer to the current request in this server's own pages and those of ``origins``."""
    g.frame_ancestors = " ".join(("'self'", *origins))


def let_hold_frames() -> None:
    """Allow the page that answers the current request to frame pages of this server."""
    g.frame_sources = "'self'"


def framing_policy() -> str:
    """Return the part of the Content-Security-Policy about frames."""
    policy = f"frame-ancestors {g.get('frame_ancestors', _NOBODY)}"
    sources = g.get("frame_sources")
    return policy if sources is None else f"{policy}; frame-src {sources}"


def frame_options() -> str | None:
    """Return ``X-Frame-Options``, for browsers that know nothing else; None when it cannot express the allowed
    sites.
    """
    return {_NOBODY: "DENY", "'self'": "SAMEORIGIN"}.get(g.get("frame_ancestors", _NOBODY))


_NOBODY = "'none'"

"""Identifies a browser by a random cookie, set by the first page of the lab. It proves only that the browser is the
same as before: a world belongs to the browser that opened it, and its second tab or its reload finds it again.

A page without cookies, as in a frame of another site, is a browser of its own, identified by its connection to
``/lab``: its worlds are found again by their links only. Its requests name that connection in a header.
"""

from __future__ import annotations

import re
import secrets
from http.cookies import CookieError, SimpleCookie

from flask import Response, request

COOKIE = "glassmq_browser"
#: The header of a request with the id of the page's connection, which nobody else knows.
CONNECTION_HEADER = "X-Connection"
_YEAR_S = 365 * 24 * 3600
_IDENTITY = re.compile(r"[A-Za-z0-9_-]{22}")
_CONNECTION = re.compile(r"[A-Za-z0-9_-]{16,64}")


def browser_of_cookies(cookie_header: str) -> str | None:
    """Return the identity in a Cookie header; None when it is missing or malformed."""
    try:
        morsel = SimpleCookie(cookie_header).get(COOKIE)
    except CookieError:
        return None
    return morsel.value if morsel is not None and _IDENTITY.fullmatch(morsel.value) else None


def browser_of_request() -> str | None:
    """Return the identity of the current request's browser."""
    value = request.cookies.get(COOKIE, "")
    return value if _IDENTITY.fullmatch(value) else None


def browser_of_connection(connection_id: str) -> str:
    """Return the identity of a browser without cookies."""
    return f"socket {connection_id}"


def viewer_of_request() -> str | None:
    """Return the identity of the current request's browser, or of its connection where it has no cookie."""
    connection_id = request.headers.get(CONNECTION_HEADER, "")
    by_connection = browser_of_connection(connection_id) if _CONNECTION.fullmatch(connection_id) else None
    return browser_of_request() or by_connection


def remember_browser(response: Response) -> Response:
    """Give the browser of the current request an identity when it has none."""
    if browser_of_request() is None:
        response.set_cookie(
            COOKIE,
            secrets.token_urlsafe(16),
            max_age=_YEAR_S,
            httponly=True,
            samesite="Lax",
            secure=request.is_secure,
        )
    return response

"""Who may talk to the page server: a WSGI gate in front of Flask and Socket.IO alike.

It refuses, in this order: a Host header that is not this server's (a web site that rebinds its DNS name to
127.0.0.1 would otherwise read the broker through the visitor's browser), a request that another web site makes, a
request without the token where one is demanded, and one Socket.IO session or request too many. It never reads a
request's body.
"""

from __future__ import annotations

import hmac
import threading
import time
from collections.abc import Callable, Iterable
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, quote, urlencode

from app.foundation.event_budget import EventBudget
from app.foundation.translator import in_all_languages
from app.web.access_rules import AccessRules

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

#: Socket.IO sessions that may be open at once; each costs threads, even before it watches anything.
SOCKET_SESSIONS_MAX = 64
#: Requests of Socket.IO that may be served at once, WebSockets and waiting polls: the pages keep places of their own.
SOCKET_REQUESTS_MAX = 160
#: New sessions, in the long run and in one burst: engineio keeps a thread for 10 s for each, even if it ends at once.
SOCKET_SESSIONS_PER_SECOND = 10
SOCKET_SESSION_BURST = 2 * SOCKET_SESSIONS_MAX

_SOCKET_PATH = "/socket.io"

_TEXT = [("Content-Type", "text/plain; charset=utf-8"), ("X-Content-Type-Options", "nosniff")]


class AccessGate:
    """A WSGI application that lets requests through to ``inner`` or answers them itself."""

    def __init__(
        self,
        inner: WSGIApplication,
        rules: AccessRules,
        has_room: Callable[[int], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``has_room``: whether there are, or can be made, fewer Socket.IO sessions than so many."""
        self._inner = inner
        self._rules = rules
        self._has_room = has_room
        self._clock = clock
        self._lock = threading.Lock()
        self._new_sessions = EventBudget(SOCKET_SESSIONS_PER_SECOND, SOCKET_SESSION_BURST, clock())
        self._socket_requests = threading.BoundedSemaphore(SOCKET_REQUESTS_MAX)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "/")
        if not self._rules.host_is_allowed(environ.get("HTTP_HOST", "")):
            text = "421: this server does not answer to that Host; see glassmq serve --allowed-host\n"
            return _answer(start_response, "421 Misdirected Request", text)
        if _comes_from_another_site(environ):
            text = "403: requests from other web sites are refused\n"
            return _answer(start_response, "403 Forbidden", text)
        if self._rules.token is not None and path != "/healthz":
            refusal = self._check_token(environ, start_response)
            if refusal is not None:
                return refusal
        if path.startswith(_SOCKET_PATH):
            return self._serve_socket(environ, start_response)
        return self._inner(environ, start_response)

    def _serve_socket(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        is_new = "sid" not in parse_qs(environ.get("QUERY_STRING", ""))
        has_place = self._socket_requests.acquire(blocking=False)
        try:
            if has_place and (not is_new or self._may_begin_session()):
                return self._inner(environ, start_response)
        finally:
            if has_place:
                self._socket_requests.release()
        return _answer(start_response, "503 Service Unavailable", "503: too many pages are connected\n")

    def _may_begin_session(self) -> bool:
        with self._lock:
            return self._new_sessions.take(self._clock()) and self._has_room(SOCKET_SESSIONS_MAX)

    def _check_token(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes] | None:
        """None when the request carries the token; else the answer that was given instead."""
        expected = self._rules.token
        assert expected is not None
        query = parse_qs(environ.get("QUERY_STRING", ""), keep_blank_values=True)
        scheme, _, bearer = environ.get("HTTP_AUTHORIZATION", "").partition(" ")
        if scheme.lower() == "bearer" and _equal(bearer.strip(), expected):
            return None
        if _equal(_cookie(environ, self._rules.cookie_name), expected):
            return None
        if environ.get("REQUEST_METHOD") == "GET" and _equal(query.pop("token", [""])[0], expected):
            # The token goes into a cookie and out of the address, where it would stay in histories and logs.
            rest = urlencode(query, doseq=True)
            # One leading slash only: "//host" would lead to another server.
            path = "/" + quote(environ.get("PATH_INFO", "/").lstrip("/").encode("latin-1"))
            location = path + (f"?{rest}" if rest else "")
            cookie = f"{self._rules.cookie_name}={expected}; Path=/; HttpOnly; SameSite=Lax"
            if environ.get("wsgi.url_scheme") == "https":
                cookie += "; Secure"
            start_response(
                "303 See Other", [*_TEXT, ("Location", location), ("Set-Cookie", cookie), ("Content-Length", "0")]
            )
            return []
        headers = [("WWW-Authenticate", "Bearer")]
        # Nobody has said yet which language they read.
        wanted = "".join(f"{text}\n" for text in in_all_languages("error.token_wanted").values())
        return _answer(start_response, "401 Unauthorized", wanted, headers)


def _comes_from_another_site(environ: WSGIEnvironment) -> bool:
    """Whether a page of another site makes this request; a link that leads here from it is fine.

    Browsers name the origin with whatever may change something and with every WebSocket, but not when a page only
    embeds an address. Then ``Sec-Fetch-Site`` tells (another port of this host is "same-site"), where the address is
    loopback or https. Over plain HTTP browsers send neither: there the token's cookie, which is SameSite, is missing.
    """
    origin = environ.get("HTTP_ORIGIN")
    if origin is not None:
        return bool(origin != f"{environ.get('wsgi.url_scheme', 'http')}://{environ.get('HTTP_HOST', '')}")
    if environ.get("HTTP_SEC_FETCH_SITE", "none") in ("same-origin", "none"):
        return False
    is_page = not environ.get("PATH_INFO", "/").startswith(("/api/", _SOCKET_PATH))
    wanted_for = environ.get("HTTP_SEC_FETCH_DEST")
    # Whose frames may show it is said in the answer: browsers keep to that.
    is_framed = wanted_for == "iframe" and environ.get("PATH_INFO", "/").startswith("/lab/")
    is_link = environ.get("HTTP_SEC_FETCH_MODE") == "navigate" and (wanted_for == "document" or is_framed)
    return not (environ["REQUEST_METHOD"] == "GET" and is_page and is_link)


def _equal(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode("utf-8", "replace"))


def _cookie(environ: WSGIEnvironment, name: str) -> str:
    try:
        morsel = SimpleCookie(environ.get("HTTP_COOKIE", "")).get(name)
    except CookieError:
        return ""
    return "" if morsel is None else morsel.value


def _answer(
    start_response: StartResponse, status: str, text: str, headers: Iterable[tuple[str, str]] = ()
) -> Iterable[bytes]:
    body = text.encode()
    start_response(status, [*_TEXT, *headers, ("Content-Length", str(len(body)))])
    return [body]

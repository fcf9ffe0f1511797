"""Access control of the page server: a WSGI gate before both Flask and Socket.IO.

It refuses, in this order: a Host header that is not this server's (a web site that rebinds its DNS name to 127.0.0.1
would otherwise read the broker through the visitor's browser), a request that another web site makes, a request without
the token where one is required, and one Socket.IO session or request too many. It never reads a request's body.

An address that sends wrong tokens is slowed: then its tokens are not checked. A browser that had the token once has a
second cookie, which cannot be guessed and which still counts: others that share its address do not lock it out.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import threading
import time
from collections.abc import Callable, Iterable
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, urlencode

from app.foundation.event_budget import EventBudget
from app.foundation.translator import in_all_languages
from app.web.access_rules import PageAccessRules
from engine.acl.guess_limit import GuessLimit

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

#: Socket.IO sessions that may be open at a time; each costs threads, even before it watches anything.
SOCKET_SESSIONS_MAX = 64
#: Requests of Socket.IO that may be served at a time, WebSockets and waiting polls: the pages keep places of their own.
SOCKET_REQUESTS_MAX = 160
#: New sessions per second, in the long run and in one burst: engineio keeps a thread for 10 s for each, even if it ends
#: immediately.
SOCKET_SESSIONS_PER_SECOND = 10
SOCKET_SESSION_BURST = 2 * SOCKET_SESSIONS_MAX

_SOCKET_PATH = "/socket.io"

_TEXT = [("Content-Type", "text/plain; charset=utf-8"), ("X-Content-Type-Options", "nosniff")]


class AccessGate:
    """A WSGI application that lets requests through to ``inner`` or answers them itself."""

    def __init__(
        self,
        inner: WSGIApplication,
        rules: PageAccessRules,
        has_room: Callable[[int], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make the gate. ``has_room``: whether fewer Socket.IO sessions than the given number are open, or can be made
        to be.
        """
        self._inner = inner
        self._rules = rules
        self._has_room = has_room
        self._clock = clock
        self._lock = threading.Lock()
        self._wrong_tokens = GuessLimit()
        self._session = secrets.token_hex()
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
        if self._rules.token is not None and path != "/healthz" and not self._has_session(environ):
            refusal = self._check_token(environ, start_response)
            if refusal is not None:
                return refusal
            if _cookie(environ, self._rules.cookie_name):
                start_response = self._giving_session(environ, start_response)
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

    def _has_session(self, environ: WSGIEnvironment) -> bool:
        return _equal(_cookie(environ, self._session_cookie_name), self._session)

    @property
    def _session_cookie_name(self) -> str:
        return f"{self._rules.cookie_name}_session"

    def _giving_session(self, environ: WSGIEnvironment, start_response: StartResponse) -> StartResponse:
        cookie = _set_cookie(environ, self._session_cookie_name, self._session)

        def give(status: str, headers: list[tuple[str, str]], *error: Any) -> Callable[[bytes], object]:
            return start_response(status, [*headers, cookie], *error)

        return give

    def _check_token(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes] | None:
        """Return None when the request carries the token; else the answer that was given instead."""
        expected = self._rules.token
        assert expected is not None
        query = parse_qs(environ.get("QUERY_STRING", ""), keep_blank_values=True)
        scheme, _, bearer = environ.get("HTTP_AUTHORIZATION", "").partition(" ")
        in_query = query.pop("token", [""])[0] if environ.get("REQUEST_METHOD") == "GET" else ""
        sent = [bearer.strip() if scheme.lower() == "bearer" else "", _cookie(environ, self._rules.cookie_name)]
        tried = sum(bool(token) for token in (*sent, in_query))
        address = _network_of(environ.get("REMOTE_ADDR", ""))
        with self._lock:
            if tried and self._wrong_tokens.is_slowed(address, self._clock()):
                return _refuse_token(start_response, "429 Too Many Requests", "error.wrong_tokens", "Retry-After", "1")
            is_sent = any(_equal(token, expected) for token in sent)
            is_in_query = _equal(in_query, expected)
            if tried and not (is_sent or is_in_query):
                self._wrong_tokens.was_wrong(address, self._clock(), tried)
        if is_sent:
            return None
        if is_in_query:
            # Move the token from the address, which histories and logs would keep, to a cookie.
            rest = urlencode(query, doseq=True)
            # One leading slash only: "//host" would lead to another server.
            path = "/" + quote(environ.get("PATH_INFO", "/").lstrip("/").encode("latin-1"))
            location = path + (f"?{rest}" if rest else "")
            cookies = [
                _set_cookie(environ, self._rules.cookie_name, expected),
                _set_cookie(environ, self._session_cookie_name, self._session),
            ]
            start_response("303 See Other", [*_TEXT, ("Location", location), *cookies, ("Content-Length", "0")])
            return []
        return _refuse_token(start_response, "401 Unauthorized", "error.token_wanted", "WWW-Authenticate", "Bearer")


def _refuse_token(start_response: StartResponse, status: str, text: str, *header: str) -> Iterable[bytes]:
    name, value = header
    # Their language is not known yet.
    why = "".join(f"{text}\n" for text in in_all_languages(text).values())
    return _answer(start_response, status, why, [(name, value)])


def _network_of(address: str) -> str:
    """Return the network of an address: an IPv6 user owns all 2^64 addresses next to theirs."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((ip, 64), strict=False)) if ip.version == 6 else address


def _set_cookie(environ: WSGIEnvironment, name: str, value: str) -> tuple[str, str]:
    cookie = f"{name}={value}; Path=/; HttpOnly; SameSite=Lax"
    return "Set-Cookie", cookie + ("; Secure" if environ.get("wsgi.url_scheme") == "https" else "")


def _comes_from_another_site(environ: WSGIEnvironment) -> bool:
    """Return whether a page of another site makes this request; a link from it to here is fine.

    Browsers send the origin with every request that may change something and with every WebSocket, but not when a page
    only embeds an address. Then ``Sec-Fetch-Site`` shows it (another port of this host is "same-site"), where the
    address is loopback or https. Over plain HTTP browsers send neither: there the token's cookie, which is SameSite, is
    missing.
    """
    origin = environ.get("HTTP_ORIGIN")
    if origin is not None:
        return bool(origin != f"{environ.get('wsgi.url_scheme', 'http')}://{environ.get('HTTP_HOST', '')}")
    if environ.get("HTTP_SEC_FETCH_SITE", "none") in ("same-origin", "none"):
        return False
    is_page = not environ.get("PATH_INFO", "/").startswith(("/api/", _SOCKET_PATH))
    wanted_for = environ.get("HTTP_SEC_FETCH_DEST")
    # The answer's headers name the sites that may frame it, and browsers obey.
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

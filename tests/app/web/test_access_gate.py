"""Who may talk to the page server."""

import pytest

from app.web.access_gate import (
    SOCKET_REQUESTS_MAX,
    SOCKET_SESSION_BURST,
    SOCKET_SESSIONS_PER_SECOND,
    AccessGate,
)
from app.web.access_rules import PageAccessRules, host_name, is_loopback
from app.web_application import WebSettings, create_app
from engine.acl.guess_limit import WRONG_AT_ONCE
from tests.support.live.fixture_server import FixtureSource

TOKEN = "a-token-of-some-length"


def client_for(**rules):
    server = create_app(FixtureSource(0), WebSettings(access=PageAccessRules(port=8000, **rules)))
    return server.app.test_client()


def recorder(seen):
    """A WSGI ``start_response`` that notes the status and the headers."""

    def start_response(line, headers, _error=None, /):
        seen.update(headers, status=line)
        return lambda _data: None

    return start_response


def status(client, path="/healthz", **headers):
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.get(path, headers={"Host": "127.0.0.1:8000", **headers}).status_code


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:8000", "LOCALHOST", "[::1]:8000", "127.8.9.1"])
def test_a_loopback_host_is_answered(host):
    assert status(client_for(), Host=host) == 200


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example:8000", "localhost.evil.example", "192.168.1.5:8000", "", "1.2.3", "0.0.0.0.nip.io"),
        *("127.0.0.1:8000@evil.example", "127.0.0.1:8000,evil.example", "localhost:8000.evil", "[::1]evil", "[::1]:a"),
    ],
)
@pytest.mark.parametrize("path", ["/healthz", "/live", "/api/live/state", "/socket.io/?EIO=4&transport=polling"])
def test_a_host_that_is_not_this_server_is_refused_everywhere(host, path):
    assert status(client_for(), path, Host=host) == 421


def test_a_host_name_that_was_allowed_is_answered():
    assert status(client_for(allowed_hosts=("broker.lan",)), Host="Broker.LAN:8000") == 200


def test_a_server_beyond_loopback_answers_to_addresses_but_not_to_names():
    client = client_for(listen_host="0.0.0.0", token=TOKEN)
    assert status(client, Host="192.168.1.5:8000") == 200
    assert status(client, Host="evil.example") == 421


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:8000", "http://127.0.0.1:9000"])
@pytest.mark.parametrize("path", ["/api/live/state", "/socket.io/?EIO=4&transport=polling"])
def test_a_request_from_another_origin_is_refused(origin, path):
    assert status(client_for(), path, Origin=origin) == 403


def test_a_request_from_the_own_origin_is_answered():
    assert status(client_for(), "/socket.io/?EIO=4&transport=polling", Origin="http://127.0.0.1:8000") == 200


def fetched(site, mode="no-cors", dest="image"):
    """What browsers say about a request without an Origin."""
    return {"Sec_Fetch_Site": site, "Sec_Fetch_Mode": mode, "Sec_Fetch_Dest": dest}


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize(
    "path", ["/api/live/state", "/socket.io/?EIO=4&transport=polling", "/tutorials", "/static/x.js"]
)
def test_what_another_site_embeds_is_refused(site, path):
    assert status(client_for(), path, **fetched(site)) == 403
    assert status(client_for(), path, **fetched(site, "navigate", "iframe")) == 403


def test_a_link_of_another_site_leads_to_a_page_and_to_nothing_else():
    link = fetched("cross-site", "navigate", "document")
    assert status(client_for(), "/live", **link) == 200
    assert status(client_for(), "/api/live/state", **link) == 403
    assert status(client_for(), "/socket.io/?EIO=4&transport=polling", **link) == 403


@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_the_own_page_and_a_typed_address_are_answered(site):
    assert status(client_for(), "/socket.io/?EIO=4&transport=polling", **fetched(site, "cors", "empty")) == 200


@pytest.mark.parametrize(
    "path", ["/", "/live", "/static/x.js", "/api/live/state", "/socket.io/?EIO=4&transport=polling", "/nowhere"]
)
def test_without_the_token_nothing_is_answered(path):
    response = client_for(token=TOKEN).get(path, headers={"Host": "127.0.0.1:8000"})
    assert response.status_code == 401
    assert "?token=" in response.text
    assert "令牌" in response.text


def test_health_needs_no_token():
    assert status(client_for(token=TOKEN)) == 200


@pytest.mark.parametrize("header", ["Bearer wrong", f"Basic {TOKEN}", TOKEN, "Bearer", f"Bearer {TOKEN}x", "Bearer é"])
def test_a_wrong_token_is_refused(header):
    assert status(client_for(token=TOKEN), "/api/live/state", Authorization=header) == 401
    assert status(client_for(token=TOKEN), "/api/live/state", Cookie=f"glassmq_token_8000={header}") == 401


def test_a_script_sends_the_token_in_a_header():
    assert status(client_for(token=TOKEN), "/api/live/state", Authorization=f"Bearer {TOKEN}") == 200


def test_the_token_in_the_address_moves_into_a_cookie_and_out_of_the_address():
    client = client_for(token=TOKEN)
    response = client.get(f"/api/live/state?token={TOKEN}", headers={"Host": "127.0.0.1:8000"})
    assert response.status_code == 303
    assert response.headers["Location"] == "/api/live/state"
    cookie = response.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert status(client, "/api/live/state", Cookie=cookie.partition(";")[0]) == 200


@pytest.mark.parametrize(
    ("path", "location"),
    [
        ("//evil.example/", "/evil.example/"),
        ("/\\evil.example", "/%5Cevil.example"),
        ("/a%0d%0aX: y", "/a%0D%0AX%3A%20y"),
        ("/live?lang=zh&a=%26", "/live?lang=zh&a=%26"),
    ],
)
def test_the_redirect_never_leaves_this_server(path, location):
    seen: dict[str, str] = {}
    gate = AccessGate(lambda *_: [], PageAccessRules(port=8000, token=TOKEN), lambda _limit: True)
    raw_path, _, query = path.partition("?")
    environ = {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": raw_path.replace("%0d", "\r").replace("%0a", "\n"),
        "QUERY_STRING": f"{query}&token={TOKEN}",
        "HTTP_HOST": "127.0.0.1:8000",
        "wsgi.url_scheme": "http",
    }
    gate(environ, recorder(seen))
    assert seen["Location"] == location


class GuardedGate:
    """A gate with a token, and a clock that the test moves."""

    def __init__(self) -> None:
        self.now = 100.0
        rules = PageAccessRules(port=8000, token=TOKEN)
        self._gate = AccessGate(self._page, rules, lambda _limit: True, lambda: self.now)

    def _page(self, _environ, start_response):
        start_response("200 OK", [])
        return []

    def ask(self, address="10.0.0.1", cookie="", bearer="", query=""):
        """Status and cookies of the answer."""
        seen: list[tuple[str, str]] = []

        def start_response(line, headers, _error=None, /):
            seen.extend([("status", line.partition(" ")[0]), *headers])
            return lambda _data: None

        environ = {"PATH_INFO": "/live", "REQUEST_METHOD": "GET", "HTTP_HOST": "127.0.0.1", "REMOTE_ADDR": address}
        environ |= {"HTTP_COOKIE": cookie, "QUERY_STRING": query, "wsgi.url_scheme": "http"}
        self._gate(environ | ({"HTTP_AUTHORIZATION": f"Bearer {bearer}"} if bearer else {}), start_response)
        cookies = [value.partition(";")[0] for name, value in seen if name == "Set-Cookie"]
        return int(dict(seen)["status"]), "; ".join(cookies)


@pytest.mark.parametrize("kind", ["bearer", "cookie", "query"])
def test_an_address_that_guesses_tokens_is_slowed_whatever_it_sends_then(kind):
    gate = GuardedGate()

    def guess(token, address="10.0.0.1"):
        form = {"bearer": "{}", "cookie": "glassmq_token_8000={}", "query": "token={}"}[kind]
        return gate.ask(address, **{kind: form.format(token)})[0]

    codes = [guess(f"wrong-{number}") for number in range(800)]
    assert codes == [401] * WRONG_AT_ONCE + [429] * (800 - WRONG_AT_ONCE)
    assert guess(TOKEN) == 429
    assert guess(TOKEN, "10.0.0.2") in (200, 303)
    assert gate.ask()[0] == 401  # no token, no guess
    gate.now += 1.0
    assert guess(TOKEN) in (200, 303)


def test_three_tokens_in_one_request_are_three_guesses():
    gate = GuardedGate()
    codes = [gate.ask(bearer="a", cookie="glassmq_token_8000=b", query="token=c")[0] for _ in range(6)]
    assert codes == [401] * 4 + [429] * 2


def test_whoever_had_the_token_is_not_locked_out_by_others_behind_the_same_address():
    gate = GuardedGate()
    code, cookies = gate.ask(query=f"token={TOKEN}")
    assert code == 303
    code, session = gate.ask(cookie=f"glassmq_token_8000={TOKEN}")  # as after a restart of the server
    assert code == 200
    for number in range(100):
        gate.ask(bearer=f"wrong-{number}")
    assert gate.ask(cookie=f"glassmq_token_8000={TOKEN}")[0] == 429
    assert gate.ask(cookie=session)[0] == gate.ask(cookie=cookies)[0] == 200
    assert gate.ask(cookie="glassmq_token_8000_session=guess")[0] == 401


def test_addresses_of_one_ipv6_network_count_as_one():
    gate = GuardedGate()
    codes = [gate.ask(f"2001:db8::{number:x}", bearer="wrong")[0] for number in range(30)]
    assert codes.count(401) == WRONG_AT_ONCE
    assert gate.ask("2001:db8:0:1::1", bearer="wrong")[0] == 401


SOCKET_REQUEST = {"PATH_INFO": "/socket.io/", "HTTP_HOST": "127.0.0.1", "QUERY_STRING": "EIO=4&transport=polling"}


def test_a_further_socket_session_is_refused_when_too_many_are_open():
    seen: dict[str, str] = {}
    gate = AccessGate(lambda *_: [b"through"], PageAccessRules(), lambda _limit: False)
    gate(SOCKET_REQUEST, recorder(seen))
    assert seen["status"] == "503 Service Unavailable"
    assert gate({**SOCKET_REQUEST, "QUERY_STRING": "EIO=4&transport=polling&sid=x"}, recorder({})) == [b"through"]


def test_a_storm_of_new_sessions_is_held_back_and_sessions_that_are_there_go_on():
    now = [0.0]
    gate = AccessGate(lambda *_: [b"through"], PageAccessRules(), lambda _limit: True, lambda: now[0])

    def begun(attempts):
        return sum(gate(SOCKET_REQUEST, recorder({})) == [b"through"] for _ in range(attempts))

    assert begun(2 * SOCKET_SESSION_BURST) == SOCKET_SESSION_BURST
    assert gate({**SOCKET_REQUEST, "QUERY_STRING": "sid=x"}, recorder({})) == [b"through"]
    now[0] = 1.0
    assert begun(2 * SOCKET_SESSION_BURST) == SOCKET_SESSIONS_PER_SECOND


def test_requests_of_sockets_leave_room_for_the_pages():
    """Each of them asks for one more, as a browser does whose polls all wait."""
    seen: dict[str, str] = {}
    served: list[str] = []
    waiting = {**SOCKET_REQUEST, "QUERY_STRING": "EIO=4&transport=polling&sid=x"}

    def inner(environ, _start_response):
        served.append(environ["PATH_INFO"])
        return gate(waiting, recorder(seen)) if environ["PATH_INFO"].startswith("/socket.io") else [b"page"]

    gate = AccessGate(inner, PageAccessRules(), lambda _limit: True)
    gate(waiting, recorder({}))
    assert (len(served), seen["status"]) == (SOCKET_REQUESTS_MAX, "503 Service Unavailable")
    assert gate({**waiting, "PATH_INFO": "/live"}, recorder({})) == [b"page"]
    gate(waiting, recorder({}))
    assert len(served) == 2 * SOCKET_REQUESTS_MAX + 1


@pytest.mark.parametrize(
    ("header", "name"),
    [("A:1", "a"), ("[::1]:8000", "::1"), ("::1", "::1"), ("a.b", "a.b"), (" x ", "x"), ("a:b:c", "a:b:c")],
)
def test_the_name_in_a_host_header(header, name):
    assert host_name(header) == name


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False), ("broker", False)],
)
def test_loopback_is_recognised(host, expected):
    assert is_loopback(host) is expected

"""The HTTP server under the page: whatever arrives, it answers or closes, and goes on without a word on stderr."""

import contextlib
import json
import random
import select
import socket
import urllib.error
import urllib.request

import pytest

from app.foundation.half_open import HALF_OPEN_PER_ADDRESS_MAX
from app.web.page_listener import CONNECTIONS_MAX, PageListener
from app.web.page_socket import bind_page_socket
from tests.support.live.glass_process import GlassProcess
from tests.support.waiting import wait_until

SOCKET = "/socket.io/?EIO=4&transport=polling"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with GlassProcess(tmp_path_factory.mktemp("data"), page=True) as server:
        yield server
        assert server.stop() == 0
        assert "Traceback" not in server.errors


def page_address(server):
    return server.addresses["page"].split("/")[2]


def connect(server):
    host, _, port = page_address(server).rpartition(":")
    return socket.create_connection((host, int(port)), timeout=60)


def is_healthy(server):
    try:
        with urllib.request.urlopen(f"http://{page_address(server)}/healthz", timeout=60) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def exchange(server, data):
    with connect(server) as connection:
        connection.sendall(data)
        return connection.recv(200)


def request(server, line, *headers, body=b""):
    host = f"Host: {page_address(server)}".encode()
    return exchange(server, b"\r\n".join([line, host, *headers, b"", body]))


@pytest.mark.parametrize("path", ["/healthz", "/static/favicon.svg"])
def test_an_answer_says_its_date_once(server, path):
    with urllib.request.urlopen(f"http://{page_address(server)}{path}", timeout=60) as answer:
        assert len(answer.headers.get_all("Date")) == 1


@pytest.mark.parametrize(
    ("line", "headers", "status"),
    [
        (b"GET / HTTP/1.1", [b"X: " + b"y" * 70_000], b"431"),
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1", [], b"414"),
        (b"FOO /live HTTP/1.1", [], b"405"),
        (b"PUT /api/live/state HTTP/1.1", [b"Content-Length: 0"], b"405"),
        (b"GET http://evil.example/live HTTP/1.1", [], b"421"),
        (b"GET /static/../app/web_application.py HTTP/1.1", [], b"404"),
        (b"GET /static/%2e%2e/app/web_application.py HTTP/1.1", [], b"404"),
        (b"GET /lessons/../../pyproject.toml HTTP/1.1", [], b"404"),
        (b"GET /live%00 HTTP/1.1", [], b"404"),
        (b"GET /api/messages?topic=%ff&key=%00 HTTP/1.1", [], b"200"),
        (b"GET /socket.io/?EIO=99&transport=polling HTTP/1.1", [], b"400"),
        (b"GET /socket.io/?EIO=4&transport=websocket HTTP/1.1", [], b"400"),
        (
            b"GET /socket.io/?EIO=4&transport=websocket HTTP/1.1",
            [b"Connection: upgrade", b"Upgrade: websocket"],
            b"400",
        ),
        (b"POST /socket.io/?EIO=4&transport=polling HTTP/1.1", [b"Content-Length: abc"], b"400"),
        (b"POST /socket.io/?EIO=4&transport=polling&sid=x HTTP/1.1", [b"Content-Length: 99999999999"], b"400"),
    ],
)
def test_an_odd_request_gets_its_status(server, line, headers, status):
    assert request(server, line, *headers).split()[1] == status
    assert is_healthy(server)


@pytest.mark.parametrize(
    "data", [b"\r\n\r\n", b"\x00\xff" * 200 + b"\r\n\r\n", b"GET\r\n\r\n", b"\x16\x03\x01\x02\x00\x01"]
)
def test_what_is_no_request_is_closed(server, data):
    with connect(server) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(4096):
            pass
    assert is_healthy(server)


def test_random_bytes_and_broken_connections_leave_the_server_as_it_was(server):
    randomness = random.Random(1)
    for _ in range(200):
        with contextlib.suppress(OSError), connect(server) as connection:
            connection.sendall(randomness.randbytes(randomness.randrange(1, 300)))
    assert is_healthy(server)


def open_session(server):
    """The address of a Socket.IO session that polls."""
    with urllib.request.urlopen(f"http://{page_address(server)}{SOCKET}", timeout=60) as answer:
        return f"{SOCKET}&sid={json.loads(answer.read()[1:])['sid']}"


def half_open(server, data=b""):
    connection = connect(server)
    connection.sendall(data)
    return connection


@pytest.mark.parametrize("data", [b"", b"GET /live HTTP/1.1\r\nHost: ", b"POST /api/lab/import HTTP/1.1\r\nX"])
def test_half_open_connections_keep_nobody_out(server, data):
    with contextlib.ExitStack() as still_open:
        for _ in range(2 * CONNECTIONS_MAX):
            still_open.enter_context(half_open(server, data))
        assert is_healthy(server)


def test_a_slow_body_makes_room_as_a_slow_head_does(server):
    head = f"POST /api/lab/import HTTP/1.1\r\nHost: {page_address(server)}\r\nContent-Length: 50000\r\n\r\n".encode()
    with contextlib.ExitStack() as still_open:
        slow = still_open.enter_context(half_open(server, head + b'{"format"'))
        for _ in range(2 * HALF_OPEN_PER_ADDRESS_MAX):
            still_open.enter_context(half_open(server))
        answer = slow.recv(4096)
        assert not answer or b" 400 " in answer.split(b"\r\n")[0]
        assert is_healthy(server)


def test_a_connection_that_is_served_outlives_a_flood_of_half_open_ones(server):
    session = open_session(server)
    with contextlib.ExitStack() as still_open:
        waiting = still_open.enter_context(half_open(server))
        waiting.sendall(f"GET {session} HTTP/1.1\r\nHost: {page_address(server)}\r\n\r\n".encode())
        for _ in range(2 * CONNECTIONS_MAX):
            still_open.enter_context(half_open(server))
        urllib.request.urlopen(f"http://{page_address(server)}{session}", b"40/live,", timeout=60).close()
        assert waiting.recv(12) == b"HTTP/1.1 200"


def test_an_endless_body_is_not_read_to_its_end(server):
    """The rest of what was refused is thrown away for a while, so that the client sees the answer."""
    head = f"POST /api/lab/import HTTP/1.1\r\nHost: {page_address(server)}\r\nContent-Length: 999999999\r\n\r\n"
    with half_open(server, head.encode()) as endless, contextlib.ExitStack() as still_open:
        assert endless.recv(4096).split()[1] in (b"400", b"413")
        for _ in range(2 * HALF_OPEN_PER_ADDRESS_MAX):
            still_open.enter_context(half_open(server))
        # Cut while its receive window was full, Linux tells the sender nothing for a while: it only takes no more.
        endless.settimeout(20)
        with pytest.raises((ConnectionError, TimeoutError)):
            send_until_cut(endless)


def send_until_cut(connection):
    for _ in range(10_000):
        connection.sendall(bytes(100_000))


def test_a_connection_without_a_thread_gives_its_place_back(monkeypatch):
    def refuse(*_):
        raise RuntimeError("can't start new thread")

    listener = PageListener(bind_page_socket("127.0.0.1", 0), lambda *_: [])
    monkeypatch.setattr("threading.Thread.start", refuse)
    with contextlib.closing(listener.socket):
        for _ in range(CONNECTIONS_MAX + 1):
            ours, theirs = socket.socketpair()
            with ours, theirs, pytest.raises(RuntimeError):
                listener.process_request(theirs, ("127.0.0.1", 1))


def test_connections_beyond_the_bound_are_closed_and_room_comes_back(server):
    still_open = [connect(server) for _ in range(CONNECTIONS_MAX + 50)]
    # Nothing is sent to them: one that can be read was closed. Which ones depends on what the tests before left open.
    while len(still_open) > CONNECTIONS_MAX:
        closed, _, _ = select.select(still_open, [], [], 60)
        assert closed, f"{len(still_open)} connections are open"
        for connection in closed:
            with contextlib.suppress(ConnectionError):
                assert connection.recv(1) == b""
            still_open.remove(connection)
            connection.close()
    for connection in still_open:
        connection.close()
    wait_until(lambda: is_healthy(server), "a server that accepts connections again")

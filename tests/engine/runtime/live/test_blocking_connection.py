"""The connection for processes without an event loop, against real sockets."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager

import pytest

from engine.runtime.live.blocking_connection import BlockingConnection, ConnectionLost, split_address
from engine.runtime.live.live_tls import ClientTls, ServerTls, TlsMode, TlsUnusable
from engine.runtime.port import ConnectFailed
from tests.support.live.certificates import make_certificates


@contextmanager
def peer(serve, tls=None):
    """A server that lets ``serve`` handle one connection in a thread; gives its address."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def run():
            plain, _ = listener.accept()
            try:
                with plain if tls is None else tls.wrap_socket(plain, server_side=True) as connection:
                    serve(connection)
            except OSError:
                pass

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.close()
        thread.join(10)


def echo(connection):
    while data := connection.recv(1 << 20):
        connection.sendall(data)


def connect(address, tls=None):
    return BlockingConnection(address, connect_timeout_ms=5_000, tls=tls)


def framed(content):
    return len(content).to_bytes(4, "big") + content


def test_frames_go_and_come_whole_and_in_order():
    contents = [b"1234", b"x" * 3_000_000, b"five!"]
    with peer(echo) as address, connect(address) as connection:
        for content in contents:
            connection.send_frame(framed(content), 5_000)
            assert connection.receive_frame(5_000) == content
        connection.send_frame(framed(b"1234") + framed(b"5678"), 5_000)
        assert [connection.receive_frame(5_000) for _ in range(2)] == [b"1234", b"5678"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"", "closed the connection"),
        (b"\0\0", "closed the connection"),
        (framed(b"123456")[:-1], "closed the connection within a frame"),
        (b"\x7f\0\0\0....", "sent a frame length of 2130706432; allowed: 4 to 16777216 bytes"),
        (b"\0\0\0\1x", "sent a frame length of 1"),
    ],
)
def test_what_is_no_frame_ends_the_connection(answer, said):
    def serve(connection):
        connection.recv(100)
        connection.sendall(answer)

    with peer(serve) as address, connect(address) as connection:
        connection.send_frame(framed(b"1234"), 5_000)
        with pytest.raises(ConnectionLost, match=said):
            connection.receive_frame(5_000)
        assert not connection.is_open
        with pytest.raises(ConnectionLost):
            connection.receive_frame(5_000)
        with pytest.raises(ConnectionLost):
            connection.send_frame(framed(b"1234"), 5_000)


def test_silence_ends_with_the_timeout():
    with peer(lambda connection: connection.recv(100)) as address, connect(address) as connection:
        with pytest.raises(ConnectionLost, match="no answer in time"):
            connection.receive_frame(10)
        assert not connection.is_open


def test_an_address_where_nobody_listens_is_named():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
    with pytest.raises(ConnectFailed, match=f"cannot connect to {address}: Connection refused"):
        connect(address)


@pytest.mark.parametrize("text", ["", "host", ":1", "host:", "host:0", "host:65536", "host:x", "host:-1"])
def test_what_is_no_address_is_refused(text):
    with pytest.raises(ConnectFailed, match="write host:port"):
        split_address(text)


@pytest.mark.parametrize("host", ["a" * 70, "a..b", ".a"])
def test_a_name_that_no_host_can_have_is_an_address_where_nobody_listens(host):
    with pytest.raises(ConnectFailed, match="cannot connect to"):
        connect(f"{host}:9876")


def test_an_ipv6_address_stands_in_brackets():
    assert split_address("[::1]:9876") == ("::1", 9876)


def test_tls_believes_the_issuer_that_it_was_given_and_no_other(tmp_path):
    certificates = make_certificates(tmp_path)
    server = ServerTls(TlsMode.ENFORCING, certificates.certificate, certificates.key).context()
    with peer(echo, server) as address, connect(address, ClientTls(ca=certificates.ca)) as connection:
        connection.send_frame(framed(b"secret"), 5_000)
        assert connection.receive_frame(5_000) == b"secret"
    with peer(echo, server) as address, pytest.raises(ConnectFailed, match="no encrypted connection to"):
        connect(address, ClientTls(ca=certificates.strangers_ca))
    with pytest.raises(TlsUnusable, match=r"nowhere\.pem"):
        connect(address, ClientTls(ca=tmp_path / "nowhere.pem"))

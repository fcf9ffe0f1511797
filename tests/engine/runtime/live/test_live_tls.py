"""TLS over real sockets, on asyncio's loop and on uvloop's."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import socket
import ssl
from pathlib import Path
from typing import Any

import pytest
import uvloop
from cryptography.hazmat.primitives import serialization

from engine.runtime.connection_limits import UNSENT_SHARE_MAX_BYTES
from engine.runtime.live import live_tls_listener
from engine.runtime.live.live_network import LiveListener, LiveNetwork
from engine.runtime.live.live_tls import ClientTls, ServerTls, TlsMode, TlsUnusable, own_client_tls
from engine.runtime.port import AddressInUse, ConnectFailed
from tests.support.lab.runtime_handlers import CollectingHandler, EchoHandler, frame_of
from tests.support.live.certificates import Certificates, make_certificates

TIMEOUT_MS = 10_000
LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(params=LOOPS)
def run(request):
    """Run a coroutine on one of the two loops."""

    def run_on_loop(coroutine):
        with asyncio.Runner(loop_factory=LOOPS[request.param]) as runner:
            return runner.run(coroutine)

    return run_on_loop


def server_tls(certificates: Certificates, mode: TlsMode, client_ca: Path | None = None) -> ServerTls:
    return ServerTls(mode, certificates.certificate, certificates.key, client_ca)


async def echo(server: ServerTls, *clients: ClientTls | None, frame: bytes = b"12345678 hello"):
    """What each of ``clients`` gets back from an echo server: its frame, or the text of its failure."""
    accepting = LiveNetwork(server_tls=server)
    listener = await accepting.listen("127.0.0.1", 0, EchoHandler)
    answers: list[bytes | str] = []
    for client in clients:
        network, handler = LiveNetwork(client_tls=client), CollectingHandler()
        try:
            connection = await network.connect(listener.address, handler, TIMEOUT_MS)
            connection.send_frame(frame_of(frame))
            await handler.wait_until(lambda seen: seen.frames or seen.lost_reasons)
            answers.append(handler.frames[0] if handler.frames else handler.lost_reasons[0])
        except ConnectFailed as failure:
            answers.append(str(failure))
        await network.close()
    await accepting.close()
    return answers


def test_a_permissive_server_serves_encrypted_and_plain_connections(run, certificates: Certificates) -> None:
    believing = ClientTls(ca=certificates.ca)
    answers = run(echo(server_tls(certificates, TlsMode.PERMISSIVE), believing, None, believing))
    assert answers == [b"12345678 hello"] * 3


def test_an_enforcing_server_closes_plain_connections_and_says_why(
    run, certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    answers = run(echo(server_tls(certificates, TlsMode.ENFORCING), ClientTls(ca=certificates.ca), None))
    assert answers[0] == b"12345678 hello" and isinstance(answers[1], str)
    assert [record for record in caplog.records if "does not speak TLS" in record.getMessage()]


def test_what_travels_is_encrypted(run, certificates: Certificates) -> None:
    async def listen_in() -> bytes:
        seen = bytearray()
        accepting = LiveNetwork(server_tls=server_tls(certificates, TlsMode.ENFORCING))
        listener = await accepting.listen("127.0.0.1", 0, EchoHandler)
        host, _, port = listener.address.rpartition(":")

        async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while data := await reader.read(65_536):
                seen.extend(data)
                writer.write(data)
            writer.close()

        async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            far_reader, far_writer = await asyncio.open_connection(host, int(port))
            await asyncio.gather(copy(reader, far_writer), copy(far_reader, writer))

        between = await asyncio.start_server(relay, "127.0.0.1", 0)
        network, handler = LiveNetwork(client_tls=ClientTls(ca=certificates.ca)), CollectingHandler()
        address = f"127.0.0.1:{between.sockets[0].getsockname()[1]}"
        connection = await network.connect(address, handler, TIMEOUT_MS)
        connection.send_frame(frame_of(b"the secret of the firm"))
        await handler.wait_until(lambda heard: heard.frames)
        assert handler.frames == [b"the secret of the firm"]
        await network.close()
        await accepting.close()
        between.close()
        return bytes(seen)

    seen = run(listen_in())
    assert len(seen) > 500 and b"secret" not in seen


@pytest.mark.parametrize(
    ("client", "words"),
    [
        (lambda own: ClientTls(ca=own.strangers_ca), "certificate verify failed"),
        (lambda own: ClientTls(), "certificate verify failed"),
        (lambda own: ClientTls(ca=own.client_certificate), "certificate verify failed"),
    ],
)
def test_a_server_that_is_not_believed_is_not_talked_to(run, certificates: Certificates, client, words: str) -> None:
    (answer,) = run(echo(server_tls(certificates, TlsMode.PERMISSIVE), client(certificates)))
    assert words in answer


def test_a_certificate_for_another_host_is_believed_only_by_who_does_not_ask(run, certificates: Certificates) -> None:
    server = ServerTls(TlsMode.ENFORCING, certificates.client_certificate, certificates.client_key)
    clients = [ClientTls(ca=certificates.ca, check_host=check_host) for check_host in (True, False)]
    refused, answer = run(echo(server, *clients))
    assert "IP address mismatch" in refused and answer == b"12345678 hello"
    assert run(echo(server, ClientTls(verify=False))) == [b"12345678 hello"]


def test_a_server_may_want_certificates_of_its_clients(run, certificates: Certificates) -> None:
    server = server_tls(certificates, TlsMode.ENFORCING, client_ca=certificates.ca)
    with_certificate = ClientTls(
        ca=certificates.ca, certificate=certificates.client_certificate, key=certificates.client_key
    )
    strangers = ClientTls(
        ca=certificates.ca, certificate=certificates.strangers_certificate, key=certificates.strangers_key
    )
    answers = run(echo(server, with_certificate, own_client_tls(server), ClientTls(ca=certificates.ca), strangers))
    assert answers[:2] == [b"12345678 hello"] * 2
    assert all(isinstance(answer, str) for answer in answers[2:])


def test_a_server_process_believes_itself_and_needs_tls_only_where_it_is_enforced(certificates: Certificates) -> None:
    assert own_client_tls(server_tls(certificates, TlsMode.PERMISSIVE)) is None
    own = own_client_tls(server_tls(certificates, TlsMode.ENFORCING))
    assert own is not None and own.verify and own.ca == certificates.certificate


def test_large_frames_and_back_pressure_work_as_without_tls(run, certificates: Certificates) -> None:
    frame = bytes(range(256)) * (UNSENT_SHARE_MAX_BYTES // 256 + 1)
    (answer,) = run(echo(server_tls(certificates, TlsMode.PERMISSIVE), ClientTls(ca=certificates.ca), frame=frame))
    assert answer == frame


def test_connections_that_never_begin_are_let_go(run, certificates: Certificates) -> None:
    async def stay_silent() -> bytes:
        accepting = LiveNetwork(idle_timeout_ms=50, server_tls=server_tls(certificates, TlsMode.PERMISSIVE))
        listener = await accepting.listen("127.0.0.1", 0, EchoHandler)
        host, _, port = listener.address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        async with asyncio.timeout(10):
            rest = await reader.read()
        writer.close()
        await accepting.close()
        return rest

    assert run(stay_silent()) == b""


@pytest.mark.parametrize("at_further_port", [False, True])
def test_no_more_connections_are_let_in_than_there_may_be_whether_they_have_begun_or_not(
    run, certificates: Certificates, caplog: pytest.LogCaptureFixture, at_further_port: bool
) -> None:
    async def crowd() -> tuple[bytes, list[bytes]]:
        accepting = LiveNetwork(server_tls=server_tls(certificates, TlsMode.PERMISSIVE))
        accepting._limit = 2
        listener = await accepting.listen("127.0.0.1", 0, EchoHandler)
        host, _, port = listener.address.rpartition(":")
        network, handler = LiveNetwork(client_tls=ClientTls(ca=certificates.ca)), CollectingHandler()
        connection = await network.connect(listener.address, handler, TIMEOUT_MS)
        connection.send_frame(frame_of(b"12345678"))
        await handler.wait_until(lambda heard: heard.frames)
        _, silent = await asyncio.open_connection(host, int(port))
        if at_further_port:
            port = (await listener.listen_also(0)).rpartition(":")[2]
        one_too_many, writer = await asyncio.open_connection(host, int(port))
        async with asyncio.timeout(10):
            rest = await one_too_many.read()
        connection.send_frame(frame_of(b"23456789"))
        await handler.wait_until(lambda heard: len(heard.frames) == 2)
        silent.close()
        writer.close()
        await network.close()
        await accepting.close()
        return rest, list(handler.frames)

    assert run(crowd()) == (b"", [b"12345678", b"23456789"])
    assert [record for record in caplog.records if "2 are there already" in record.getMessage()]


def test_closing_does_not_wait_for_a_handshake_that_hangs(run, certificates: Certificates) -> None:
    async def hang() -> None:
        accepting = LiveNetwork(server_tls=server_tls(certificates, TlsMode.ENFORCING))
        listener = await accepting.listen("127.0.0.1", 0, EchoHandler)
        host, _, port = listener.address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"\x16\x03\x01")
        async with asyncio.timeout(5):
            assert isinstance(listener, LiveListener)
            while not listener.connection_count:
                await asyncio.sleep(0)
            await accepting.close()
            with contextlib.suppress(ConnectionResetError):  # what the server had not read
                assert await reader.read() == b""
        writer.close()

    run(hang())


def test_a_handshake_that_is_garbage_ends_that_connection_and_no_other(
    run, certificates: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    async def send_garbage() -> list[bytes | str]:
        accepting = LiveNetwork(server_tls=server_tls(certificates, TlsMode.PERMISSIVE))
        listener = await accepting.listen("127.0.0.1", 0, EchoHandler)
        host, _, port = listener.address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"\x16" + b"garbage" * 20)
        async with asyncio.timeout(10):
            await reader.read()
        writer.close()
        network, handler = LiveNetwork(client_tls=ClientTls(ca=certificates.ca)), CollectingHandler()
        connection = await network.connect(listener.address, handler, TIMEOUT_MS)
        connection.send_frame(frame_of(b"12345678"))
        await handler.wait_until(lambda heard: heard.frames)
        await network.close()
        await accepting.close()
        return list(handler.frames)

    with caplog.at_level(logging.WARNING):
        assert run(send_garbage()) == [b"12345678"]
    assert [record for record in caplog.records if record.getMessage().startswith("TLS with 127.0.0.1:")]


def test_an_address_in_use_is_named_with_tls_too(run, certificates: Certificates) -> None:
    async def listen_twice() -> None:
        network = LiveNetwork(server_tls=server_tls(certificates, TlsMode.PERMISSIVE))
        listener = await network.listen("127.0.0.1", 0, EchoHandler)
        with pytest.raises(AddressInUse):
            await network.listen("127.0.0.1", int(listener.address.rpartition(":")[2]), EchoHandler)
        await listener.close()
        await network.close()  # closes it once more, which is nothing
        with socket.create_server(("127.0.0.1", int(listener.address.rpartition(":")[2]))):
            pass  # it was let go

    run(listen_twice())


def test_files_that_cannot_be_used_are_named(certificates: Certificates, tmp_path: Path) -> None:
    missing = tmp_path / "missing.pem"
    with pytest.raises(TlsUnusable, match=r"missing\.pem .*No such file"):
        LiveNetwork(server_tls=ServerTls(TlsMode.ENFORCING, missing, certificates.key))
    with pytest.raises(TlsUnusable, match="KEY_VALUES_MISMATCH"):
        LiveNetwork(server_tls=ServerTls(TlsMode.ENFORCING, certificates.certificate, certificates.client_key))
    with pytest.raises(TlsUnusable, match=r"issuers .*missing\.pem cannot be used"):
        LiveNetwork(client_tls=ClientTls(ca=missing))


def test_old_versions_of_tls_are_not_spoken(certificates: Certificates) -> None:
    context = server_tls(certificates, TlsMode.ENFORCING).context()
    assert context is not None and context.minimum_version is ssl.TLSVersion.TLSv1_2
    assert ClientTls().context().minimum_version is ssl.TLSVersion.TLSv1_2


def test_a_server_that_wants_certificates_of_others_takes_its_own_too(run, certificates: Certificates) -> None:
    server = server_tls(certificates, TlsMode.ENFORCING, client_ca=certificates.strangers_ca)
    of_the_same_issuer = ClientTls(
        ca=certificates.ca, certificate=certificates.client_certificate, key=certificates.client_key
    )
    own, other = run(echo(server, own_client_tls(server), of_the_same_issuer))
    assert own == b"12345678 hello" and isinstance(other, str)


def test_a_handshake_that_does_not_go_on_is_given_up(
    run, certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_tls_listener, "HANDSHAKE_TIMEOUT_MS", 50)

    async def stop_half_way() -> None:
        accepting = LiveNetwork(server_tls=server_tls(certificates, TlsMode.ENFORCING))
        listener = await accepting.listen("127.0.0.1", 0, EchoHandler)
        host, _, port = listener.address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"\x16\x03\x01")
        async with asyncio.timeout(10):
            with contextlib.suppress(ConnectionResetError):
                assert await reader.read() == b""
        writer.close()
        await accepting.close()

    run(stop_half_way())


def test_after_a_moment_without_descriptors_connections_are_accepted_again(
    run, certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_tls_listener, "_PAUSE_MS", 10)

    class FullOnce:
        """The listening socket of a machine that has no descriptor left, once."""

        def __init__(self, listening: socket.socket) -> None:
            self.fileno, self.close, self._accept = listening.fileno, listening.close, listening.accept
            self.refused = 0

        def accept(self) -> tuple[socket.socket, object]:
            if not self.refused:
                self.refused = 1
                raise OSError(errno.EMFILE, "Too many open files")
            return self._accept()

    async def connect() -> tuple[int, list[bytes]]:
        accepting = LiveNetwork(server_tls=server_tls(certificates, TlsMode.PERMISSIVE))
        listener = await accepting.listen("127.0.0.1", 0, EchoHandler)
        assert isinstance(listener, LiveListener)
        acceptor: Any = listener._sources[0]
        acceptor._listening = full = FullOnce(acceptor._listening)
        network, handler = LiveNetwork(), CollectingHandler()
        connection = await network.connect(listener.address, handler, TIMEOUT_MS)
        connection.send_frame(frame_of(b"12345678"))
        async with asyncio.timeout(10):
            await handler.wait_until(lambda heard: heard.frames)
        await network.close()
        await accepting.close()
        return full.refused, list(handler.frames)

    assert run(connect()) == (1, [b"12345678"])


def test_a_key_with_a_pass_phrase_is_refused_and_nobody_is_asked_for_it(
    certificates: Certificates, tmp_path: Path
) -> None:
    key = serialization.load_pem_private_key(certificates.key.read_bytes(), None)
    locked = tmp_path / "locked.key"
    phrase = serialization.BestAvailableEncryption(b"x")
    locked.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, phrase)
    )
    server = ServerTls(TlsMode.ENFORCING, certificates.certificate, locked)
    with pytest.raises(TlsUnusable, match=r"locked\.key cannot be used: the key has a pass phrase"):
        LiveNetwork(server_tls=server)

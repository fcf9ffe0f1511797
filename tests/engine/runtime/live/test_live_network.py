"""What only real sockets show: pieces of frames, floods, deaf peers, idleness, bounds."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket

import pytest
import uvloop

from engine.runtime.live.live_connection import format_address
from engine.runtime.live.live_network import LiveNetwork
from engine.runtime.live.live_tls import ClientTls
from engine.runtime.port import AddressInUse, ConnectFailed, RuntimeFault
from tests.support.lab.runtime_handlers import CollectingHandler, EchoHandler, frame_of


@pytest.mark.parametrize(
    ("address", "text"),
    [
        (("127.0.0.1", 80), "127.0.0.1:80"),
        (("::1", 80, 0, 0), "[::1]:80"),
        (("::ffff:10.1.2.3", 80, 0, 0), "10.1.2.3:80"),
        (None, "unknown:0"),
        ("", "unknown:0"),
    ],
)
def test_addresses_are_written_for_people(address, text):
    assert format_address(address) == text


async def listen(network, handler_class=EchoHandler):
    handlers = []

    def make_handler():
        handlers.append(handler_class())
        return handlers[-1]

    listener = await network.listen("127.0.0.1", 0, make_handler)
    return listener, handlers


async def connect_raw(listener):
    return await connect_raw_to(listener.address)


async def connect_raw_to(address):
    host, _, port = address.rpartition(":")
    return await asyncio.open_connection(host, int(port))


def test_a_frame_that_arrives_byte_by_byte_is_answered():
    async def scenario():
        network = LiveNetwork()
        listener, _ = await listen(network)
        reader, writer = await connect_raw(listener)
        for byte in frame_of(b"slowly"):
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0)
        assert await reader.readexactly(10) == frame_of(b"slowly")
        writer.close()
        await network.close()

    asyncio.run(scenario())


def test_an_http_request_is_refused_and_others_are_served():
    async def scenario():
        network = LiveNetwork()
        listener, handlers = await listen(network)
        reader, writer = await connect_raw(listener)
        writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert await reader.read() == b""
        assert "frame length 1195725856 is not allowed" in handlers[0].lost_reasons[0]
        handler = CollectingHandler()
        connection = await network.connect(listener.address, handler, 1_000)
        connection.send_frame(frame_of(b"still here"))
        await handler.wait_until(lambda known: known.frames)
        await network.close()

    asyncio.run(scenario())


def test_a_peer_that_asks_but_never_reads_is_not_read_without_end():
    async def scenario():
        network = LiveNetwork()
        listener, handlers = await listen(network)
        _, writer = await connect_raw(listener)
        writer.transport.pause_reading()
        frame = frame_of(bytes(60_000))
        sent = 0
        # The writer blocks once nothing is read any more; the bound says that this must happen.
        while sent < 200_000_000:
            writer.write(frame)
            sent += len(frame)
            try:
                async with asyncio.timeout(0.5):
                    await writer.drain()
            except TimeoutError:
                break
        assert sent < 100_000_000
        assert handlers[0].connection.unsent_bytes < 5 * 1024 * 1024
        writer.transport.abort()
        await handlers[0].wait_until(lambda known: known.lost_reasons)
        await network.close()

    asyncio.run(scenario())


def test_an_idle_connection_is_closed_and_a_busy_one_is_not():
    async def scenario():
        network = LiveNetwork(idle_timeout_ms=200)
        listener, handlers = await listen(network)
        busy, quiet = CollectingHandler(), CollectingHandler()
        busy_connection = await network.connect(listener.address, busy, 1_000)
        await network.connect(listener.address, quiet, 1_000)
        while not quiet.lost_reasons:
            busy_connection.send_frame(frame_of(b"alive"))
            await asyncio.sleep(0.01)
        assert busy.lost_reasons == []
        await handlers[1].wait_until(lambda known: known.lost_reasons)
        reasons = quiet.lost_reasons + handlers[1].lost_reasons
        assert any("idle" in reason for reason in reasons)
        await network.close()

    asyncio.run(scenario())


def test_a_closed_port_and_a_silent_address_fail_by_name():
    async def scenario():
        network = LiveNetwork()
        with socket.create_server(("127.0.0.1", 0)) as unused:
            port = unused.getsockname()[1]
        with pytest.raises(ConnectFailed, match=f"cannot connect to 127.0.0.1:{port}"):
            await network.connect(f"127.0.0.1:{port}", CollectingHandler(), 1_000)
        await network.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("at_further_port", [False, True])
def test_more_connections_than_allowed_are_closed_at_once(monkeypatch, at_further_port):
    monkeypatch.setattr("engine.runtime.live.live_network.CONNECTIONS_LIMIT", 3)

    async def scenario():
        network = LiveNetwork()
        listener, handlers = await listen(network)
        streams = [await connect_raw(listener) for _ in range(3)]
        for reader, writer in streams:
            writer.write(frame_of(b"hello"))
            assert await reader.readexactly(9) == frame_of(b"hello")
        last_address = await listener.listen_also(0) if at_further_port else listener.address
        refused_reader, _ = await connect_raw_to(last_address)
        assert await refused_reader.read() == b""
        assert [handler.calls[0] for handler in handlers if handler.calls] == ["made"] * 3
        streams[0][1].close()
        await handlers[0].wait_until(lambda known: known.lost_reasons)
        reader, writer = await connect_raw_to(last_address)
        writer.write(frame_of(b"hello"))
        assert await reader.readexactly(9) == frame_of(b"hello")
        for _, open_writer in [*streams, (reader, writer)]:
            open_writer.close()
        await network.close()

    asyncio.run(scenario())


@pytest.mark.parametrize(("descriptors", "connections"), [(8, 4), (64, 32), (129, 65), (1_128, 1_000)])
def test_a_process_with_few_descriptors_keeps_some_for_connections(monkeypatch, descriptors, connections):
    limits = []
    monkeypatch.setattr("engine.runtime.live.live_network._descriptor_limit", lambda: descriptors)
    monkeypatch.setattr(
        "engine.runtime.live.live_network.OpenConnections", lambda limit, *_, **__: limits.append(limit)
    )
    LiveNetwork()
    assert limits == [connections]


def test_unfinished_frames_are_bounded_in_sum_over_all_connections(monkeypatch):
    monkeypatch.setattr("engine.runtime.live.open_connections.UNHANDLED_LIMIT_BYTES", 3_000)
    whole = frame_of(b"x" * 2_500)

    async def scenario():
        network = LiveNetwork()
        listener = await network.listen("127.0.0.1", 0, EchoHandler)
        host, _, port = listener.address.rpartition(":")
        first_reader, first_writer = await asyncio.open_connection(host, int(port))
        first_writer.write(frame_of(b"hello") + whole[:2_000])
        assert await first_reader.readexactly(len(frame_of(b"hello"))) == frame_of(b"hello")
        for _ in range(3):
            # A client beyond the bound is closed, which gives its room back.
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(whole[:2_000])
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
            writer.close()
        first_writer.write(whole[2_000:])
        assert await first_reader.readexactly(len(whole)) == whole
        first_writer.close()
        await network.close()

    asyncio.run(scenario())


#: Names whose encoding fails before any host is asked.
IMPOSSIBLE_HOSTS = ["..", "a..b", "a" * 64, "a" * 80 + ".example", "\udcff"]


@pytest.mark.parametrize(("host", "port"), [("192.0.2.1", 0), ("127.0.0.1", 70_000)])
def test_an_address_that_cannot_be_had_is_named(host, port):
    async def scenario():
        network = LiveNetwork()
        with pytest.raises(RuntimeFault, match=f"cannot listen at {host}:{port}"):
            await network.listen(host, port, CollectingHandler)

    asyncio.run(scenario())


@pytest.mark.parametrize("host", IMPOSSIBLE_HOSTS)
@pytest.mark.parametrize("run", [asyncio.run, uvloop.run])
def test_a_name_that_no_host_can_have_is_named(run, host):
    async def scenario():
        with pytest.raises(RuntimeFault, match=re.escape(f"cannot listen at {host}:0: no host can have")):
            await LiveNetwork().listen(host, 0, CollectingHandler)
        with pytest.raises(ConnectFailed, match=re.escape(f"cannot connect to {host}:9876: no host can have")):
            await LiveNetwork().connect(f"{host}:9876", CollectingHandler(), 1_000)

    run(scenario())


def test_a_plain_server_that_hangs_up_on_tls_is_reported_as_that():
    async def scenario():
        server = LiveNetwork()
        listener, _ = await listen(server)
        with pytest.raises(ConnectFailed, match="does it speak TLS"):
            await LiveNetwork(client_tls=ClientTls()).connect(listener.address, CollectingHandler(), 1_000)
        await server.close()

    asyncio.run(scenario())


def test_a_port_that_another_process_has_is_named():
    async def scenario():
        network = LiveNetwork()
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            with pytest.raises(AddressInUse, match=f"127.0.0.1:{port} is in use"):
                await network.listen("127.0.0.1", port, CollectingHandler)

    asyncio.run(scenario())


def test_closing_a_listener_does_not_wait_for_a_peer_that_never_reads(monkeypatch):
    monkeypatch.setattr("engine.runtime.live.open_connections._CLOSE_GRACE_MS", 50)

    async def scenario():
        network = LiveNetwork()
        listener, handlers = await listen(network, CollectingHandler)
        _, writer = await connect_raw(listener)
        writer.transport.pause_reading()
        while not handlers or not handlers[0].calls:
            await asyncio.sleep(0.001)
        for _ in range(30):
            handlers[0].connection.send_frame(frame_of(bytes(1_000_000)))
        async with asyncio.timeout(20):
            await listener.close()
        assert handlers[0].calls[-1] == "lost"
        writer.transport.abort()

    asyncio.run(scenario())


def test_of_many_that_never_read_so_many_are_disconnected_that_the_rest_fits(caplog):
    class Generous(EchoHandler):
        def frame_received(self, frame):
            self.connection.send_frame(frame_of(bytes(8_000_000)))

    async def scenario():
        network = LiveNetwork()
        listener = await network.listen("127.0.0.1", 0, Generous, unsent_limit_bytes=10_000_000)
        silent = [await connect_raw(listener) for _ in range(8)]
        for _, writer in silent:
            writer.transport.pause_reading()
            writer.write(frame_of(b"give") * 100)
        async with asyncio.timeout(20):
            while not listener.cut_connections:
                await asyncio.sleep(0.001)
        assert listener.unsent_bytes <= 10_000_000
        reader, _writer = await connect_raw(listener)
        _writer.write(frame_of(b"give"))
        assert len(await reader.readexactly(8_000_004)) == 8_000_004
        for _, writer in silent:
            writer.transport.abort()
        await network.close()

    asyncio.run(scenario())
    cut = [record.getMessage() for record in caplog.records if "is disconnected: it reads" in record.getMessage()]
    assert cut
    assert all("127.0.0.1:" in text and "allowed: 10000000" in text for text in cut)


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
@pytest.mark.parametrize("turns", range(6))
def test_a_listen_that_is_cancelled_leaves_the_port_free(new_loop, turns):
    async def scenario():
        network = LiveNetwork()
        free, _ = await listen(network)
        port = int(free.address.rpartition(":")[2])
        await free.close()
        listening = asyncio.create_task(network.listen("127.0.0.1", port, EchoHandler))
        for _ in range(turns):
            await asyncio.sleep(0)
        listening.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await (await listening).close()
        again = await network.listen("127.0.0.1", port, EchoHandler)
        await again.close()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(scenario())

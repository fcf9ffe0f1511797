"""What the port promises about frames and connections, in the lab and over real sockets."""

from __future__ import annotations

import asyncio

import pytest

from engine.runtime.port import FRAME_MAX_LENGTH_BYTES, AddressInUse, ConnectFailed
from tests.support.lab.both_worlds import WORLDS, run_scenario
from tests.support.lab.runtime_handlers import CollectingHandler, EchoHandler, frame_of


@pytest.fixture(params=WORLDS)
def run(request, tmp_path):
    return lambda scenario: run_scenario(request.param, tmp_path, scenario)


async def open_pair(server, client, handler_class=CollectingHandler):
    """A listener, the server's handlers as they are made, and a connected client handler."""
    accepted = []

    def make_handler():
        accepted.append(handler_class())
        return accepted[-1]

    listener = await server.network.listen("127.0.0.1", 0, make_handler)
    handler = CollectingHandler()
    await client.network.connect(listener.address, handler, 5_000)
    while not accepted or not accepted[0].calls:
        await asyncio.sleep(0.001)
    return listener, accepted, handler


def test_frames_arrive_whole_in_order_and_without_their_prefix(run):
    async def scenario(server, client):
        _, _, handler = await open_pair(server, client, EchoHandler)
        sent = [bytes([number % 256]) * (4 + number * 7) for number in range(300)]
        for content in sent:
            handler.connection.send_frame(frame_of(content))
        await handler.wait_until(lambda known: len(known.frames) == len(sent))
        assert handler.frames == sent

    run(scenario)


def test_the_largest_frame_passes(run):
    async def scenario(server, client):
        _, _, handler = await open_pair(server, client, EchoHandler)
        content = bytes(range(256)) * (FRAME_MAX_LENGTH_BYTES // 256)
        handler.connection.send_frame(frame_of(content))
        await handler.wait_until(lambda known: known.frames)
        assert handler.frames == [content]

    run(scenario)


@pytest.mark.parametrize("length", [-1, 0, 3, FRAME_MAX_LENGTH_BYTES + 1, 0x47455420])
def test_a_length_that_no_frame_has_closes_the_connection_with_a_reason(run, length):
    async def scenario(server, client):
        _, accepted, handler = await open_pair(server, client, EchoHandler)
        good = frame_of(b"good one")
        handler.connection.send_frame(good + length.to_bytes(4, "big", signed=True) + b"garbage" + good)
        await accepted[0].wait_until(lambda known: known.lost_reasons)
        assert accepted[0].frames == [b"good one"]
        assert str(length) in accepted[0].lost_reasons[0]
        await handler.wait_until(lambda known: known.lost_reasons)

    run(scenario)


def test_both_ends_know_each_other_by_address(run):
    async def scenario(server, client):
        listener, accepted, handler = await open_pair(server, client)
        assert handler.connection.remote_address == listener.address == accepted[0].connection.local_address
        assert handler.connection.local_address == accepted[0].connection.remote_address
        assert handler.connection.local_address.rpartition(":")[2].isdigit()

    run(scenario)


def test_close_sends_what_is_queued_and_each_end_loses_the_connection_once(run):
    async def scenario(server, client):
        _, accepted, handler = await open_pair(server, client)
        contents = [bytes([number]) * 100_000 for number in range(20)]
        for content in contents:
            handler.connection.send_frame(frame_of(content))
        handler.connection.close()
        handler.connection.close()
        handler.connection.send_frame(frame_of(b"too late"))
        assert handler.connection.is_closing
        await accepted[0].wait_until(lambda known: known.lost_reasons)
        await handler.wait_until(lambda known: known.lost_reasons)
        assert accepted[0].frames == contents
        assert handler.lost_reasons == ["closed by this end"]
        assert accepted[0].lost_reasons == ["closed by the other end"]
        assert (accepted[0].calls[0], accepted[0].calls[-1], accepted[0].calls.count("made")) == ("made", "lost", 1)

    run(scenario)


def test_a_handler_that_closes_gets_no_more_frames(run):
    class OnlyOne(CollectingHandler):
        def frame_received(self, frame):
            super().frame_received(frame)
            self.connection.close()

    async def scenario(server, client):
        _, accepted, handler = await open_pair(server, client, OnlyOne)
        handler.connection.send_frame(b"".join(frame_of(b"frame%d" % number) for number in range(5)))
        await handler.wait_until(lambda known: known.lost_reasons)
        assert accepted[0].frames == [b"frame0"]

    run(scenario)


def test_a_further_port_serves_as_the_first_does_until_both_close(run):
    async def scenario(server, client):
        listener, accepted, first = await open_pair(server, client, EchoHandler)
        address = await listener.listen_also(0)
        assert address != listener.address
        with pytest.raises(AddressInUse):
            await listener.listen_also(int(address.rpartition(":")[2]))
        further = CollectingHandler()
        await client.network.connect(address, further, 5_000)
        further.connection.send_frame(frame_of(b"further"))
        await further.wait_until(lambda known: known.frames)
        assert further.frames == [b"further"]
        assert further.connection.remote_address == address
        assert len(accepted) == 2
        await listener.close()
        for handler in (first, further):
            await handler.wait_until(lambda known: known.lost_reasons)
        for closed in (listener.address, address):
            with pytest.raises(ConnectFailed):
                await client.network.connect(closed, CollectingHandler(), 5_000)

    run(scenario)


def test_nobody_listens_is_a_refused_connection(run):
    async def scenario(server, client):
        listener = await server.network.listen("127.0.0.1", 0, CollectingHandler)
        await listener.close()
        with pytest.raises(ConnectFailed, match=listener.address):
            await client.network.connect(listener.address, CollectingHandler(), 5_000)

    run(scenario)


@pytest.mark.parametrize("address", ["", "nonsense", ":10911", "127.0.0.1:", "127.0.0.1:http", "127.0.0.1:123456"])
def test_a_bad_address_is_named(run, address):
    async def scenario(server, client):
        with pytest.raises(ConnectFailed, match="cannot connect"):
            await client.network.connect(address, CollectingHandler(), 5_000)

    run(scenario)


def test_a_port_in_use_is_named_and_free_again_after_close(run):
    async def scenario(server, client):
        listener = await server.network.listen("127.0.0.1", 0, CollectingHandler)
        port = int(listener.address.rpartition(":")[2])
        with pytest.raises(AddressInUse, match=str(port)):
            await server.network.listen("127.0.0.1", port, CollectingHandler)
        await listener.close()
        again = await server.network.listen("127.0.0.1", port, CollectingHandler)
        await again.close()

    run(scenario)


def test_closing_a_listener_closes_what_it_accepted(run):
    async def scenario(server, client):
        listener, accepted, handler = await open_pair(server, client)
        await listener.close()
        await handler.wait_until(lambda known: known.lost_reasons)
        await accepted[0].wait_until(lambda known: known.lost_reasons)
        assert accepted[0].lost_reasons == ["closed by this end"]

    run(scenario)


def test_an_exception_in_a_handler_ends_its_connection_and_no_other(run, caplog, monkeypatch):
    class Fragile(EchoHandler):
        def frame_received(self, frame):
            if frame == b"poison":
                raise ValueError("cannot digest it")
            super().frame_received(frame)

    async def scenario(server, client):
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: None)
        listener, accepted, handler = await open_pair(server, client, Fragile)
        other = CollectingHandler()
        await client.network.connect(listener.address, other, 5_000)
        handler.connection.send_frame(frame_of(b"poison"))
        await handler.wait_until(lambda known: known.lost_reasons)
        assert "cannot digest it" in accepted[0].lost_reasons[0]
        other.connection.send_frame(frame_of(b"healthy"))
        await other.wait_until(lambda known: known.frames)

    run(scenario)


def test_an_end_that_never_reads_is_disconnected_at_the_bound(run, monkeypatch):
    for module in ("lab.lab_connection", "live.live_connection"):
        monkeypatch.setattr(f"engine.runtime.{module}.UNSENT_LIMIT_BYTES", 3_000_000)

    async def scenario(server, client):
        _, accepted, _handler = await open_pair(server, client)
        connection = accepted[0].connection
        frame = frame_of(bytes(100_000))
        for _ in range(1_000):
            # Nothing is awaited, so the other end has no chance to read.
            connection.send_frame(frame)
            assert connection.unsent_bytes < 3_300_000
            if connection.is_closing:
                break
        assert connection.is_closing
        await accepted[0].wait_until(lambda known: known.lost_reasons)
        assert "does not read" in accepted[0].lost_reasons[0]

    run(scenario)

"""One connection over a scripted transport: what is written together, what waits for its turn, what for the peer."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.runtime.live.live_connection import LiveConnection
from engine.runtime.live.open_connections import OpenConnections
from tests.support.lab.runtime_handlers import CollectingHandler, EchoHandler, frame_of
from tests.support.tiers import examples

KIB, MIB = 1024, 1024 * 1024
TURN_FRAMES = 64


class ScriptedTransport(asyncio.Transport):
    """Stands in for asyncio's transport; while it ``is_deaf`` nothing that is written leaves."""

    def __init__(self):
        super().__init__()
        self.protocol = None
        self.writes = []
        self.closed_by = None
        self.reading = True
        self.is_deaf = False
        self.unsent_bytes = 0

    def write(self, data):
        self.writes.append(bytes(data))
        if self.is_deaf:
            self.unsent_bytes += len(data)
            if self.unsent_bytes > self.high_water_bytes:
                self.protocol.pause_writing()

    def peer_reads(self):
        """All that is unsent leaves."""
        self.is_deaf, self.unsent_bytes = False, 0
        self.protocol.resume_writing()

    def close(self):
        self.closed_by = self.closed_by or "close"

    def abort(self):
        self.closed_by = "abort"

    def pause_reading(self):
        assert self.reading
        self.reading = False

    def resume_reading(self):
        assert not self.reading
        self.reading = True

    def get_extra_info(self, name, default=None):
        return {"peername": ("10.0.0.9", 1), "sockname": ("10.0.0.1", 10_911)}.get(name, default)

    def set_write_buffer_limits(self, high=None, low=None):
        self.high_water_bytes = high

    def get_write_buffer_size(self):
        return self.unsent_bytes


class UnsweptConnections(OpenConnections):
    """Without the timer that looks for idle ones: it needs a loop."""

    def __init__(self, *, waits_for_readers=True, unsent_limit_bytes=256 * MIB):
        super().__init__(100, 120_000, unsent_limit_bytes=unsent_limit_bytes, waits_for_readers=waits_for_readers)

    def opened(self, connection):
        return None


class Generous(CollectingHandler):
    """Answers each frame with 400 KB."""

    def frame_received(self, frame):
        super().frame_received(frame)
        self.connection.send_frame(frame_of(bytes(400_000)))


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """Stands still unless a test moves it: turns end by frames and bytes only."""
    now = [0.0]
    for module in ("live.live_connection", "live.frame_turns"):
        monkeypatch.setattr(f"engine.runtime.{module}.monotonic", lambda: now[0])
    return now


def open_connection(handler, connections=None):
    connection = LiveConnection(handler, UnsweptConnections() if connections is None else connections)
    transport = ScriptedTransport()
    transport.protocol = connection
    connection.connection_made(transport)
    return connection, transport


def numbered(count):
    return [b"frame%d" % number for number in range(count)]


def stream_of(contents):
    return b"".join(map(frame_of, contents))


# ------------------------------------------------------------------------------------------------ what is written


def test_replies_to_many_frames_of_one_read_are_one_write():
    handler = EchoHandler()
    connection, transport = open_connection(handler)
    stream = stream_of(numbered(50))
    connection.data_received(stream)
    assert len(handler.frames) == 50
    assert transport.writes == [stream]


def test_large_replies_of_one_read_are_not_all_collected():
    connection, transport = open_connection(Generous())
    connection.data_received(frame_of(b"give") * 50)
    assert max(len(write) for write in transport.writes) < 500_000
    assert sum(len(write) for write in transport.writes) == 50 * 400_004


def test_a_frame_sent_outside_of_a_read_leaves_at_once():
    handler = CollectingHandler()
    connection, transport = open_connection(handler)
    connection.send_frame(frame_of(b"unasked"))
    assert transport.writes == [frame_of(b"unasked")]
    assert connection.remote_address == "10.0.0.9:1"


# ------------------------------------------------------------------------------------------------ turns


def test_a_turn_handles_so_many_frames_and_the_rest_waits_unread_in_order():
    async def scenario():
        handler = EchoHandler()
        connection, transport = open_connection(handler)
        contents = numbered(3 * TURN_FRAMES + 1)
        connection.data_received(stream_of(contents) + b"\0\0")
        for turns in (1, 2, 3):
            assert len(handler.frames) == turns * TURN_FRAMES
            assert not transport.reading
            await asyncio.sleep(0)
        assert handler.frames == contents
        assert transport.reading
        connection.data_received(frame_of(b"next")[2:])
        assert handler.frames[-1] == b"next"

    asyncio.run(scenario())


def test_a_turn_handles_so_many_bytes():
    async def scenario():
        handler = CollectingHandler()
        connection, transport = open_connection(handler)
        connection.data_received(frame_of(bytes(600 * KIB)) * 5)
        handled = [len(handler.frames)]
        while not transport.reading:
            await asyncio.sleep(0)
            handled.append(len(handler.frames))
        assert handled == [2, 4, 5]

    asyncio.run(scenario())


def test_a_turn_ends_when_its_requests_take_long(clock):
    class Slow(CollectingHandler):
        def frame_received(self, frame):
            super().frame_received(frame)
            clock[0] += 0.05

    async def scenario():
        handler = Slow()
        connection, _ = open_connection(handler)
        connection.data_received(stream_of(numbered(4)))
        for handled in (1, 2, 3, 4):
            assert len(handler.frames) == handled
            await asyncio.sleep(0)

    asyncio.run(scenario())


def test_connections_with_frames_left_take_turns_and_a_single_frame_waits_for_one_turn_of_the_loop():
    async def scenario():
        connections = UnsweptConnections()
        floods = [CollectingHandler() for _ in range(3)]
        contents = numbered(10 * TURN_FRAMES)
        for handler in floods:
            open_connection(handler, connections)[0].data_received(stream_of(contents))
        single = CollectingHandler()
        connection, _ = open_connection(single, connections)
        while any(len(handler.frames) < len(contents) for handler in floods):
            before = len(single.frames)
            connection.data_received(frame_of(b"single"))
            assert len(single.frames) == before + 1
            await asyncio.sleep(0)
            counts = [len(handler.frames) for handler in floods]
            assert max(counts) - min(counts) <= TURN_FRAMES
        assert all(handler.frames == contents for handler in floods)
        assert len(single.frames) <= 11

    asyncio.run(scenario())


def test_garbage_ends_the_connection_after_the_frames_before_it():
    async def scenario():
        handler = EchoHandler()
        connection, transport = open_connection(handler)
        contents = numbered(2 * TURN_FRAMES)
        connection.data_received(stream_of(contents) + b"GET / HTTP/1.1")
        assert transport.closed_by is None
        await asyncio.sleep(0)
        assert handler.frames == contents
        assert transport.closed_by == "close"
        connection.connection_lost(None)
        assert "frame length 1195725856 is not allowed" in handler.lost_reasons[0]

    asyncio.run(scenario())


@pytest.mark.parametrize("handler_class", [CollectingHandler, EchoHandler])
def test_frames_that_wait_when_the_other_end_is_lost_are_handled_in_turns_before_that_is_reported(handler_class):
    async def scenario():
        handler, connections = handler_class(), UnsweptConnections()
        connection, transport = open_connection(handler, connections)
        connection.data_received(stream_of(numbered(3 * TURN_FRAMES)))
        writes = len(transport.writes)
        connection.connection_lost(BrokenPipeError("Broken pipe"))
        assert connection.is_closing
        assert len(handler.frames) == TURN_FRAMES
        await asyncio.sleep(0)
        assert len(handler.frames) == 2 * TURN_FRAMES
        assert "lost" not in handler.calls
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert handler.frames == numbered(3 * TURN_FRAMES)
        assert handler.lost_reasons == ["connection lost: Broken pipe"]
        assert handler.calls[-1] == "lost"
        assert (len(transport.writes), connections.budget.total_bytes) == (writes, 0)

    asyncio.run(scenario())


@pytest.mark.parametrize("end", [LiveConnection.close, lambda connection: connection.abort("too many")])
def test_of_a_connection_that_this_end_closes_while_frames_wait_no_more_are_handled(end):
    async def scenario():
        handler = CollectingHandler()
        connection, _ = open_connection(handler)
        connection.data_received(stream_of(numbered(2 * TURN_FRAMES)))
        end(connection)
        connection.connection_lost(None)
        await asyncio.sleep(0)
        assert len(handler.frames) == TURN_FRAMES
        assert handler.calls[-1] == "lost"

    asyncio.run(scenario())


def test_a_lost_connection_whose_frames_wait_can_be_aborted_and_one_whose_handler_fails_ends():
    class Failing(CollectingHandler):
        def frame_received(self, frame):
            super().frame_received(frame)
            if len(self.frames) > TURN_FRAMES:
                raise ValueError("a bug")

    async def scenario():
        for handler, aborts, handled in ((CollectingHandler(), True, TURN_FRAMES), (Failing(), False, TURN_FRAMES + 1)):
            connection, _ = open_connection(handler)
            connection.data_received(stream_of(numbered(3 * TURN_FRAMES)))
            connection.connection_lost(None)
            if aborts:
                connection.abort("the node ends")
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert len(handler.frames) == handled
            assert handler.calls.count("lost") == 1

    asyncio.run(scenario())


# ----------------------------------------------------------------------------------------------- peers that do not read


def test_of_a_peer_that_does_not_read_frames_wait_until_it_has_read():
    async def scenario():
        handler = Generous()
        connection, transport = open_connection(handler)
        transport.is_deaf = True
        connection.data_received(frame_of(b"give") * 50)
        assert 4 * MIB < transport.unsent_bytes < 5 * MIB
        assert not connection.has_room
        assert not transport.reading
        await asyncio.sleep(0)
        assert len(handler.frames) == 11
        transport.peer_reads()
        await asyncio.sleep(0)
        assert len(handler.frames) == 50
        assert connection.has_room
        assert transport.reading

    asyncio.run(scenario())


def test_a_peer_that_reads_while_frames_wait_for_their_turn_gets_no_second_turn():
    async def scenario():
        handler = EchoHandler()
        connection, transport = open_connection(handler)
        transport.is_deaf = True
        connection.data_received(stream_of([bytes(KIB)] * 4 * TURN_FRAMES))
        transport.peer_reads()
        await asyncio.sleep(0)
        assert len(handler.frames) == 2 * TURN_FRAMES

    asyncio.run(scenario())


def test_the_end_that_asks_reads_on_whatever_it_has_unsent():
    handler = CollectingHandler()
    connection, transport = open_connection(handler, UnsweptConnections(waits_for_readers=False))
    transport.is_deaf = True
    for _ in range(50):
        connection.send_frame(frame_of(bytes(MIB)))
    connection.data_received(stream_of(numbered(2)))
    assert transport.reading
    assert len(handler.frames) == 2


def test_the_more_others_have_unsent_the_less_one_may_have():
    connections = UnsweptConnections(unsent_limit_bytes=16 * MIB)
    unsent = []
    for _ in range(12):
        handler = Generous()
        connection, transport = open_connection(handler, connections)
        transport.is_deaf = True
        connection.data_received(frame_of(b"give"))
        connection.data_received(stream_of(numbered(40)))
        unsent.append(transport.unsent_bytes)
    assert unsent[0] > 2 * unsent[-1]
    assert connections.budget.total_bytes == sum(unsent) < 16 * MIB
    assert connections.budget.cut_connections == 0


def test_at_the_hard_bound_the_peer_is_disconnected():
    handler = CollectingHandler()
    connection, transport = open_connection(handler)
    transport.is_deaf = True
    transport.unsent_bytes = 64 * MIB - len(frame_of(b"fits"))
    connection.send_frame(frame_of(b"fits"))
    assert transport.closed_by is None
    connection.send_frame(frame_of(b"too much"))
    assert transport.closed_by == "abort"
    connection.connection_lost(None)
    assert handler.lost_reasons == ["the other end does not read"]
    assert connection.unsent_bytes == 0


@settings(max_examples=examples(quick=60, full=300))
@given(
    st.lists(st.binary(min_size=4, max_size=100), min_size=1, max_size=8),
    st.data(),
)
def test_mutated_streams_never_raise_and_never_give_a_wrong_frame_before_the_mutation(contents, data):
    stream = bytearray(b"".join(map(frame_of, contents)))
    position = data.draw(st.integers(0, len(stream) - 1))
    stream[position] ^= data.draw(st.integers(1, 255))
    cut = data.draw(st.integers(0, len(stream)))
    handler = CollectingHandler()
    connection, transport = open_connection(handler)
    connection.data_received(bytes(stream[:cut]))
    connection.data_received(bytes(stream[cut:]))
    whole_before = []
    end = 0
    for content in contents:
        end += 4 + len(content)
        if end > position:
            break
        whole_before.append(content)
    assert handler.frames[: len(whole_before)] == whole_before
    assert (transport.closed_by is not None) == connection.is_closing

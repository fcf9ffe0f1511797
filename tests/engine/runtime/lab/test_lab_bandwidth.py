"""Links with a limited number of bytes a second, which are cut while a frame is half across."""

from __future__ import annotations

import pytest

from engine.runtime.lab.lab_link_fault import Parcel, ParcelKind, Partition
from engine.runtime.lab.lab_runtime import LabMachines
from tests.support.lab.runtime_handlers import CollectingHandler, frame_of

LATENCY_US = 1_000


@pytest.fixture
def world():
    with LabMachines(seed=1, latency_us=LATENCY_US, bytes_per_s=10_000) as lab_world:
        yield lab_world


def connect(world):
    """Connected handlers: the server's, the client's."""
    accepted = []

    def make_handler():
        accepted.append(CollectingHandler())
        return accepted[-1]

    server, client = world.node("server"), world.node("client")
    listener = server.run(server.network.listen("", 0, make_handler))
    handler = CollectingHandler()
    client.run(client.network.connect(listener.address, handler, 1_000))
    return accepted[0], handler


def frame_of_size(size):
    return frame_of(b"x" * (size - 4))


def arrivals(world, handler, end_us):
    """When frames arrived, as (microseconds since now, how many)."""
    begun_us, found = world.loop.now_us, []
    while world.loop.now_us < begun_us + end_us:
        known = len(handler.frames)
        if not world.loop.run_events(1, begun_us + end_us):
            break
        if len(handler.frames) > known:
            found.append((world.loop.now_us - begun_us, len(handler.frames) - known))
    return found


def test_a_frame_takes_as_long_as_its_bytes_and_the_next_one_waits(world):
    server, client = connect(world)
    client.connection.send_frame(frame_of_size(1_000))
    client.connection.send_frame(frame_of_size(500))
    assert arrivals(world, server, 400_000) == [(100_000 + LATENCY_US, 1), (150_000 + LATENCY_US, 1)]


def test_both_directions_carry_at_the_same_time(world):
    server, client = connect(world)
    client.connection.send_frame(frame_of_size(1_000))
    server.connection.send_frame(frame_of_size(1_000))
    assert arrivals(world, server, 150_000) == [(101_000, 1)]
    assert len(client.frames) == 1


def test_without_a_limit_a_frame_arrives_all_at_once():
    with LabMachines(seed=1, latency_us=LATENCY_US) as world:
        server, client = connect(world)
        client.connection.send_frame(frame_of_size(1_000_000))
        assert arrivals(world, server, 400_000) == [(LATENCY_US, 1)]


def test_a_cut_loses_what_has_not_quite_left_and_nothing_else(world):
    server, client = connect(world)
    lost: list[Parcel] = []
    world.network.cut_watchers.append(lost.append)
    for size in (1_000, 1_500, 700):
        client.connection.send_frame(frame_of_size(size))
    # The first has left and is on its way; the second is half across, the third waits.
    world.loop.run_events(1_000, world.loop.now_us + 100_500)
    world.network.cut(Partition(("client",), ("server",)))
    assert [(parcel.kind, len(parcel.data)) for parcel in lost] == [(ParcelKind.FRAME, 1_500), (ParcelKind.FRAME, 700)]
    assert client.connection.unsent_bytes == 1_000
    world.loop.run_events(1_000, world.loop.now_us + 400_000)
    assert len(server.frames) == 1
    assert client.connection.unsent_bytes == 0


def test_a_cut_elsewhere_or_in_the_other_direction_loses_nothing(world):
    server, client = connect(world)
    client.connection.send_frame(frame_of_size(1_000))
    world.network.cut(Partition(("server",), ("client",), one_way=True))
    world.network.cut(Partition(("server",), ("somebody",)))
    world.loop.run_events(1_000, world.loop.now_us + 400_000)
    assert len(server.frames) == 1

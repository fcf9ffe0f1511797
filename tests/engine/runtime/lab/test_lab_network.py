"""Latency, faults, pauses and crashes on simulated links."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.runtime.connection_limits import IDLE_TIMEOUT_MS
from engine.runtime.lab.lab_link_fault import OutOfOrder, Parcel, ParcelKind, Partition, PoorLink
from engine.runtime.lab.lab_runtime import LabMachines, LabNodeFailed
from engine.runtime.port import ConnectFailed
from tests.support.lab.runtime_handlers import CollectingHandler, EchoHandler, frame_of


@pytest.fixture
def world():
    with LabMachines(seed=1, latency_us=1_000) as lab_world:
        yield lab_world


def connect(world, server="server", client="client", handler_class=CollectingHandler):
    """Connected handlers: the server's, the client's."""
    accepted = []

    def make_handler():
        accepted.append(handler_class())
        return accepted[-1]

    server_runtime, client_runtime = world.node(server), world.node(client)
    listener = server_runtime.run(server_runtime.network.listen("", 0, make_handler))
    handler = CollectingHandler()
    client_runtime.run(client_runtime.network.connect(listener.address, handler, 1_000))
    return accepted[0], handler


class OnFrame:
    """A fault that does one thing to the frames with a given content."""

    def __init__(self, content, delays_us):
        self.content = content
        self.delays_us = delays_us

    def extra_delays_us(self, parcel):
        is_it = parcel.kind is ParcelKind.FRAME and parcel.data[4:] == self.content
        return self.delays_us if is_it else None


def send_numbers(handler, count=4):
    for number in range(count):
        handler.connection.send_frame(frame_of(b"frame%d" % number))


def test_every_node_has_an_address_of_its_own_and_keeps_it(world):
    addresses = [world.node(name).identity.host_ip for name in ("a", "b", "c")]
    assert addresses == ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
    assert world.restart("b").identity.host_ip == "10.0.0.2"


def test_a_frame_takes_the_latency_of_its_link(world):
    server, client = connect(world)
    world.network.latencies_us[("client", "server")] = 7_000
    begin_us = world.loop.now_us
    client.connection.send_frame(frame_of(b"slow"))
    world.run_until(lambda: server.frames)
    assert world.loop.now_us - begin_us == 7_000


def test_frames_stay_in_order_under_jitter():
    with LabMachines(seed=3, latency_us=10, jitter_us=5_000) as world:
        server, client = connect(world)
        send_numbers(client, 50)
        world.run_until(lambda: len(server.frames) == 50)
        assert server.frames == [b"frame%d" % number for number in range(50)]


def test_a_link_runs_its_callbacks_as_an_actor_of_the_receiver(world):
    _, client = connect(world)
    client.connection.send_frame(frame_of(b"hello"))
    world.run_for(10)
    arrival = world.journal.entries[-1]
    assert (arrival.actor, arrival.label) == ("client->server", "frame arrives")


def test_a_dropped_frame_is_gone_and_the_next_ones_arrive(world):
    server, client = connect(world)
    world.network.faults.append(OnFrame(b"frame1", ()))
    send_numbers(client)
    world.run_for(100)
    assert server.frames == [b"frame0", b"frame2", b"frame3"]


def test_a_doubled_frame_arrives_twice(world):
    server, client = connect(world)
    world.network.faults.append(OnFrame(b"frame1", (0, 20_000)))
    send_numbers(client, 3)
    world.run_for(100)
    assert server.frames == [b"frame0", b"frame1", b"frame1", b"frame2"]
    assert client.connection.unsent_bytes == 0


def test_a_delayed_frame_delays_all_behind_it(world):
    server, client = connect(world)
    world.network.faults.append(OnFrame(b"frame1", (50_000,)))
    send_numbers(client, 3)
    world.run_for(10)
    assert server.frames == [b"frame0"]
    world.run_for(50)
    assert server.frames == [b"frame0", b"frame1", b"frame2"]


@given(st.lists(st.lists(st.integers(0, 20_000), max_size=3).map(tuple), min_size=1, max_size=12), st.integers(0, 99))
def test_whatever_faults_do_to_single_frames_the_copies_arrive_in_the_order_of_sending(delays_of_frames, seed):
    with LabMachines(seed, jitter_us=900) as world:
        server, client = connect(world)
        for number, delays_us in enumerate(delays_of_frames):
            world.network.faults.append(OnFrame(b"frame%d" % number, delays_us))
        send_numbers(client, len(delays_of_frames))
        world.run_for(1_000)
        copies = [[b"frame%d" % number] * len(delays) for number, delays in enumerate(delays_of_frames)]
        assert server.frames == [frame for frames in copies for frame in frames]
        assert client.connection.unsent_bytes == 0


def test_nothing_crosses_a_partition_until_it_heals(world):
    server, client = connect(world)
    world.network.faults.append(Partition(("client",), ("server", "other")))
    send_numbers(client, 1)
    world.run_for(100)
    assert server.frames == []
    with pytest.raises(ConnectFailed, match="no answer within 500 ms"):
        world.node("client").run(world.node("client").network.connect("server:30000", CollectingHandler(), 500))
    world.network.faults.clear()
    send_numbers(client, 1)
    world.run_for(100)
    assert server.frames == [b"frame0"]


def test_a_one_way_partition_lets_the_other_direction_through(world):
    accepted, handler = connect(world)
    world.network.faults.append(Partition(("client",), ("server",), one_way=True))
    handler.connection.send_frame(frame_of(b"lost"))
    accepted.connection.send_frame(frame_of(b"arrives"))
    world.run_for(10)
    assert accepted.frames == []
    assert handler.frames == [b"arrives"]


def test_a_frame_out_of_order_is_overtaken_and_holds_nothing_back(world):
    accepted, handler = connect(world)
    world.network.faults.append(OnFrame(b"frame1", OutOfOrder((5_000,))))
    send_numbers(handler)
    world.run_for(2)
    assert accepted.frames == [b"frame0", b"frame2", b"frame3"]
    world.run_for(10)
    assert accepted.frames == [b"frame0", b"frame2", b"frame3", b"frame1"]


def test_watchers_learn_when_each_copy_really_arrives(world):
    _, handler = connect(world)
    reported = []
    world.network.parcel_watchers.append(lambda parcel, delays_us: reported.append((parcel.data[4:], delays_us)))
    world.network.faults += [OnFrame(b"frame1", (3_000,)), OnFrame(b"frame2", (0, 0)), OnFrame(b"frame3", ())]
    send_numbers(handler)
    assert reported == [(b"frame0", (1_000,)), (b"frame1", (4_000,)), (b"frame2", (4_000, 4_000)), (b"frame3", ())]


def poor_link(**properties):
    link = PoorLink("client", "server", random.Random(7))
    for name, value in properties.items():
        assert hasattr(link, name)
        setattr(link, name, value)
    return link


def opinions(link, count=1_000, kind=ParcelKind.FRAME):
    return [link.extra_delays_us(Parcel(kind, "client", "server", b"")) for _ in range(count)]


def test_a_poor_link_does_to_its_share_of_the_frames_what_it_is_asked():
    assert set(opinions(poor_link())) == {(0,)}
    assert set(opinions(poor_link(delay_us=5))) == {(5,)}
    assert 250 < opinions(poor_link(loss_ratio=0.3)).count(()) < 350
    assert 250 < opinions(poor_link(duplicate_ratio=0.3)).count((0, 0)) < 350
    late = [one for one in opinions(poor_link(reorder_ratio=0.3)) if isinstance(one, OutOfOrder)]
    assert 250 < len(late) < 350
    assert set(late) == {(20_000,)}


def test_a_poor_link_says_nothing_about_others_and_loses_no_connection():
    link = poor_link(loss_ratio=1.0)
    assert link.extra_delays_us(Parcel(ParcelKind.FRAME, "server", "client", b"")) is None
    assert opinions(link, 1, ParcelKind.CLOSE) == [(0,)]


def test_changing_one_ratio_does_not_change_what_another_hits():
    lost = [index for index, one in enumerate(opinions(poor_link(loss_ratio=0.2))) if one == ()]
    both = opinions(poor_link(loss_ratio=0.2, duplicate_ratio=0.5))
    assert [index for index, one in enumerate(both) if one == ()] == lost


def test_the_actors_of_a_world_are_its_tasks_and_its_links(world):
    connect(world)
    names = [actor.name for actor in world.actors()]
    assert "client->server" in names
    assert "server->client" in names


def test_a_crash_resets_the_connections_at_the_peer(world):
    server, client = connect(world)
    world.crash("server")
    world.run_for(10)
    assert client.lost_reasons == ["connection reset: the other process ended"]
    assert server.lost_reasons == []
    with pytest.raises(ConnectFailed, match="refused"):
        world.node("client").run(world.node("client").network.connect("server:30000", CollectingHandler(), 500))


def test_frames_sent_before_a_crash_arrive_before_the_reset(world):
    server, client = connect(world)
    server.connection.send_frame(frame_of(b"last words"))
    world.crash("server")
    world.run_for(10)
    assert client.calls == ["made", "frame", "lost"]


def test_a_silent_crash_leaves_a_half_open_connection_that_ends_by_idleness(world):
    _, client = connect(world)
    world.crash("server", silent=True)
    world.run_for(IDLE_TIMEOUT_MS - 1_000)
    assert client.lost_reasons == []
    with pytest.raises(ConnectFailed, match="no answer"):
        world.node("client").run(world.node("client").network.connect("server:30000", CollectingHandler(), 500))
    world.run_for(1_000)
    assert client.lost_reasons == ["idle for 120 s"]


def test_a_restarted_machine_resets_connections_that_it_does_not_know(world):
    _, client = connect(world)
    world.crash("server", silent=True)
    send_numbers(client, 1)
    world.run_for(100)
    assert client.lost_reasons == []
    world.restart("server")
    send_numbers(client, 1)
    world.run_for(100)
    assert client.lost_reasons == ["connection reset: the other end knows no such connection"]


def test_traffic_keeps_a_connection_open(world):
    server, client = connect(world, handler_class=EchoHandler)
    for _ in range(10):
        send_numbers(client, 1)
        world.run_for(IDLE_TIMEOUT_MS // 2)
    assert len(client.frames) == 10
    world.run_for(IDLE_TIMEOUT_MS)
    assert client.lost_reasons[0] in ("idle for 120 s", "closed by the other end")
    assert server.lost_reasons[0] in ("idle for 120 s", "closed by the other end")


def test_what_arrives_at_a_paused_node_waits_and_counts_as_unsent(world):
    server, client = connect(world)
    world.pause("server")
    send_numbers(client, 3)
    world.run_for(1_000)
    assert server.frames == []
    assert client.connection.unsent_bytes == 3 * len(frame_of(b"frame0"))
    world.resume("server")
    world.run_for(10)
    assert server.frames == [b"frame0", b"frame1", b"frame2"]
    assert client.connection.unsent_bytes == 0


def test_a_paused_node_still_accepts_connections_as_its_kernel_would(world):
    accepted = []

    def make_handler():
        accepted.append(CollectingHandler())
        return accepted[-1]

    server = world.node("server")
    server.run(server.network.listen("", 30_000, make_handler))
    client = world.node("client")
    client.run(client.network.connect("server:30000", CollectingHandler(), 1_000))
    world.pause("server")
    handler = CollectingHandler()
    other = world.node("other")
    other.run(other.network.connect("server:30000", handler, 1_000))
    assert handler.calls == ["made"]
    handler.connection.send_frame(frame_of(b"queued"))
    world.run_for(100)
    assert len(accepted) == 1, "nothing of a paused node runs, its kernel answers for it"
    world.resume("server")
    world.run_for(100)
    assert accepted[1].frames == [b"queued"]


def test_a_connect_that_timed_out_is_taken_back_at_the_server(world):
    server = world.node("server")
    handlers = []

    def make_handler():
        handlers.append(CollectingHandler())
        return handlers[-1]

    listener = server.run(server.network.listen("", 0, make_handler))
    world.network.latencies_us[("server", "client")] = 2_000_000
    handler = CollectingHandler()
    with pytest.raises(ConnectFailed, match="no answer"):
        world.node("client").run(world.node("client").network.connect(listener.address, handler, 1_000))
    world.run_for(5_000)
    assert handler.calls == []
    assert handlers[0].calls == ["made", "lost"]


def test_a_node_reaches_itself_by_loopback(world):
    node = world.node("both")
    handler = CollectingHandler()
    node.run(node.network.listen("", 10_911, EchoHandler))
    node.run(node.network.connect("127.0.0.1:10911", handler, 1_000))
    handler.connection.send_frame(frame_of(b"self"))
    world.run_until(lambda: handler.frames == [b"self"])


def test_an_unknown_host_is_named(world):
    with pytest.raises(ConnectFailed, match="no such host"):
        world.node("a").run(world.node("a").network.connect("nowhere:1", CollectingHandler(), 1_000))


def test_an_exception_that_leaves_a_handler_stops_the_run_where_it_happened(world):
    class Broken(CollectingHandler):
        def frame_received(self, frame):
            raise ValueError("a bug")

    _, client = connect(world, handler_class=Broken)
    send_numbers(client, 1)
    with pytest.raises(LabNodeFailed, match=r"client->server failed.*a bug"):
        world.run_for(100)


# ------------------------------------------------------------------------------------------------ ends that do not read


class Generous(CollectingHandler):
    """Answers each frame with 100 KB."""

    def frame_received(self, frame):
        super().frame_received(frame)
        self.connection.send_frame(frame_of(bytes(100_000)))


def test_requests_of_an_end_that_does_not_read_wait_until_it_reads_and_none_is_lost(world):
    server, client = connect(world, handler_class=Generous)
    send_numbers(client, 200)
    world.pause("client")
    world.run_for(100)
    assert len(server.frames) == 42
    assert not server.connection.has_room
    assert client.connection.unsent_bytes == sum(len(frame_of(b"frame%d" % number)) for number in range(42, 200))
    world.resume("client")
    world.run_until(lambda: len(client.frames) == 200)
    assert server.frames == [b"frame%d" % number for number in range(200)]
    assert server.connection.has_room


def test_many_that_do_not_read_share_one_budget_and_one_that_reads_is_served(world):
    runtime = world.node("server")
    listener = runtime.run(runtime.network.listen("", 0, Generous, unsent_limit_bytes=8_000_000))

    def connected(name):
        handler = CollectingHandler()
        node = world.node(name)
        node.run(node.network.connect(listener.address, handler, 1_000))
        return handler

    silent = [connected(f"silent{number}") for number in range(30)]
    reader = connected("reader")
    for number, handler in enumerate(silent):
        send_numbers(handler, 200)
        world.pause(f"silent{number}")
    world.run_for(100)
    assert 4_000_000 < listener.unsent_bytes < 8_000_000
    send_numbers(reader, 50)
    world.run_until(lambda: len(reader.frames) == 50)
    assert listener.cut_connections == 0


def test_when_even_first_replies_are_too_much_the_largest_that_does_not_read_is_cut_by_name(world, caplog):
    runtime = world.node("server")
    listener = runtime.run(runtime.network.listen("", 0, Generous, unsent_limit_bytes=450_000))
    handlers = []
    for number in range(5):
        node = world.node(f"silent{number}")
        handlers.append(CollectingHandler())
        node.run(node.network.connect(listener.address, handlers[-1], 1_000))
        send_numbers(handlers[-1], 3)
        world.pause(f"silent{number}")
    world.run_for(100)
    assert listener.cut_connections == 1
    assert listener.unsent_bytes <= 450_000
    assert "10.0.0.2:40000 is disconnected: it reads nothing" in caplog.text

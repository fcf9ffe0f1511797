"""Bad input of every kind: the broker answers or closes the connection, goes on, and its tables stay bounded."""

from __future__ import annotations

import asyncio
import logging

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.broker.foundation.broker_config import BrokerConfig
from engine.name_server.name_server import NameServer
from engine.protocol.command.remoting_command import (
    ONEWAY_FLAG,
    RESPONSE_FLAG,
    RemotingCommand,
    decode_command,
    encode_command,
)
from engine.protocol.errors import MalformedFrame
from engine.protocol.message.message_codec import decode_messages
from engine.protocol.response_code import ResponseCode
from engine.remoting.channel import Channel
from engine.remoting.remoting_server import RemotingServer
from engine.runtime.lab.lab_runtime import LabMachines
from engine.store.files.store_config import MessageStoreConfig
from tests.engine.broker.lab_broker import broker_lab
from tests.engine.broker.processors.frame_mutations import NASTY_TEXTS, FrameMutator, client_commands
from tests.support.tiers import examples

FRAMES_PER_EXAMPLE = 2_000

#: Small enough that every one of them is reached.
BOUNDS = BrokerConfig(
    max_topics=13,
    max_subscription_groups=11,
    max_online_groups=4,
    max_subscriptions_per_group=20,
    max_consumer_offset_entries=4,
    max_rebalance_locks=3,
    max_held_pull_requests=5,
)

STORE = MessageStoreConfig(mapped_file_size_commit_log=1 << 20, max_message_size=100_000)


class Wire:
    """A connection without a network: what is sent is kept as decoded commands."""

    remote_address = "192.0.2.1:5000"
    local_address = "192.0.2.2:10911"
    unsent_bytes = 0
    has_room = True

    def __init__(self) -> None:
        self.is_closing = False
        self.sent: list[RemotingCommand] = []

    def send_frame(self, frame: bytes) -> None:
        assert int.from_bytes(frame[:4], "big") == len(frame) - 4
        self.sent.append(decode_command(frame[4:]))

    def close(self) -> None:
        self.is_closing = True


class BadClient:
    """Feeds frames straight to the server's frame handler, on a new connection whenever one was closed."""

    def __init__(self, server: RemotingServer) -> None:
        self._server = server
        self.answers = 0
        self.connections = 0
        self._connect()

    def _connect(self) -> None:
        self.wire = Wire()
        self.channel: Channel = self._server._new_channel()
        self.channel.connection_made(self.wire)
        #: Numbers of the requests of this connection that may be answered, now or later.
        self._asked: dict[int, None] = {}
        self.connections += 1

    def feed(self, frame: bytes) -> None:
        """One frame; whatever it is, the handler must neither raise nor answer amiss."""
        self.channel.frame_received(frame)
        for sent in self.wire.sent:
            assert "internal error" not in (sent.remark or ""), (sent.remark, frame.hex())
            if sent.flag & RESPONSE_FLAG and sent.code != ResponseCode.SUCCESS:
                assert sent.remark, (sent.code, frame.hex())
            self.answers += 1
        opaque, is_oneway = self._asked_by(frame)
        if opaque is not None and not is_oneway:
            self._asked[opaque] = None
        elif opaque is not None and opaque not in self._asked:
            # Answers to earlier requests, which had to wait for somebody else, may come meanwhile.
            assert not any(sent.flag & RESPONSE_FLAG and sent.opaque == opaque for sent in self.wire.sent), frame.hex()
        self.wire.sent.clear()
        if self.wire.is_closing:
            self.disconnect()
            self._connect()

    def disconnect(self) -> None:
        """The connection ends."""
        self.channel.connection_lost("closed by the test")

    @staticmethod
    def _asked_by(frame: bytes) -> tuple[int | None, bool]:
        """The request's number, and whether it is oneway."""
        try:
            command = decode_command(frame)
        except MalformedFrame:
            return None, False  # what was sent meanwhile (a notification, say) was no answer to it
        return command.opaque, bool(command.flag & ONEWAY_FLAG)


@pytest.fixture(autouse=True)
def _quiet_log(caplog):
    """100,000 warnings are of no use to anybody; errors, which only bugs bring, still count."""
    logging.getLogger("glassmq").setLevel(logging.ERROR)
    yield
    logging.getLogger("glassmq").setLevel(logging.NOTSET)
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []


async def feed_all(client: BadClient, mutator: FrameMutator, count: int) -> None:
    for number in range(count):
        client.feed(mutator.next())
        if number % 50 == 0:
            await asyncio.sleep(0.05)  # virtual: lets the dispatcher, the hold service and timers run
    client.disconnect()


@settings(
    max_examples=examples(quick=6, full=55),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(seed=st.integers(0, 2**32 - 1))
def test_mutated_frames_leave_the_broker_serving_and_its_tables_bounded(seed):
    commands = client_commands("br")
    with broker_lab(BOUNDS, STORE, name_server=False) as lab:
        broker = lab.broker
        bad_client = BadClient(broker.server)
        lab.world.run(feed_all(bad_client, FrameMutator(commands, seed), FRAMES_PER_EXAMPLE), node="broker-a")
        assert bad_client.answers > FRAMES_PER_EXAMPLE // 10
        assert len(broker.topic_config_manager.topic_config_table) <= BOUNDS.max_topics
        assert len(broker.subscription_group_manager.subscription_group_table) <= BOUNDS.max_subscription_groups
        assert len(broker.consumer_offset_manager.offset_table) <= BOUNDS.max_consumer_offset_entries
        assert len(broker.rebalance_lock_manager) <= BOUNDS.max_rebalance_locks
        assert len(broker.pull_request_hold_service) <= BOUNDS.max_held_pull_requests
        assert set(broker.store.topics()) <= set(broker.topic_config_manager.topic_config_table)
        lab.run_for(6_000)
        assert len(broker.consumer_manager) == len(broker.producer_manager) == 0
        assert len(broker.pull_request_hold_service) == 0
        assert broker.server.channels == ()

        client = lab.client()
        sent = client.send("BenchmarkTest", b"still here", queue_id=7)
        assert sent.code == ResponseCode.SUCCESS
        offset = int(sent.ext_fields["queueOffset"])
        reply = client.pull("BenchmarkTest", 7, offset, group="TOOLS_CONSUMER")
        assert decode_messages(reply.body)[0].body == b"still here"


@settings(
    max_examples=examples(quick=2, full=10),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(seed=st.integers(0, 2**32 - 1))
def test_mutated_frames_leave_the_name_server_serving(seed):
    with LabMachines(seed=1) as world:
        server = NameServer(world.node("name-server"))
        world.run(server.start(), node="name-server")
        bad_client = BadClient(server.server)
        commands = client_commands("ns") + client_commands("br")[:3]
        for command in commands[-3:]:
            command.code = 103
            command.ext_fields = {
                "brokerName": "b",
                "brokerAddr": "192.0.2.9:10911",
                "clusterName": "c",
                "haServerAddr": "",
                "brokerId": "0",
                "bodyCrc32": "0",
                "compressed": "false",
            }
        commands[-1].body = b'{"topicConfigSerializeWrapper":{"topicConfigTable":{"T":{"topicName":"T"}}}}'
        world.run(feed_all(bad_client, FrameMutator(commands, seed), FRAMES_PER_EXAMPLE), node="name-server")
        world.run_for(1_000)
        assert server.route_info_manager.all_topics() == []
        assert bad_client.answers > 200


@settings(
    max_examples=examples(quick=30, full=150),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    data=st.data(),
    code=st.sampled_from(sorted({command.code for command in client_commands("br")})),
)
def test_any_header_values_get_an_answer(data, code):
    command = next(command for command in client_commands("br") if command.code == code)
    values = st.one_of(st.sampled_from(NASTY_TEXTS), st.text(max_size=50), st.integers().map(str), st.floats().map(str))
    names = sorted(command.ext_fields)
    fields = data.draw(st.lists(st.fixed_dictionaries({}, optional=dict.fromkeys(names, values)), max_size=20))
    bodies = data.draw(st.lists(st.binary(max_size=200), min_size=1, max_size=3))
    with broker_lab(BOUNDS, STORE, name_server=False) as lab:
        bad_client = BadClient(lab.broker.server)

        async def feed() -> None:
            for number, changed in enumerate(fields):
                request = RemotingCommand(
                    code, ext_fields={**command.ext_fields, **changed}, body=bodies[number % len(bodies)]
                )
                bad_client.feed(encode_command(request)[4:])
            await asyncio.sleep(0.1)

        lab.world.run(feed(), node="broker-a")
        assert not bad_client.wire.is_closing

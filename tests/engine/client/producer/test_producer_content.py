"""What a producer puts on the wire, and that it arrives in a real broker as it was meant. In the lab."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from engine.client import (
    DefaultMQProducer,
    ListSplitter,
    Message,
    MessageExt,
    MessageQueue,
    PullStatus,
    SendStatus,
    select_message_queue_by_hash,
)
from engine.protocol.command.headers import SendMessageRequestHeader
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.command.send_header_reader import decode_send_header_v2
from engine.protocol.enums import LanguageCode
from engine.protocol.message.batch_codec import decode_batch
from engine.protocol.message.message_properties import PROPERTY_UNIQUE_KEY, decode_properties
from engine.protocol.request_code import RequestCode
from engine.runtime.lab.lab_runtime import LabMachines
from engine.store.files.store_config import MessageStoreConfig
from tests.support.lab.foreign_sender import send_unchecked
from tests.support.lab.lab_cluster import LabCluster
from tests.support.lab.stub_server import StubServer, answer_routes, route_of, stored


@pytest.fixture
def cluster() -> Iterator[LabCluster]:
    with LabCluster(seed=5, store_config=MessageStoreConfig(mapped_file_size_commit_log=8 << 20)) as made:
        yield made


@pytest.fixture
def producer(cluster: LabCluster) -> DefaultMQProducer:
    made = cluster.producer("P", "producers")
    cluster.start(made)
    return made


def all_messages(cluster: LabCluster, topic: str) -> list[MessageExt]:
    """Everything in ``topic``, queue by queue."""
    consumer = cluster.pull_consumer("reader", "readers")
    cluster.start(consumer)

    async def read() -> list[MessageExt]:
        found: list[MessageExt] = []
        for queue in await consumer.fetch_subscribe_message_queues(topic):
            offset = 0
            while (result := await consumer.pull(queue, "*", offset)).status is PullStatus.FOUND:
                found += result.messages
                offset = result.next_begin_offset
        return found

    messages = cluster.run(consumer, read())
    cluster.stop(consumer)
    return messages


class Wire:
    """A producer and a stub that keeps what the producer sent."""

    def __init__(self) -> None:
        self.world = LabMachines(seed=2)
        self.stub = StubServer(self.world, "a")
        name_server = StubServer(self.world, "ns", 9876)
        routes = {topic: route_of({"a": self.stub.address}) for topic in ("T", "%RETRY%group")}
        name_server.script(answer_routes(routes), codes=(RequestCode.GET_ROUTEINFO_BY_TOPIC,))
        self.stub.script(stored())
        self.producer = DefaultMQProducer(self.world.node("P"), "g", name_server.address)
        self.world.run(self.producer.start(), node="P")

    def send(self, message: Message) -> tuple[RemotingCommand, SendMessageRequestHeader]:
        self.world.run(self.producer.send(message), node="P")
        command = self.stub.sends[-1]
        return command, decode_send_header_v2(command.ext_fields)


@pytest.fixture
def wire() -> Iterator[Wire]:
    made = Wire()
    yield made
    made.world.close()


# --- on the wire ------------------------------------------------------------------------------------------------------


def test_a_send_travels_with_one_letter_header_names_and_says_python(wire: Wire):
    message = Message("T", b"body", tags="A", keys=("k1", "k2"), properties={"colour": "red"}, flag=7)
    command, header = wire.send(message)
    assert command.code == RequestCode.SEND_MESSAGE_V2
    assert command.language == LanguageCode.PYTHON
    assert command.body == b"body"
    assert (header.producer_group, header.topic, header.flag, header.sys_flag) == ("g", "T", 7, 0)
    assert (header.default_topic, header.default_topic_queue_nums) == ("TBW102", 4)
    assert header.born_timestamp == wire.world.node("P").clock.now_ms() - 2, "two link latencies ago"
    properties = decode_properties(header.properties or "")
    unique_id = properties.pop(PROPERTY_UNIQUE_KEY)
    assert properties == {"TAGS": "A", "KEYS": "k1 k2", "colour": "red"}
    assert len(unique_id) == 32


@pytest.mark.parametrize(("size", "compressed"), [(4_095, False), (4_096, True)])
def test_bodies_from_4096_bytes_on_are_compressed(wire: Wire, size: int, compressed: bool):
    message = Message("T", b"a" * size)
    command, header = wire.send(message)
    assert header.sys_flag == (0x301 if compressed else 0)
    assert (len(command.body) < size) == compressed
    assert message.body == b"a" * size, "the sender's message stays as it was"


def test_a_message_keeps_the_unique_id_it_has(wire: Wire):
    message = Message("T", b"x")
    first = wire.world.run(wire.producer.send(message), node="P")
    second = wire.world.run(wire.producer.send(message), node="P")
    assert first.message_id == second.message_id == message.unique_id


def test_two_clients_of_one_process_never_give_the_same_id(wire: Wire):
    other = DefaultMQProducer(wire.world.node("P"), "g2", "10.0.0.2:9876")
    ids = {producer._unique_ids.next() for producer in (wire.producer, other) for _ in range(500)}
    assert len(ids) == 1_000


def test_messages_to_a_retry_topic_carry_their_counters_in_the_header(wire: Wire):
    counters = {"RECONSUME_TIME": "4", "MAX_RECONSUME_TIMES": "9", "RETRY_TOPIC": "T"}
    wire.world.run(send_unchecked(wire.producer, Message("%RETRY%group", b"x"), **counters), node="P")
    header = decode_send_header_v2(wire.stub.sends[-1].ext_fields)
    assert (header.reconsume_times, header.max_reconsume_times) == (4, 9)
    assert "RECONSUME_TIME" not in (header.properties or "")
    assert decode_properties(header.properties or "")["RETRY_TOPIC"] == "T"


def test_a_half_message_is_marked_as_prepared(wire: Wire):
    wire.world.run(send_unchecked(wire.producer, Message("T", b"x"), TRAN_MSG="true"), node="P")
    assert decode_send_header_v2(wire.stub.sends[-1].ext_fields).sys_flag == 0x4


def test_a_batch_is_one_request_with_all_messages(wire: Wire):
    messages = [Message("T", b"%d" % number, tags=f"tag{number}") for number in range(3)]
    result = wire.world.run(wire.producer.send_batch(messages), node="P")
    (command,) = wire.stub.sends
    assert command.code == RequestCode.SEND_BATCH_MESSAGE
    header = decode_send_header_v2(command.ext_fields)
    assert (header.batch, header.sys_flag) == (True, 0)
    assert decode_properties(header.properties or "") == {"WAIT": "true"}
    assert [body for _, body, _ in decode_batch(command.body)] == [b"0", b"1", b"2"]
    assert result.message_id == ",".join(message.unique_id or "" for message in messages)


def test_a_batch_that_is_too_large_is_refused_with_the_way_out(wire: Wire):
    messages = [Message("T", bytes(1_000_000)) for _ in range(5)]
    with pytest.raises(ValueError, match=r"5 messages takes 5000\d+ bytes; allowed: at most 4194304.*ListSplitter"):
        wire.world.run(wire.producer.send_batch(messages), node="P")
    assert wire.stub.sends == []


@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        (Message("T", b""), "message 1 of the batch: the message body is empty"),
        (Message("T", bytes(4_194_305)), "message 1 of the batch: the message body has 4194305 bytes; .* 4194304"),
        (Message("T", b"x", properties={"p": "y" * 40_000}), "message 1 of the batch: the properties take .* 32767"),
        (Message("T", b"x", delay_level=2), "message 1 has delay level 2"),
        (Message("Other", b"x"), "message 1 has topic 'Other'"),
    ],
)
def test_a_batch_with_one_bad_message_names_it_and_sends_nothing(wire: Wire, bad: Message, complaint: str):
    with pytest.raises(ValueError, match=complaint):
        wire.world.run(wire.producer.send_batch([Message("T", b"good"), bad]), node="P")
    assert wire.stub.sends == []


def test_a_single_message_that_the_splitter_left_alone_is_refused_without_talk_of_cutting(wire: Wire):
    (batch,) = ListSplitter([Message("T", bytes(4_194_304))])
    with pytest.raises(ValueError, match=r"message 0 takes 4194\d+ bytes; allowed: at most 4194304 .*alone"):
        wire.world.run(wire.producer.send_batch(batch), node="P")
    assert wire.stub.sends == []


# --- in a real broker -------------------------------------------------------------------------------------------------


def test_what_was_sent_is_what_is_read(cluster: LabCluster, producer: DefaultMQProducer):
    sent = Message("T", random.Random(1).randbytes(50_000), tags="A", keys="key", properties={"x": "y"}, flag=3)
    result = cluster.run(producer, producer.send(sent))
    assert result.status is SendStatus.SEND_OK
    (read,) = all_messages(cluster, "T")
    assert (read.body, read.tags, read.keys, read.flag) == (sent.body, "A", ("key",), 3)
    assert read.properties["x"] == "y"
    assert (read.message_id, read.offset_message_id) == (result.message_id, result.offset_message_id)
    assert MessageQueue("T", "broker-a", read.queue_id) == result.message_queue
    assert read.queue_offset == result.queue_offset
    assert read.born_host.startswith(producer.instance.runtime.identity.host_ip)


def test_thousands_of_small_messages_split_into_batches_that_a_broker_takes(
    cluster: LabCluster, producer: DefaultMQProducer
):
    messages = [Message("T", b"%06d" % number) for number in range(20_000)]

    async def send() -> int:
        batches = list(ListSplitter(messages))
        for batch in batches:
            await producer.send_batch(batch, queue=MessageQueue("T", "broker-a", 0))
        return len(batches)

    assert cluster.run(producer, send()) == 2
    read = all_messages(cluster, "T")
    assert [message.body for message in read] == [message.body for message in messages]
    assert [message.queue_offset for message in read] == list(range(20_000))


def test_messages_with_one_key_stay_in_one_queue_in_order(cluster: LabCluster, producer: DefaultMQProducer):
    async def send() -> None:
        for number in range(60):
            order = f"order-{number % 7}"
            message = Message("T", b"%d" % number, keys=order)
            await producer.send(message, selector=select_message_queue_by_hash, selector_argument=order)

    cluster.run(producer, send())
    queue_of: dict[str, set[int]] = {}
    steps: dict[str, list[int]] = {}
    for message in all_messages(cluster, "T"):
        queue_of.setdefault(message.keys[0], set()).add(message.queue_id)
        steps.setdefault(message.keys[0], []).append(int(message.body))
    assert all(len(queues) == 1 for queues in queue_of.values())
    assert all(numbers == sorted(numbers) for numbers in steps.values())
    assert len(steps) == 7


def test_create_topic_sets_the_number_of_queues(cluster: LabCluster, producer: DefaultMQProducer):
    cluster.run(producer, producer.create_topic("Wide", queue_nums=12))
    queues = cluster.run(producer, producer.fetch_publish_message_queues("Wide"))
    assert [queue.queue_id for queue in queues] == list(range(12))


def test_sends_go_on_while_one_of_two_brokers_is_down():
    with LabCluster(seed=9, brokers=2) as cluster:
        producer = cluster.producer("P", "g")
        cluster.start(producer)
        cluster.run(producer, producer.create_topic("T"))

        async def send(count: int) -> set[str]:
            results = [await producer.send(Message("T", b"x")) for _ in range(count)]
            return {result.message_queue.broker_name for result in results}

        assert cluster.run(producer, send(8)) == {"broker-a", "broker-b"}
        cluster.world.crash("broker-a")
        assert cluster.run(producer, send(16)) == {"broker-b"}
        cluster.restart_broker("broker-a")
        cluster.world.run_for(35_000)
        assert cluster.run(producer, send(8)) == {"broker-a", "broker-b"}

"""How a partition of rows reaches a broker: queues, batches, order, retries, and nothing twice. Needs no Spark."""

from __future__ import annotations

import random
import zlib
from dataclasses import replace
from itertools import count

import pyarrow as pa
import pytest

from engine.pipeline.source import writer_sender
from engine.pipeline.source.cluster import Cluster
from engine.pipeline.source.errors import RocketMQError
from engine.pipeline.source.node_client import NodeClient
from engine.pipeline.source.queue_offsets import QueueKey
from engine.pipeline.source.writer import MessageStreamWriter, SentPartition
from engine.pipeline.source.writer_options import WriteOptions
from engine.pipeline.source.writer_replay import WriteIdentity, read_messages, read_notes, write_notes
from engine.pipeline.source.writer_rows import RowReader
from engine.pipeline.source.writer_sender import PartitionSender
from engine.protocol.compression import DECOMPRESSED_MAX_BYTES, ZLIB_SYSTEM_FLAG
from engine.protocol.java_hash import java_string_hash
from engine.protocol.remoting_command import RemotingCommand
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode
from engine.runtime.blocking_connection import ConnectionLost
from tests.support.live_server import LiveServer

FIRST = WriteIdentity("00112233aabbccdd", 7, 1, may_repeat=False, is_noted=False)
AGAIN = replace(FIRST, may_repeat=True, is_noted=True)
numbers = count(1)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with LiveServer(tmp_path_factory.mktemp("writer"), page=False) as running:
        yield running


@pytest.fixture
def topic(server):
    name = f"Written{next(numbers)}"
    server.create_topic(name)
    return name


@pytest.fixture
def options(server, topic):
    return WriteOptions.parse({"nameServer": server.name_servers[0], "topic": topic})


@pytest.fixture
def cluster(options):
    opened = Cluster(options.cluster)
    yield opened
    opened.close()


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(writer_sender, "_FIRST_PAUSE_S", 0.001)


def rows(options, **columns):
    """What the columns of one record batch say."""
    return list(RowReader(options.topic, copies_messages=False).read(pa.RecordBatch.from_pydict(columns)))


def send(options, cluster, identity, outgoing):
    sender = PartitionSender(options, identity, cluster, {})
    sender.send(outgoing)
    sender.finish()
    return sender


def stored(cluster, topic):
    """Queue number -> its messages."""
    queues = cluster.queues([topic])
    ends = cluster.max_offsets(queues)
    return {queue.queue_id: list(read_messages(cluster, queue, 0, ends[queue])) for queue in queues}


def bodies(cluster, topic):
    return sorted(message.body.decode() for messages in stored(cluster, topic).values() for message in messages)


class BadLine(Cluster):
    """A cluster behind a line that may lose requests or replies, or answer in the broker's stead.

    ``faults`` are for the requests that send, one after the other: "request" or "reply" is lost, a number is the code
    of the answer, None lets it pass; a function is called before the reply is lost.
    """

    def __init__(self, options, *faults):
        super().__init__(options)
        self.faults = list(faults)

    def client(self, address):
        client = self._clients.get(address)
        if client is None:
            client = self._clients[address] = BadClient(address, self._options, self.faults)
        return client


class BadClient(NodeClient):
    def __init__(self, address, options, faults):
        super().__init__(address, options)
        self._faults = faults
        self._fault = None

    def send(self, requests):
        requests = list(requests)
        sends = requests[0].code in (RequestCode.SEND_BATCH_MESSAGE, RequestCode.SEND_MESSAGE_V2)
        self._fault = self._faults.pop(0) if sends and self._faults else None
        if self._fault == "request":
            raise ConnectionLost("the line is down")
        return super().send(requests) if not isinstance(self._fault, int) else []

    def receive(self):
        if isinstance(self._fault, int):
            return RemotingCommand(self._fault, remark="says the test")
        answer = super().receive()
        if callable(self._fault):
            self._fault()
        if self._fault is not None:
            raise ConnectionLost("the line is down")
        return answer


# ---------------------------------------------------------------------------------------------------- what is stored


def test_a_row_becomes_a_message(options, cluster, topic):
    columns = {"body": [b"one"], "keys": [["k1", "k2"]], "tags": ["T"], "properties": [[("shop", "7")]]}
    batch = pa.RecordBatch.from_arrays(
        [pa.array(columns["body"]), pa.array(columns["keys"]), pa.array(columns["tags"]),
         pa.array(columns["properties"], pa.map_(pa.string(), pa.string()))], names=list(columns)
    )  # fmt: skip
    send(options, cluster, FIRST, RowReader(topic, copies_messages=False).read(batch))
    (message,) = [message for messages in stored(cluster, topic).values() for message in messages]
    assert (message.body, message.keys, message.tags) == (b"one", ("k1", "k2"), "T")
    assert message.properties["shop"] == "7"
    assert len(message.unique_id) == 32
    assert message.properties["SPARK_TXN"].startswith("00112233aabbccdd/7/1/")
    assert message.born_timestamp > 0


def test_rows_take_turns_over_the_queues(options, cluster, topic):
    sender = send(options, cluster, FIRST, rows(options, body=[f"{n}" for n in range(100)]))
    assert [len(messages) for messages in stored(cluster, topic).values()] == [25, 25, 25, 25]
    assert sender.sent == 100


def test_rows_of_a_sharding_key_are_in_the_queue_of_its_java_hash_in_their_order(options, cluster, topic):
    keys = [f"account-{n % 5}" for n in range(50)]
    send(
        replace(options, batch_bytes=700),
        cluster,
        FIRST,
        rows(options, body=[f"{n:02}" for n in range(50)], sharding_key=keys),
    )
    found = stored(cluster, topic)
    for key in set(keys):
        queue = found[abs(java_string_hash(key)) % 4]
        of_key = [message.body.decode() for message in queue if f"account-{int(message.body) % 5}" == key]
        assert of_key == [f"{n:02}" for n in range(50) if keys[n] == key]


def test_a_row_can_name_its_queue(options, cluster, topic):
    send(options, cluster, FIRST, rows(options, body=["a", "b"], queue_id=[2, 2]))
    assert [len(messages) for messages in stored(cluster, topic).values()] == [0, 0, 2, 0]


def test_a_queue_that_is_not_there_is_refused_with_those_that_are(options, cluster, topic):
    with pytest.raises(RocketMQError, match=rf"'queue_id' 9 is no queue .*{topic}.* has .*:0, .*:3"):
        send(options, cluster, FIRST, rows(options, body=["a"], queue_id=[9]))


def test_batches_keep_to_their_size(options, cluster, topic):
    sizes = []

    class Counted(PartitionSender):
        def _request(self, queue, messages):
            request = super()._request(queue, messages)
            sizes.append((len(messages), len(request.body)))
            return request

    sender = Counted(replace(options, batch_bytes=10_000), FIRST, cluster, {})
    sender.send(rows(options, body=["x" * 1_000] * 100 + ["y" * 20_000]))
    sender.finish()
    assert sum(number for number, _ in sizes) == 101
    assert all(number == 1 or size <= 10_000 for number, size in sizes)
    assert 12 < len(sizes) < 40


def test_delayed_rows_travel_alone_and_come_later(options, cluster, topic):
    sender = send(options, cluster, FIRST, rows(options, body=["now", "later", "now"], delay_level=[None, 16, 0]))
    assert sender.sent == 3
    assert bodies(cluster, topic) == ["now", "now"]


def test_what_fits_into_no_batch_travels_alone_and_a_body_beyond_the_limit_is_compressed(options, cluster, topic):
    small = replace(options, max_message_bytes=1_500)
    nearly, long = "n" * 1_480, "x" * 2_000
    assert send(small, cluster, FIRST, rows(options, body=["a", nearly, long, "b"], queue_id=[0] * 4)).sent == 4
    found = stored(cluster, topic)[0]
    assert [len(message.body) for message in found[:2]] == [1, 1_480] and found[3].body == b"b"
    assert found[2].sys_flag & ZLIB_SYSTEM_FLAG == ZLIB_SYSTEM_FLAG and zlib.decompress(found[2].body) == long.encode()
    assert {message.unique_id for message in found} and all("SPARK_TXN" in message.properties for message in found)
    again = send(small, cluster, AGAIN, rows(options, body=[long], queue_id=[0]))
    assert again.left_out == 1, "it is known again"


def test_a_body_that_is_too_long_even_compressed_is_refused_by_number_and_size(options, cluster, topic):
    noise = random.Random(1).randbytes(2_000)
    with pytest.raises(
        RocketMQError, match=r"row 1 of its partition: 'body' has 2000 bytes, compressed 20\d\d; allowed: at most 1500"
    ):
        send(replace(options, max_message_bytes=1_500), cluster, FIRST, rows(options, body=[b"a", noise]))


def test_a_body_that_no_reader_would_decompress_is_not_written(options, cluster, topic):
    with pytest.raises(RocketMQError, match=r"row 0 .*'body' has 67108865 bytes; allowed: at most 67108864"):
        send(options, cluster, FIRST, rows(options, body=[bytes(DECOMPRESSED_MAX_BYTES + 1)]))


def test_properties_that_leave_no_room_are_refused_by_number_and_size(options, cluster, topic):
    properties = pa.array([[("wide", "x" * 32_600)]], pa.map_(pa.string(), pa.string()))
    batch = pa.RecordBatch.from_arrays([pa.array(["a"]), properties], ["body", "properties"])
    outgoing = RowReader(topic, copies_messages=False).read(batch)
    with pytest.raises(RocketMQError, match=r"row 0 .* keys, tags and properties take 32\d+ bytes; allowed: at most"):
        send(options, cluster, FIRST, outgoing)


def test_a_topic_that_nobody_may_send_to_is_refused(options, cluster):
    with pytest.raises(RocketMQError, match="SCHEDULE_TOPIC_XXXX"):
        send(options, cluster, FIRST, rows(options, body=["a"], topic=["SCHEDULE_TOPIC_XXXX"]))


# ------------------------------------------------------------------------------------------------------- trying again


def test_a_lost_request_is_sent_again(options, topic, cluster):
    line = BadLine(options.cluster, "request", "request")
    assert send(options, line, FIRST, rows(options, body=["a", "b"], queue_id=[0, 0])).sent == 2
    assert bodies(cluster, topic) == ["a", "b"]


def test_after_a_lost_reply_what_is_stored_is_not_sent_again(options, topic, cluster):
    line = BadLine(options.cluster, None, "reply", "reply", "request")
    sender = send(replace(options, batch_bytes=300), line, FIRST, rows(options, body=list("abcdef"), queue_id=[1] * 6))
    assert sender.sent == 6
    assert bodies(cluster, topic) == list("abcdef")
    line.close()


def test_a_flood_of_others_hides_nothing_after_a_lost_reply(options, topic, cluster):
    few = replace(options, replay_lookback=5, batch_bytes=300)

    def flood():
        others = replace(FIRST, name="ee" * 8)
        send(few, cluster, others, rows(few, body=["other"] * 50, queue_id=[1] * 50))

    line = BadLine(options.cluster, None, flood)
    assert send(few, line, FIRST, rows(few, body=list("ab"), queue_id=[1, 1])).sent == 2
    assert sorted(set(bodies(cluster, topic))) == ["a", "b", "other"] and len(bodies(cluster, topic)) == 52
    line.close()


@pytest.mark.parametrize(
    "code", [ResponseCode.SYSTEM_BUSY, ResponseCode.SERVICE_NOT_AVAILABLE, ResponseCode.SYSTEM_ERROR]
)
def test_a_broker_that_cannot_take_it_now_is_asked_again(options, topic, cluster, code):
    line = BadLine(options.cluster, int(code), int(code))
    assert send(options, line, FIRST, rows(options, body=["a"])).sent == 1
    assert bodies(cluster, topic) == ["a"]


def test_a_refusal_that_lasts_ends_the_write_at_once(options, topic):
    line = BadLine(options.cluster, int(ResponseCode.NO_PERMISSION))
    with pytest.raises(
        RocketMQError, match=r"1 messages could not be sent in 1 try, none of them is stored: .*says the test"
    ):
        send(options, line, FIRST, rows(options, body=["a"]))


@pytest.mark.parametrize(
    ("fault", "outcome"),
    [(int(ResponseCode.SYSTEM_BUSY), "none of them is stored"), ("request", "whether they are stored is not known")],
)
def test_when_the_tries_are_used_up_the_error_says_whether_the_outcome_is_known(options, topic, fault, outcome):
    line = BadLine(options.cluster, *[fault] * 9)
    with pytest.raises(RocketMQError, match=f"in 3 tries, {outcome}"):
        send(replace(options, send_retries=2), line, FIRST, rows(options, body=["a"]))


# ----------------------------------------------------------------------------------------------------- nothing twice


def test_a_repetition_leaves_out_what_is_there(options, cluster, topic):
    outgoing = [f"{n % 7}" for n in range(60)]
    send(options, cluster, FIRST, rows(options, body=outgoing[:25]))
    # The second try brings the rows in another order, as a shuffle may.
    sender = send(options, cluster, AGAIN, rows(options, body=outgoing[::-1]))
    assert (sender.left_out, sender.sent) == (25, 35)
    assert bodies(cluster, topic) == sorted(outgoing)


def test_other_partitions_micro_batches_and_queries_are_no_repetition(options, cluster, topic):
    for identity in (FIRST, replace(FIRST, partition=2), replace(FIRST, batch=8), replace(FIRST, name="ff" * 8)):
        assert send(options, cluster, replace(identity, may_repeat=True), rows(options, body=["same"])).left_out == 0
    assert len(bodies(cluster, topic)) == 4


def test_a_flood_of_others_does_not_hide_what_is_there(options, cluster, topic):
    few = replace(options, replay_lookback=5)
    send(few, cluster, AGAIN, rows(few, body=["mine"], queue_id=[0]))
    send(few, cluster, replace(FIRST, name="ee" * 8), rows(few, body=[f"{n}" for n in range(200)], queue_id=[0] * 200))
    assert send(few, cluster, AGAIN, rows(few, body=["mine"], queue_id=[0])).left_out == 1


def test_without_a_note_the_search_goes_back_by_number_of_messages(options, cluster, topic):
    unnoted = replace(AGAIN, is_noted=False)
    few = replace(options, replay_lookback=5)
    for others, left_out in ((4, 1), (5, 0)):
        send(few, cluster, FIRST, rows(few, body=[f"mine {others}"], queue_id=[0]))
        send(few, cluster, replace(FIRST, name="ee" * 8), rows(few, body=["other"] * others, queue_id=[0] * others))
        assert send(few, cluster, unnoted, rows(few, body=[f"mine {others}"], queue_id=[0])).left_out == left_out


def test_a_broker_that_knows_no_note_has_none(options, cluster, topic):
    queue = cluster.queues([topic])[0]
    assert isinstance(queue, QueueKey)
    assert read_notes(cluster, "dd" * 8, [queue]) == {}


def test_numbered_writes_leave_two_offsets_per_queue_however_many_they_are(server, options, cluster, topic):
    for number in range(5):
        identity = replace(AGAIN, name="cc" * 8, batch=number, is_numbered=True)
        assert send(options, cluster, identity, rows(options, body=["same"])).left_out == 0
        assert send(options, cluster, identity, rows(options, body=["same"])).left_out == 1
    table = server.host._broker.consumer_offset_manager.offset_table
    assert sorted(name for name in table if topic in name) == [
        f"{topic}@SPARK_SINK_cccccccccccccccc",
        f"{topic}@SPARK_SINK_cccccccccccccccc_NUMBER",
    ]
    queues = cluster.queues([topic])
    assert read_notes(cluster, f"{'cc' * 8}_NUMBER", queues) == dict.fromkeys(queues, 4)


def test_a_note_holds_for_its_own_number_only(options, cluster, topic):
    """The one of an older write would make the search long; the newest survives a flood of others."""
    few = replace(options, replay_lookback=5)
    (queue,) = [queue for queue in cluster.queues([topic]) if queue.queue_id == 0]
    first, second = (replace(AGAIN, name="bb" * 8, batch=number, is_numbered=True) for number in (0, 1))
    send(few, cluster, first, rows(few, body=["mine"], queue_id=[0]))
    flood = rows(few, body=["other"] * 50, queue_id=[0] * 50)
    send(few, cluster, FIRST, flood)
    assert send(few, cluster, first, rows(few, body=["mine"], queue_id=[0])).left_out == 1
    send(few, cluster, second, rows(few, body=["mine"], queue_id=[0]))
    assert read_notes(cluster, "bb" * 8, [queue]) == {queue: 46}, "5 before the end, not where the first began"


def test_a_note_from_before_the_queue_was_made_again_is_not_believed(options, cluster, topic):
    queues = cluster.queues([topic])
    send(options, cluster, FIRST, rows(options, body=["mine"], queue_id=[0]))
    write_notes(cluster, AGAIN.name, dict.fromkeys(queues, 700))
    assert send(options, cluster, AGAIN, rows(options, body=["mine"], queue_id=[0])).left_out == 1
    assert read_notes(cluster, AGAIN.name, queues) == dict.fromkeys(queues, 0)


def test_a_search_ends_where_it_was_told(options, cluster, topic):
    send(options, cluster, FIRST, rows(options, body=list("abcde"), queue_id=[0] * 5))
    (queue,) = [queue for queue in cluster.queues([topic]) if queue.queue_id == 0]
    assert [message.body for message in read_messages(cluster, queue, 1, 3)] == [b"b", b"c"]


def test_the_end_of_a_micro_batch_notes_where_it_began(options, cluster, topic):
    left, right = cluster.queues([topic])[:2]
    parts = [SentPartition(FIRST.name, 5, 0, {left: 40, right: 7}), SentPartition(FIRST.name, 5, 0, {left: 38}), None]
    writer = MessageStreamWriter(options)
    writer.commit(parts, 20)
    assert read_notes(cluster, FIRST.name, [left, right]) == {left: 38, right: 7}
    # Not every time: an older note serves as well.
    writer.commit([SentPartition(FIRST.name, 1, 0, {left: 99})], 21)
    assert read_notes(cluster, FIRST.name, [left]) == {left: 38}


def test_a_note_that_cannot_be_written_fails_no_query(options, topic):
    away = replace(options, cluster=replace(options.cluster, name_servers=("127.0.0.1:1",)))
    MessageStreamWriter(away).commit([SentPartition(FIRST.name, 1, 0, {QueueKey(topic, "broker-a", 0): 1})], 0)


def test_messages_for_a_retry_topic_travel_alone(server, options, cluster):
    retry = f"%RETRY%writer_group_{next(numbers)}"
    server.create_topic(retry)
    send(options, cluster, FIRST, rows(options, topic=[retry] * 2, body=["a", "b"]))
    assert bodies(cluster, retry) == ["a", "b"]

"""How a partition of rows reaches a broker: queues, batches, order, retries. Needs no Spark."""

from __future__ import annotations

import random
import zlib
from dataclasses import replace

import pyarrow as pa
import pytest

from engine.pipeline.source.cluster.errors import RocketMQError
from engine.pipeline.source.writer import writer_sender
from engine.pipeline.source.writer.writer_rows import RowReader
from engine.pipeline.source.writer.writer_sender import PartitionSender
from engine.protocol.java_hash import java_string_hash
from engine.protocol.message.compression import DECOMPRESSED_MAX_BYTES, ZLIB_SYSTEM_FLAG
from engine.protocol.response_code import ResponseCode
from tests.support.pipeline.partition_writes import AGAIN, FIRST, OTHERS, BadLine, bodies, rows, send, stored


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(writer_sender, "_FIRST_PAUSE_S", 0.001)


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
    with pytest.raises(RocketMQError, match=rf"'queue_id' 9 is not a writable queue; '{topic}' has .*:0, .*:3"):
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


def test_messages_for_a_retry_topic_travel_alone(server, options, cluster, topic):
    retry = f"%RETRY%writer_group_{topic}"
    server.create_topic(retry)
    send(options, cluster, FIRST, rows(options, topic=[retry] * 2, body=["a", "b"]))
    assert bodies(cluster, retry) == ["a", "b"]


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


def test_after_a_delayed_row_a_lost_reply_is_looked_for_in_the_right_place(options, topic, cluster):
    """The reply to a delayed message tells an offset of the queue where it waits, here a higher one."""
    send(options, cluster, OTHERS, rows(options, body=["other"] * 9, delay_level=[17] * 9))
    columns = {"body": ["later", *(f"{n:02}" for n in range(20))], "delay_level": [17] + [None] * 20}
    line = BadLine(options.cluster, None, "reply")
    sender = send(options, line, FIRST, rows(options, **columns, queue_id=[0] * 21))
    assert sender.sent == 21
    assert bodies(cluster, topic) == [f"{n:02}" for n in range(20)]
    line.close()


def test_a_flood_of_others_hides_nothing_after_a_lost_reply(options, topic, cluster):
    few = replace(options, replay_lookback=5, batch_bytes=300)

    def flood():
        send(few, cluster, OTHERS, rows(few, body=["other"] * 50, queue_id=[1] * 50))

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

"""A partition that is written again: nothing twice, nothing lost, no search longer than needed. Needs no Spark."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import pyarrow as pa
import pytest

from engine.pipeline.source.cluster.cluster import Cluster
from engine.pipeline.source.cluster.errors import RocketMQError
from engine.pipeline.source.cluster.queue_offsets import QueueKey
from engine.pipeline.source.writer import writer, writer_sender
from engine.pipeline.source.writer.writer import MessageStreamWriter, SentPartition
from engine.pipeline.source.writer.writer_options import WriteOptions
from engine.pipeline.source.writer.writer_replay import find_earlier, read_notes, sent_messages, write_notes
from engine.pipeline.source.writer.writer_sender import PartitionSender
from engine.protocol.java_hash import java_string_hash
from engine.protocol.response_code import ResponseCode
from tests.support.live.scripted_broker import ScriptedBroker, stored_message
from tests.support.pipeline.partition_writes import AGAIN, FIRST, OTHERS, bodies, rows, send, stored


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(writer_sender, "_FIRST_PAUSE_S", 0.001)


def test_a_repetition_leaves_out_what_is_there(options, cluster, topic):
    outgoing = [f"{n % 7}" for n in range(60)]
    send(options, cluster, FIRST, rows(options, body=outgoing[:25]))
    # The second try brings the rows in another order, as a shuffle may.
    sender = send(options, cluster, AGAIN, rows(options, body=outgoing[::-1]))
    assert (sender.left_out, sender.sent) == (25, 35)
    assert bodies(cluster, topic) == sorted(outgoing)


def test_rows_that_say_the_same_but_go_elsewhere_are_not_taken_for_each_other(options, cluster, topic):
    small = replace(options, batch_bytes=700)
    of_queue = {abs(java_string_hash(key)) % 4: key for key in "ABCD"}
    columns = {"body": ["tick"] * 4, "sharding_key": [of_queue[1], of_queue[0], of_queue[0], of_queue[0]]}
    # The task dies when the first queue's batch is full: the other's row still waits.
    PartitionSender(small, FIRST, cluster, {}).send(rows(small, **columns))
    assert [len(messages) for messages in stored(cluster, topic).values()] == [2, 0, 0, 0]
    assert send(small, cluster, AGAIN, rows(small, **columns)).left_out == 2
    assert [len(messages) for messages in stored(cluster, topic).values()] == [3, 1, 0, 0]


def test_a_repetition_tells_where_the_first_try_began(options, cluster, topic):
    """The note of the micro-batch is made of it: one from the second try's own messages on would be too late."""
    queue = QueueKey(topic, "broker-a", 2)
    for identity, words in ((FIRST, ["a"]), (OTHERS, ["other"] * 5), (AGAIN, ["a", "b"])):
        firsts = send(options, cluster, identity, rows(options, body=words, queue_id=[2] * len(words))).firsts
    assert firsts == {queue: 0}


def test_delayed_rows_do_not_say_where_a_micro_batch_begins(options, cluster, topic):
    """The reply to one tells an offset of the queue where it waits, here a higher one."""
    send(options, cluster, OTHERS, rows(options, body=["other"] * 30, delay_level=[16] * 30))
    columns = {"body": ["later", *"abcdef"], "delay_level": [16] + [None] * 6, "queue_id": [0] * 7}
    first_batch = replace(AGAIN, batch=0)
    sender = send(options, cluster, first_batch, rows(options, **columns))
    assert sender.firsts == {QueueKey(topic, "broker-a", 0): 0}
    MessageStreamWriter(options).commit([SentPartition(AGAIN.name, sender.firsts)], 0)
    assert send(options, cluster, first_batch, rows(options, **columns)).left_out == 6


def test_other_partitions_micro_batches_and_queries_are_no_repetition(options, cluster, topic):
    for identity in (FIRST, replace(FIRST, partition=2), replace(FIRST, batch=8), replace(FIRST, name="ff" * 8)):
        assert send(options, cluster, replace(identity, may_repeat=True), rows(options, body=["same"])).left_out == 0
    assert len(bodies(cluster, topic)) == 4


def test_a_flood_of_others_does_not_hide_what_is_there(options, cluster, topic):
    few = replace(options, replay_lookback=5)
    send(few, cluster, AGAIN, rows(few, body=["mine"], queue_id=[0]))
    send(few, cluster, OTHERS, rows(few, body=[f"{n}" for n in range(200)], queue_id=[0] * 200))
    assert send(few, cluster, AGAIN, rows(few, body=["mine"], queue_id=[0])).left_out == 1


def test_without_a_note_the_search_goes_back_by_number_of_messages(options, cluster, topic):
    unnoted = replace(AGAIN, is_noted=False)
    few = replace(options, replay_lookback=5)
    for others, left_out in ((4, 1), (5, 0)):
        send(few, cluster, FIRST, rows(few, body=[f"mine {others}"], queue_id=[0]))
        send(few, cluster, OTHERS, rows(few, body=["other"] * others, queue_id=[0] * others))
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
    table = server.host._machines.broker.consumer_offset_manager.offset_table
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
    assert read_notes(cluster, "bb" * 8, [queue]) == {queue: 51}, "where it began, not where the first did"


def test_a_note_from_before_the_queue_was_made_again_is_not_believed(options, cluster, topic):
    queues = cluster.queues([topic])
    send(options, cluster, FIRST, rows(options, body=["mine"], queue_id=[0]))
    write_notes(cluster, AGAIN.name, dict.fromkeys(queues, 700))
    assert send(options, cluster, AGAIN, rows(options, body=["mine"], queue_id=[0])).left_out == 1
    assert read_notes(cluster, AGAIN.name, queues) == dict.fromkeys(queues, 0)


def test_a_search_ends_where_it_was_reported(options, cluster, topic):
    send(options, cluster, FIRST, rows(options, body=list("abcde"), queue_id=[0] * 5))
    (queue,) = [queue for queue in cluster.queues([topic]) if queue.queue_id == 0]
    assert [message.queue_offset for message in sent_messages(cluster, queue, 1, 3)] == [1, 2]


def test_the_end_of_a_micro_batch_notes_where_it_began(options, cluster, topic):
    left, right = cluster.queues([topic])[:2]
    parts = [SentPartition(FIRST.name, {left: 40, right: 7}), SentPartition(FIRST.name, {left: 38}), None]
    writer = MessageStreamWriter(options)
    writer.commit(parts, 20)
    assert read_notes(cluster, FIRST.name, [left, right]) == {left: 38, right: 7}
    # Not every time: an older note serves as well.
    writer.commit([SentPartition(FIRST.name, {left: 99})], 21)
    assert read_notes(cluster, FIRST.name, [left]) == {left: 38}


def test_a_note_that_cannot_be_written_fails_no_query(options, topic):
    away = replace(options, cluster=replace(options.cluster, name_servers=("127.0.0.1:1",)))
    MessageStreamWriter(away).commit([SentPartition(FIRST.name, {QueueKey(topic, "broker-a", 0): 1})], 0)


# ------------------------------------------------------------------------------------------- what others have stored


def options_of(broker):
    return WriteOptions.parse({"nameServer": broker.address, "topic": "Orders"})


def test_a_foreign_message_that_is_no_text_does_not_end_the_search():
    with ScriptedBroker(high=2) as broker:

        def answer(request):
            reply = broker.pull(request)
            foreign = stored_message(0, tags="??").replace(b"??", b"\xff\xfe")
            reply.body = foreign + stored_message(1, tags=f"A\x02SPARK_TXN\x01{AGAIN.prefix}0123456789abcdef")
            return reply

        broker.script = [answer]
        cluster = Cluster(options_of(broker).cluster)
        found = find_earlier(cluster, AGAIN, cluster.queues(["Orders"]), {}, 100)
        assert found.fingerprints == {"0123456789abcdef": 1}
        assert list(found.firsts.values()) == [1]
        cluster.close()


def test_an_answer_that_cannot_be_read_when_a_micro_batch_ends_fails_no_query():
    with ScriptedBroker() as broker:
        broker._answer = lambda request: request.reply(ResponseCode.SUCCESS, body=b"no route")
        done = SentPartition(FIRST.name, {QueueKey("Orders", "broker-a", 0): 1})
        MessageStreamWriter(options_of(broker)).commit([done], 0)


@pytest.mark.parametrize("what", ["a message", "a header"])
def test_an_answer_that_cannot_be_read_has_a_condition(monkeypatch, what):
    with ScriptedBroker(high=2) as broker:

        def answer(request):
            reply = broker.pull(request)
            if what == "a header":
                return request.reply(ResponseCode.SUCCESS, body=reply.body)
            reply.body = reply.body[:-1]
            return reply

        broker.script = [answer]
        monkeypatch.setattr(writer, "identify", lambda options, is_stream: AGAIN)
        batch = pa.RecordBatch.from_pydict({"body": ["mine"]})
        with pytest.raises(RocketMQError, match=r"\[ROCKETMQ_BROKEN_MESSAGE\]"):
            MessageStreamWriter(options_of(broker)).write(iter([batch]))


def test_a_topic_that_may_only_be_written_cannot_be_looked_through():
    with ScriptedBroker() as broker:
        broker.routes["Orders"] = [("broker-a", 1, 1, 2)]
        options = options_of(broker)
        with closing(Cluster(options.cluster)) as cluster, pytest.raises(RocketMQError, match="option 'replayCheck': "):
            send(options, cluster, AGAIN, rows(options, body=["a"]))

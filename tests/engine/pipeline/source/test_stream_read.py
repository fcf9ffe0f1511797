"""``spark.readStream.format("rocketmq")`` against a GlassMQ in this process."""

from __future__ import annotations

import json
import logging
import pickle
import re

import pytest

pytest.importorskip("pyspark")

from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes, ReadMaxRows, ReadMinRows

from engine.pipeline.jobs import job
from engine.pipeline.source.cluster.errors import RocketMQError, explain
from engine.pipeline.source.decoding.schema import spark_schema
from engine.pipeline.source.reader.stream_reader import make_stream_reader
from engine.protocol.message.message import Message
from engine.store.files.store_config import MessageStoreConfig
from tests.support.live.live_server import LiveServer
from tests.support.pipeline.micro_batches import micro_batches


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    # Small files, so that old ones can be deleted.
    store = MessageStoreConfig(mapped_file_size_commit_log=64 * 1024)
    with LiveServer(tmp_path_factory.mktemp("stream"), page=False, store=store) as running:
        yield running


def send(server, topic, *bodies):
    server.send(*[Message(topic, str(body).encode()) for body in bodies])


def delete_old_messages(server):
    """Let the broker delete all but its newest file, as if the messages were days old."""
    store = server.host._machines.broker.store
    thread, _ = server.host._engine()
    thread.run(store.commit_log.flush(), 60)

    def delete():
        store.config.file_reserved_time_hours, kept = 0, store.config.file_reserved_time_hours
        store.clean_service.is_delete_demanded = True
        try:
            return store.clean_service.clean()
        finally:
            store.config.file_reserved_time_hours = kept

    assert thread.call(delete)


class Query:
    """A stream of one topic into a list of bodies, restarted at will."""

    def __init__(self, spark, server, topic, checkpoint, **options):
        self.bodies = []
        self.progress = []
        self._spark, self._checkpoint = spark, str(checkpoint)
        self._options = {"nameServer": server.name_servers[0], "topic": topic, "startingOffsets": "earliest", **options}

    def run(self):
        """All that is there now, in micro-batches, then the end; as a job does, on a busy machine in another try."""
        for attempt in range(1, job.START_ATTEMPTS + 1):
            try:
                return self._run()
            except StreamingQueryException as error:
                if attempt == job.START_ATTEMPTS or job.PLANNER_TOO_SLOW not in str(error):
                    raise

    def _run(self):
        frame = self._spark.readStream.format("rocketmq").options(**self._options).load().select("body")
        query = (
            frame.writeStream.foreachBatch(self._keep)
            .option("checkpointLocation", self._checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        try:
            query.awaitTermination()
        finally:
            self.progress += query.recentProgress
            query.stop()

    def _keep(self, batch, _):
        self.bodies.append(sorted(int(bytes(row.body)) for row in batch.collect()))

    @property
    def numbers(self):
        return sorted(number for bodies in self.bodies for number in bodies)


def test_a_restart_from_the_checkpoint_reads_exactly_the_rest(spark, server, topic, tmp_path):
    query = Query(spark, server, topic, tmp_path)
    send(server, topic, *range(20))
    query.run()
    assert query.numbers == list(range(20))
    send(server, topic, *range(20, 25))
    query.run()
    query.run()
    assert query.numbers == list(range(25))
    # Each would cost a micro-batch the start of a process, see the session.
    assert (tmp_path / "commits/1").exists() and not list(tmp_path.rglob("*.crc"))


def test_a_finished_query_has_its_last_micro_batch_committed(spark, server, topic, tmp_path):
    send(server, topic, *range(20))
    query = Query(spark, server, topic, tmp_path, commitGroup=f"spark-{topic}", maxOffsetsPerTrigger="12")
    query.run()
    assert re.search(rf"^spark-{topic} +4 +0$", server.tool("groups").output, re.MULTILINE)


def test_micro_batches_hold_no_more_than_the_limit_and_tell_the_lag(spark, server, topic, tmp_path):
    send(server, topic, *range(30))
    query = Query(spark, server, topic, tmp_path, maxOffsetsPerTrigger="12")
    query.run()
    assert [len(bodies) for bodies in query.bodies] == [12, 12, 6]
    assert query.numbers == list(range(30))
    source = query.progress[0]["sources"][0]
    assert sum(json.loads(source["latestOffset"])[topic].values()) == 30
    assert sum(json.loads(source["endOffset"])[topic].values()) == 12


def test_messages_that_are_deleted_before_they_are_read_end_the_query(spark, server, topic, tmp_path):
    query = Query(spark, server, topic, tmp_path / "strict")
    lenient = Query(spark, server, topic, tmp_path / "lenient", failOnDataLoss="false")
    send(server, topic, *range(8))
    query.run()
    lenient.run()
    send(server, topic, *range(8, 12))
    server.send(*[Message("Filler", bytes(4_000)) for _ in range(40)])
    delete_old_messages(server)
    send(server, topic, 100)
    with pytest.raises(StreamingQueryException) as error:
        query.run()
    assert "[ROCKETMQ_OFFSETS_GONE]" in str(explain(error.value))
    lenient.run()
    assert lenient.numbers == [*range(8), 100]


def test_the_tags_option_leaves_other_tags_out_of_a_stream(spark, server, topic, tmp_path):
    query = Query(spark, server, topic, tmp_path, tags="A || C", maxOffsetsPerTrigger="8")
    server.send(*[Message(topic, b"%d" % number, tags="ABC"[number % 3]) for number in range(12)])
    query.run()
    assert query.numbers == [number for number in range(12) if number % 3 != 1]
    server.send(Message(topic, b"12", tags="A"), Message(topic, b"13"), Message(topic, b"14", tags="a"))
    query.run()
    assert query.numbers[-1] == 12


# --- the reader itself -----------------------------------------------------------------------------------------------


def reader(server, **options):
    address = {"nameServer": server.name_servers[0], "retryTimeoutMs": "0"}
    return make_stream_reader(spark_schema(("topic", "body")), {**address, **options})


def total(offsets):
    return sum(offset for queues in offsets.values() for offset in queues.values())


def test_a_queue_that_is_added_is_read_from_its_first_message(server, topic):
    stream = reader(server, topic=topic)
    start = stream.initialOffset()
    assert set(start[topic]) == {f"broker-a:{queue_id}" for queue_id in range(4)}
    server.create_topic(topic, 6)
    server.send(*[Message(topic, b"x") for _ in range(12)])
    end = stream.latestOffset(start, ReadAllAvailable())
    assert set(end[topic]) == {f"broker-a:{queue_id}" for queue_id in range(6)}
    assert [rows for _, rows in micro_batches(stream, start)] == [8, 4], "a new queue is noted before it is read"


def test_a_topic_that_begins_to_match_is_read_from_its_first_message(server):
    server.create_topic("Grow-1", 1)
    stream = reader(server, subscribePattern="Grow-.*")
    start = stream.initialOffset()
    server.create_topic("Grow-2", 1)
    send(server, "Grow-2", 1, 2)
    noted, read = micro_batches(stream, start)
    assert noted == ({"Grow-1": {"broker-a:0": 0}, "Grow-2": {"broker-a:0": 0}}, 0)
    assert read == ({"Grow-1": {"broker-a:0": 0}, "Grow-2": {"broker-a:0": 2}}, 2)


def test_a_stream_without_other_orders_begins_behind_the_latest_message(server, topic):
    send(server, topic, 1, 2, 3)
    assert total(reader(server, topic=topic).initialOffset()) == 3
    assert total(reader(server, topic=topic, startingOffsets="earliest").initialOffset()) == 0
    assert total(reader(server, topic=topic, startingTimestamp="1").initialOffset()) == 0


def test_the_default_limit_is_the_option(server, topic):
    assert reader(server, topic=topic, maxOffsetsPerTrigger="7").getDefaultReadLimit() == ReadMaxRows(7)
    assert reader(server, topic=topic).getDefaultReadLimit() == ReadAllAvailable()


def test_a_stream_of_assigned_queues_leaves_the_others_alone(server, topic):
    for fails in ("true", "false"):
        stream = reader(
            server, assign=json.dumps({topic: ["broker-a:1"]}), startingOffsets="earliest", failOnDataLoss=fails
        )
        start = stream.initialOffset()
        assert set(start[topic]) == {"broker-a:1"}
        server.send(*[Message(topic, b"x") for _ in range(8)])
        ((end, rows),) = micro_batches(stream, start)
        assert set(end[topic]) == {"broker-a:1"} and rows == total(end)


@pytest.fixture
def one_queue(server, topic):
    server.create_topic(f"{topic}-1", 1)
    return f"{topic}-1"


def test_a_micro_batch_begins_with_enough_messages_or_after_the_delay(server, one_queue):
    topic = one_queue
    stream = reader(server, topic=topic, minOffsetsPerTrigger="10", maxTriggerDelay="60s", startingOffsets="earliest")
    now = [0.0]
    stream._retrying.clock = lambda: now[0]
    limit = stream.getDefaultReadLimit()
    assert limit == ReadMinRows(10)
    start = stream.initialOffset()

    def next_rows(now_s, *sent, limit=limit):
        nonlocal start
        send(server, topic, *sent)
        now[0], before = now_s, total(start)
        start = stream.latestOffset(start, limit)
        return total(start) - before

    assert next_rows(0, 1) == 1, "the first one begins immediately, as with Kafka's source"
    assert next_rows(1, 2) == 0
    assert next_rows(59, *range(7)) == 0
    assert stream.reportLatestOffset()["maxOffsetsBehindLatest"] == 8
    assert next_rows(59, 3, 4) == 10
    assert next_rows(118) == 0
    assert next_rows(118, 5) == 0
    assert next_rows(119) == 1, "the delay is over"
    assert next_rows(120, 6, limit=ReadAllAvailable()) == 1, "Spark's trigger wants all"
    send(server, topic, 7)
    stream.prepareForTriggerAvailableNow()
    assert next_rows(121) == 1, "it would never end"


def test_a_limit_and_a_minimum_go_together(server, one_queue):
    topic = one_queue
    stream = reader(server, topic=topic, minOffsetsPerTrigger="4", maxOffsetsPerTrigger="6", startingOffsets="earliest")
    assert stream.getDefaultReadLimit() == ReadMaxRows(6)
    send(server, topic, *range(9))
    start = stream.initialOffset()
    first = stream.latestOffset(start, ReadMaxRows(6))
    assert total(first) == 6
    lag = stream.reportLatestOffset()
    assert (lag["maxOffsetsBehindLatest"], lag["avgOffsetsBehindLatest"]) == (3, 3)
    assert stream.latestOffset(first, ReadMaxRows(6)) == first, "three are left"


def test_micro_batches_hold_about_as_many_bytes_as_the_limit(spark, server, one_queue, tmp_path):
    server.send(*[Message(one_queue, b"%d" % number + bytes(1_000)) for number in range(6)])
    stream = reader(server, topic=one_queue, startingOffsets="earliest", maxBytesPerTrigger="2500")
    limit = stream.getDefaultReadLimit()
    assert limit == ReadMaxBytes(2_500)
    assert [rows for _, rows in micro_batches(stream, stream.initialOffset(), limit)] == [2, 2, 2]
    fewer = reader(
        server, topic=one_queue, startingOffsets="earliest", maxBytesPerTrigger="2500", maxOffsetsPerTrigger="1"
    )
    assert [rows for _, rows in micro_batches(fewer, fewer.initialOffset(), fewer.getDefaultReadLimit())] == [1] * 6
    assert [rows for _, rows in micro_batches(stream, stream.initialOffset(), ReadAllAvailable())] == [6], (
        "the trigger wants all"
    )
    server.send(*[Message(one_queue, b"9") for _ in range(60)])
    query = Query(spark, server, one_queue, tmp_path, maxBytesPerTrigger="3000")
    query._keep = lambda batch, _: query.bodies.append(batch.count())
    query.run()
    assert query.bodies[:2] == [2, 2] and sum(query.bodies) == 66 and len(query.bodies) > 3


def test_a_query_with_a_minimum_runs_in_spark(spark, server, topic, tmp_path):
    send(server, topic, *range(3))
    query = Query(spark, server, topic, tmp_path, minOffsetsPerTrigger="10")
    query.run()
    assert query.numbers == [0, 1, 2]
    assert json.loads(query.progress[0]["sources"][0]["latestOffset"])["maxOffsetsBehindLatest"] == 0


def test_a_query_begins_at_one_place_however_often_spark_asks_for_it(server, topic):
    """Else the tasks of the first micro-batch would begin after what came since its end was planned."""
    stream = reader(server, topic=topic)
    start = stream.initialOffset()
    send(server, topic, 1, 2)
    end = stream.latestOffset(start, ReadAllAvailable())
    send(server, topic, 3)
    assert stream.initialOffset() == start
    assert sum(len(batch) for item in stream.partitions(start, end) for batch in stream.read(item)) == 2


@pytest.mark.parametrize("fails", ["true", "false"])
def test_what_comes_between_the_targets_and_the_beginning_of_available_now_is_not_lost_and_not_read(
    server, topic, fails, caplog
):
    """Spark asks for the targets first, then where to begin: after the latest message, on a topic in use."""
    stream = reader(server, topic=topic, failOnDataLoss=fails)
    send(server, topic, 1)
    stream.prepareForTriggerAvailableNow()
    send(server, topic, 2, 3)
    start = stream.initialOffset()
    assert total(start) == 3
    with caplog.at_level(logging.WARNING, "glassmq.pipeline"):
        assert micro_batches(stream, start) == []
    assert "wanted" not in caplog.text


def test_after_available_now_has_begun_nothing_newer_is_read(server, topic):
    stream = reader(server, topic=topic, startingOffsets="earliest")
    send(server, topic, 1, 2)
    stream.prepareForTriggerAvailableNow()
    start = stream.initialOffset()
    send(server, topic, 3)
    end = stream.latestOffset(start, ReadAllAvailable())
    assert total(end) == 2
    assert stream.latestOffset(end, ReadAllAvailable()) == end


def test_an_empty_range_is_no_task_and_the_planner_may_be_new(server, topic):
    send(server, topic, 1, 2)
    end = reader(server, topic=topic).initialOffset()
    start = {topic: dict.fromkeys(end[topic], 0)}
    fresh = reader(server, topic=topic)
    assert fresh.partitions(end, end) == []
    assert len(fresh.partitions(start, end)) == 1


def test_a_reader_travels_without_its_connections(server, topic):
    stream = reader(server, topic=topic)
    end = stream.initialOffset()
    send(server, topic, 5)
    (partition,) = stream.partitions(end, stream.latestOffset(end, ReadAllAvailable()))
    copy = pickle.loads(pickle.dumps(stream))
    assert [body for batch in copy.read(partition) for body in batch.column("body").to_pylist()] == [b"5"]
    stream.stop()
    assert total(stream.initialOffset()) == 1, "a stopped reader connects again when it is asked"


def test_a_queue_that_holds_less_than_was_read_has_lost_messages(server, topic):
    start = {topic: {f"broker-a:{queue_id}": 9 for queue_id in range(4)}}
    with pytest.raises(RocketMQError, match=r"ROCKETMQ_OFFSETS_GONE.*offset 9 is wanted next"):
        reader(server, topic=topic).latestOffset(start, ReadAllAvailable())


def test_available_now_does_not_pass_over_what_is_lost(server, topic):
    """A topic that was created again: until its queues are as long as before, nothing would be read."""
    longer = {topic: {f"broker-a:{queue_id}": 9 for queue_id in range(4)}}
    vanished = {topic: {f"broker-a:{queue_id}": 0 for queue_id in range(4)} | {"broker-z:0": 3}}
    for start, condition in ((longer, "ROCKETMQ_OFFSETS_GONE"), (vanished, "ROCKETMQ_BROKER_AWAY")):
        stream = reader(server, topic=topic)
        stream.prepareForTriggerAvailableNow()
        with pytest.raises(RocketMQError, match=condition):
            stream.latestOffset(start, ReadAllAvailable())


def test_queues_that_vanish_are_an_error_unless_loss_is_allowed(server, topic, caplog):
    start = {topic: {f"broker-a:{queue_id}": 0 for queue_id in range(4)} | {"broker-z:0": 3}}
    with pytest.raises(RocketMQError, match=rf"ROCKETMQ_BROKER_AWAY.*no longer lists {topic} broker-z:0 among"):
        reader(server, topic=topic).latestOffset(start, ReadAllAvailable())
    lenient = reader(server, topic=topic, failOnDataLoss="false")
    there = {topic: {label: offset for label, offset in start[topic].items() if label != "broker-z:0"}}
    with caplog.at_level(logging.WARNING, "glassmq.pipeline"):
        for offsets in (start, start, there, start):
            assert lenient.latestOffset(offsets, ReadAllAvailable()) == offsets
    assert caplog.text.count(f"no longer lists {topic} broker-z:0 among the readable queues") == 2  # once per absence


def test_a_broker_that_is_gone_when_a_micro_batch_is_repeated_is_an_error_unless_loss_is_allowed(server, topic, caplog):
    """Spark repeats the range that it noted, before it asks for anything else."""
    send(server, topic, 1, 2)
    end = reader(server, topic=topic).initialOffset()
    start = {topic: dict.fromkeys(end[topic], 0) | {"broker-z:0": 3}, "Moved": {"broker-y:0": 0}}
    end = {topic: end[topic] | {"broker-z:0": 9}, "Moved": {"broker-y:0": 1}}
    with pytest.raises(
        RocketMQError,
        match=rf"UNKNOWN_TOPIC.*no master for {topic} broker-z:0, Moved broker-y:0 any.* topic Moved; .*failOnDataLoss",
    ):
        reader(server, topic=topic).partitions(start, end)
    with pytest.raises(RocketMQError, match=rf"BROKER_AWAY.*no master for {topic} broker-z:0 any more; set"):
        reader(server, topic=topic).partitions({topic: start[topic]}, {topic: end[topic]})
    lenient = reader(server, topic=topic, failOnDataLoss="false")
    with caplog.at_level(logging.WARNING, "glassmq.pipeline"):
        (partition,) = lenient.partitions(start, end)
    assert sum(len(batch) for batch in lenient.read(partition)) == 2
    assert f"topic {topic} queue broker-z:0: no master is known for it, so offsets 3 to 8 are never read" in caplog.text
    assert "topic Moved queue broker-y:0: no master is known for it, so offsets 0 to 0 are never read" in caplog.text


def test_a_stream_has_no_ending_options_and_no_key(server, topic):
    with pytest.raises(RocketMQError, match=r"option 'endingTimestamp': a stream has no end"):
        reader(server, topic=topic, endingTimestamp="5")
    with pytest.raises(RocketMQError, match=r"option 'key': a stream reads no index"):
        reader(server, topic=topic, key="K")


def test_wrong_options_of_a_stream_are_the_only_error_that_spark_shows(spark, server, topic, tmp_path):
    """Its planner has a mistake of its own below an error of a reader that is created."""
    with pytest.raises(StreamingQueryException) as error:
        Query(spark, server, topic, tmp_path, endingOffsets="latest").run()
    assert "option 'endingOffsets': a stream has no end" in str(explain(error.value))
    assert "UnboundLocalError" not in str(error.value)

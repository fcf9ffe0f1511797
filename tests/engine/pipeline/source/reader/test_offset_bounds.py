"""Times to offsets: exact, whatever message a broker takes for the nearest."""

from __future__ import annotations

import json
from bisect import bisect_left
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.pipeline.source.cluster import node_client
from engine.pipeline.source.cluster.cluster import Cluster
from engine.pipeline.source.cluster.errors import RocketMQError
from engine.pipeline.source.cluster.queue_offsets import QueueKey
from engine.pipeline.source.decoding.schema import spark_schema
from engine.pipeline.source.reader.batch_reader import make_reader
from engine.pipeline.source.reader.offset_bounds import OffsetBounds
from engine.pipeline.source.reader.options import ReadOptions
from engine.protocol.response_code import ResponseCode
from tests.support.live.scripted_broker import ScriptedBroker

QUEUE = QueueKey("Orders", "broker-a", 0)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr(node_client, "BUSY_PAUSE_MS", 0)


def at_time(broker, time_ms):
    options = ReadOptions.parse({"nameServer": broker.address, "topic": "Orders"})
    with closing(Cluster(options.cluster)) as cluster:
        bounds = OffsetBounds(cluster, cluster.queues(["Orders"]), options)
        return bounds.at_time({QUEUE: time_ms})[QUEUE]


@given(
    low=st.integers(0, 5),
    times=st.lists(st.integers(0, 30), min_size=1, max_size=60).map(sorted),
    time_ms=st.integers(0, 32),
    near=st.integers(-1, 70),
)
@settings(max_examples=60, deadline=None)
def test_the_first_message_of_a_time_is_found_wherever_the_search_begins(low, times, time_ms, near):
    with ScriptedBroker(low=low, high=low + len(times)) as broker:
        broker.stored_ms = lambda offset: times[offset - low]
        broker.near = lambda _: near
        assert at_time(broker, time_ms) == low + bisect_left(times, time_ms)


WORDS = {"earliest": 3, "latest": 9}


@given(
    start=st.one_of(st.just("earliest"), st.integers(3, 9)),
    end=st.one_of(st.just("latest"), st.integers(3, 9)),
)
@settings(max_examples=40, deadline=None)
def test_a_start_after_the_end_is_refused_whichever_way_it_is_said(start, end):
    first, last = WORDS.get(start, start), WORDS.get(end, end)
    wanted = [one if one in WORDS else json.dumps({"Orders": {"broker-a:0": one}}) for one in (start, end)]
    with ScriptedBroker(low=3, high=9) as broker:
        options = {"nameServer": broker.address, "topic": "Orders"}
        options |= {"startingOffsets": wanted[0], "endingOffsets": wanted[1]}
        if first > last:
            with pytest.raises(RocketMQError, match=rf"{first} is after the end, offset {last} by option 'endingOff"):
                make_reader(spark_schema(("body",)), options).partitions()
        else:
            found = make_reader(spark_schema(("body",)), options).partitions()
            ranges = [part for one in found for part in one.value]
            assert sum(part.size for part in ranges) == last - first


def test_few_messages_are_looked_at_where_the_broker_was_near():
    with ScriptedBroker(high=100_000) as broker:
        broker.near = lambda time_ms: time_ms // 10
        assert at_time(broker, 500_000) == 50_000
        assert len(broker.pulls) < 5


def test_a_broker_that_is_busy_is_asked_again():
    with ScriptedBroker() as broker:
        broker.script = [lambda request: request.reply(ResponseCode.SYSTEM_BUSY, "busy")] * 3
        assert at_time(broker, 505) == 51


def test_a_message_that_is_deleted_meanwhile_counts_as_older():
    with ScriptedBroker() as broker:
        broker.script = [lambda request: request.reply(ResponseCode.PULL_OFFSET_MOVED, "gone")]
        assert at_time(broker, 0) == 1


def test_a_refusal_is_no_old_message():
    with ScriptedBroker() as broker:
        broker.script = [lambda request: request.reply(ResponseCode.NO_PERMISSION, "not for you")]
        with pytest.raises(RocketMQError, match=r"\[ROCKETMQ_REFUSED\].*not for you"):
            at_time(broker, 500)


def test_an_answer_that_cannot_be_read_is_said_to_be_that():
    with ScriptedBroker() as broker:
        broker.low = "none"
        reader = make_reader(spark_schema(), {"nameServer": broker.address, "topic": "Orders"})
        with pytest.raises(RocketMQError, match=r"\[ROCKETMQ_BROKEN_MESSAGE\] the answer of a node cannot be read"):
            reader.partitions()

"""The option ``commitGroup``: how far a stream is, for the tools of the broker."""

from __future__ import annotations

import logging
import re
import uuid
from contextlib import closing

import pytest

pytest.importorskip("pyspark")

from pyspark.sql.streaming.datasource import ReadMaxRows

from engine.pipeline.source.cluster.cluster import Cluster
from engine.pipeline.source.cluster.cluster_options import ClusterOptions
from engine.pipeline.source.cluster.errors import RocketMQError
from engine.pipeline.source.cluster.queue_offsets import QueueKey
from engine.pipeline.source.decoding.schema import spark_schema
from engine.pipeline.source.reader.batch_reader import make_reader
from engine.pipeline.source.reader.offset_commits import OffsetCommits
from engine.pipeline.source.reader.stream_reader import make_stream_reader
from engine.protocol.body.heartbeat_data import ConsumerData, HeartbeatData
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.message.message import Message
from engine.protocol.request_code import RequestCode
from tests.support.live.live_server import LiveServer
from tests.support.live.scripted_broker import ScriptedBroker
from tests.support.pipeline.micro_batches import micro_batches

QUEUE = QueueKey("Orders", "broker-a", 0)
GROUP = "spark-audit"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with LiveServer(tmp_path_factory.mktemp("commits"), page=False) as running:
        running.create_topic("Orders", 1)
        running.send(*[Message("Orders", b"x") for _ in range(10)])
        yield running


@pytest.fixture
def cluster(server):
    with closing(Cluster(ClusterOptions((server.name_servers[0],)))) as opened:
        opened.queues(["Orders"])
        yield opened


def stored(cluster, group):
    return cluster.group_offsets(group, [QUEUE])[QUEUE]


def test_every_finished_micro_batch_moves_the_group(server, cluster):
    """The last one too, of which Spark says nothing before there is another."""
    options = {"nameServer": server.name_servers[0], "topic": "Orders", "startingOffsets": "earliest"}
    stream = make_stream_reader(spark_schema(("body",)), {**options, "commitGroup": GROUP})
    start, seen = stream.initialOffset(), []
    while (end := stream.latestOffset(start, ReadMaxRows(4))) != start:
        seen.append(stored(cluster, GROUP))
        start = end
    assert seen == [0, 4, 8] and stored(cluster, GROUP) == 10
    stream.stop()


def test_a_group_never_goes_back(cluster):
    commits = OffsetCommits("spark-forward")
    for end, expected in ((6, 6), (3, 6), (6, 6), (9, 9)):
        commits.commit(cluster, {QUEUE: end})
        assert stored(cluster, "spark-forward") == expected
    OffsetCommits("spark-forward").commit(cluster, {QUEUE: 2})
    assert stored(cluster, "spark-forward") == 9, "a new run of the query, from an older checkpoint"


def test_tools_find_the_group_and_its_lag(server, cluster):
    """``mqadmin consumerProgress`` looks for retry topics."""
    OffsetCommits("spark-found").commit(cluster, {QUEUE: 1})
    assert re.search(r"^spark-found +1 +9$", server.tool("groups").output, re.MULTILINE)
    assert "%RETRY%spark-found" in cluster._all_topics()
    assert "spark-found" in server.host._machines.broker.subscription_group_manager.subscription_group_table


def test_a_group_with_consumers_is_left_alone(server, cluster, caplog):
    with closing(Cluster(ClusterOptions((server.name_servers[0],)))) as other:
        other.queues(["Orders"])
        joins = RemotingCommand.request(RequestCode.HEART_BEAT)
        joins.body = HeartbeatData("client-1", consumers=(ConsumerData("shop"),)).to_json()
        other.ask_broker("broker-a", "Orders", [joins])
        OffsetCommits("shop").commit(cluster, {QUEUE: 9})
    assert stored(cluster, "shop") == 0
    assert "group 'shop' has consumers" in caplog.text


@pytest.mark.parametrize(("joins_at", "expected"), [(1, [6, 7, 7, 7]), (29, [6, 7, 7, 7]), (100, [6, 7, 8, 9])])
def test_consumers_that_join_later_end_the_commits_within_half_a_minute(cluster, monkeypatch, joins_at, expected):
    now, asked, stored_ends = [0.0], [], []
    answer = cluster.ask_queue

    def ask_queue(queue, one, **options):
        asked.append(now[0])
        return ["client-1"] if now[0] > joins_at else answer(queue, one, **options)

    monkeypatch.setattr(cluster, "ask_queue", ask_queue)
    group = f"spark-{uuid.uuid4().hex}"
    commits = OffsetCommits(group, lambda: now[0])
    for end, at in enumerate((0, 29, 30, 61), 6):
        now[0] = at
        commits.commit(cluster, {QUEUE: end})
        stored_ends.append(stored(cluster, group))
    assert stored_ends == expected
    assert asked == [0, 30, 61], "half a minute later, and not with every micro-batch"


def test_a_broker_that_fails_is_left_alone_for_a_while_and_ends_nothing(caplog):
    """It refuses every request of this kind."""
    now = [0.0]
    with ScriptedBroker() as broker, closing(Cluster(ClusterOptions((broker.address,)))) as cluster:
        cluster.queues(["Orders"])
        commits = OffsetCommits(GROUP, lambda: now[0])
        with caplog.at_level(logging.WARNING, "glassmq.pipeline"):
            for at, reports in ((0, 1), (29, 1), (30, 2)):
                now[0] = at
                commits.commit(cluster, {QUEUE: 5})
                assert [record.name for record in caplog.records].count("glassmq.pipeline") == reports
    assert "the option 'commitGroup' stores nothing at broker 'broker-a' for 30 s" in caplog.text


def test_an_idle_stream_sends_nothing(cluster, monkeypatch):
    commits = OffsetCommits("spark-idle")
    commits.commit(cluster, {QUEUE: 5})
    monkeypatch.setattr(cluster, "ask_broker", lambda *_: pytest.fail("nothing is new"))
    commits.commit(cluster, {QUEUE: 5})


def test_a_batch_is_refused_in_words():
    options = {"nameServer": "127.0.0.1:1", "topic": "Orders", "commitGroup": GROUP}
    with pytest.raises(RocketMQError, match=r"'commitGroup': Spark tells no batch source .*; allowed: a stream"):
        make_reader(spark_schema(), options)


def test_a_stream_whose_group_cannot_be_stored_goes_on():
    with ScriptedBroker(high=10) as broker:
        options = {"nameServer": broker.address, "topic": "Orders", "startingOffsets": "earliest"}
        stream = make_stream_reader(spark_schema(("body",)), {**options, "commitGroup": GROUP})
        assert [rows for _, rows in micro_batches(stream, stream.initialOffset())] == [10]
        stream.stop()

"""Counts that come over the wire are bounded before they become queues, and a typo is named where it was made."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.client import DefaultMQPullConsumer, Message, SendStatus
from engine.client.foundation.errors import OrderTopicConfUnusable
from engine.client.instance.client_route_table import publish_queues
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.body.topic_route_data import TOPIC_QUEUES_MAX, BrokerData, QueueData, TopicRouteData
from engine.protocol.errors import MalformedBody
from engine.protocol.permission import PERM_READ_WRITE
from tests.support.lab.lab_cluster import LabCluster

COUNTS = st.one_of(st.integers(-2, 5), st.sampled_from([TOPIC_QUEUES_MAX, TOPIC_QUEUES_MAX + 1, 2**31 - 1, 2**63 - 1]))
ENTRIES = st.one_of(
    st.builds("{}:{}".format, st.sampled_from(["a", "b", "c", "", "a:b"]), COUNTS),
    st.text(alphabet="ab:;0123456789 -+x٣", max_size=8),
    st.sampled_from(["a:" + "9" * 5_000, "a", ":", "a: 4", "a:4.0", "a:0x4"]),
)


def route(conf: str | None = None) -> TopicRouteData:
    return TopicRouteData(
        [QueueData(name, 4, 4, PERM_READ_WRITE) for name in ("a", "b")],
        [BrokerData("C", name, {0: f"{name}:10911"}) for name in ("a", "b")],
        conf,
    )


@given(st.lists(ENTRIES, min_size=1, max_size=4).map(";".join))
def test_any_configuration_gives_a_bounded_number_of_queues_or_is_named(conf):
    refusal = ""
    queues: tuple[MessageQueue, ...] = ()
    try:
        queues = publish_queues("T", route(conf))
    except OrderTopicConfUnusable as error:
        refusal = str(error)
    if refusal:
        assert "ORDER_TOPIC_CONFIG of topic 'T'" in refusal and refusal.endswith("written broker-a:4;broker-b:4")
        assert len(refusal) < 700
    else:
        assert 0 < len(set(queues)) == len(queues) <= TOPIC_QUEUES_MAX


@pytest.mark.parametrize(
    ("conf", "complaint"),
    [
        ("a:2147483647", f"2147483647 queues on broker 'a', 2147483647 in all: a topic has 0 to {TOPIC_QUEUES_MAX}"),
        ("a:40000;b:40000", f"40000 queues on broker 'b', 80000 in all: a topic has 0 to {TOPIC_QUEUES_MAX}"),
        ("a:4;b", "'b' is wrong"),
        ("a:4;b:x", "'b:x' is wrong"),
        ("a:4;a:4", "'a:4' is wrong"),
        ("a:-1", "'a:-1' is wrong"),
        ("brokr-a:4", "it names no queue of its brokers: a, b"),
        ("a:0", "it names no queue of its brokers: a, b"),
    ],
)
def test_a_typo_in_an_ordered_topic_names_the_configuration(conf, complaint):
    with pytest.raises(OrderTopicConfUnusable, match="ORDER_TOPIC_CONFIG of topic 'T'") as caught:
        publish_queues("T", route(conf))
    assert complaint in str(caught.value)


@pytest.mark.parametrize("conf", ["a:2;b:1", "a:2;b:1;", " a:2 ; b:1", "a:2;b:1;c:0"])
def test_an_ordered_topic_has_the_queues_of_its_configuration(conf):
    assert [str(queue) for queue in publish_queues("T", route(conf))] == ["T@a:0", "T@a:1", "T@b:0"]


@given(st.lists(COUNTS, max_size=4), st.booleans())
def test_a_route_is_refused_exactly_if_a_topic_cannot_have_its_queues(counts, is_read):
    nums = [(count, 1) if is_read else (1, count) for count in counts]
    body = TopicRouteData([QueueData("a", read, write, PERM_READ_WRITE) for read, write in nums]).to_json()
    if min(counts, default=0) >= 0 and sum(counts) <= TOPIC_QUEUES_MAX:
        assert len(TopicRouteData.from_json(body).queue_datas) == len(counts)
    else:
        with pytest.raises(MalformedBody, match=f"a topic has 0 to {TOPIC_QUEUES_MAX}"):
            TopicRouteData.from_json(body)


@pytest.fixture
def cluster() -> Iterator[LabCluster]:
    with LabCluster(seed=6) as made:
        yield made


def test_a_send_names_the_typo_consumers_do_not_mind_and_it_may_be_mended(cluster):
    producer = cluster.producer("P", "producers")
    consumer: DefaultMQPullConsumer = cluster.pull_consumer("C", "readers")
    cluster.start(producer, consumer)
    cluster.run(producer, producer.create_topic("T", queue_nums=2))
    cluster.name_server.config.order_message_enable = True
    configs = cluster.name_server.kv_config_manager
    for typo in ("broker-a:2147483647", "broker-a", "brokr-a:2"):
        cluster.world.run(configs.put("ORDER_TOPIC_CONFIG", "T", typo), node="name-server")
        cluster.world.run_for(31_000)
        with pytest.raises(OrderTopicConfUnusable, match=f"'{typo}', cannot be used"):
            cluster.run(producer, producer.send(Message("T", b"x")))
        assert len(cluster.run(consumer, consumer.fetch_subscribe_message_queues("T"))) == 2
    cluster.world.run(configs.put("ORDER_TOPIC_CONFIG", "T", "broker-a:1"), node="name-server")
    result = cluster.run(producer, producer.send(Message("T", b"x")))
    assert result.status is SendStatus.SEND_OK and result.message_queue.queue_id == 0

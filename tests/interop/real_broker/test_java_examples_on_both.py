"""RocketMQ's own example programs, run against GlassMQ and against a real broker: each test is run twice, and asks the
same result of both.

The programs are those of ``test_java_examples.py``, and what they share with it is said there. Delayed messages have no
example in the jars of Maven Central (4.7.0); our driver sends them, and a release of 4.9 in ``ROCKETMQ_HOME`` brings
its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial

import pytest

from tests.interop.harness.clients import Clients, messages
from tests.interop.harness.cluster import Cluster
from tests.interop.harness.glassmq_cluster import start_glassmq
from tests.interop.harness.ports import DEFAULT_NAME_SERVER_PORT, is_free
from tests.interop.harness.process import ManagedProcess
from tests.interop.harness.real_rocketmq import start_real_rocketmq
from tests.interop.harness.rocketmq_jars import HOME_VARIABLE, best_example_jars
from tests.interop.harness.wire import max_offsets, write_queues
from tests.support.waiting import wait_until

pytestmark = pytest.mark.interop_java

_DEADLINE_S = 90.0
_BROKERS: Mapping[str, Callable[..., Cluster]] = {"glassmq": start_glassmq, "real": start_real_rocketmq}
#: By how much the deliverer may lag: the machine is busy, and a client polls.
_LATE_MS = 4_000


@pytest.fixture(scope="module", params=list(_BROKERS))
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One broker after the other, with SQL filters, at name server port 9876 where that is free."""
    port = DEFAULT_NAME_SERVER_PORT if is_free(DEFAULT_NAME_SERVER_PORT) else None
    folder = tmp_path_factory.mktemp(request.param)
    running = _BROKERS[request.param](folder, port, None, settings={"enablePropertyFilter": "true"})
    yield running
    running.stop()


@pytest.fixture
def run(clients: Clients) -> partial[ManagedProcess]:
    """Runs an example by class name."""
    return partial(clients.java_example)


def _stored(cluster: Cluster, topic: str) -> int:
    return sum(max_offsets(cluster.broker, topic, write_queues(cluster.name_server, topic)))


def _printed(process: ManagedProcess, pattern: str) -> list[str]:
    return re.findall(pattern, process.output())


def _needs_default_port(cluster: Cluster) -> None:
    if cluster.name_server_port != DEFAULT_NAME_SERVER_PORT:
        pytest.skip(f"this example knows only 127.0.0.1:{DEFAULT_NAME_SERVER_PORT}, and that port is taken")


# --- filters ---------------------------------------------------------------------------------------------------------


def test_the_tag_example_receives_two_of_three_tags(cluster: Cluster, run: partial[ManagedProcess]) -> None:
    cluster.create_topic("TagFilterTest", 4)
    consumer = run("filter.TagFilterConsumer")
    consumer.wait_for_output("Consumer Started", _DEADLINE_S)
    run("filter.TagFilterProducer").wait_for_success(_DEADLINE_S)
    consumer.wait_for_output(r"\bTAGS=Tag[AC]\b", _DEADLINE_S, at_least=40)
    assert sorted(_printed(consumer, r"\bTAGS=(\w+)")) == ["TagA"] * 20 + ["TagC"] * 20
    assert _stored(cluster, "TagFilterTest") == 60


def test_the_sql_example_receives_what_its_expression_lets_through(
    cluster: Cluster, run: partial[ManagedProcess]
) -> None:
    """TAGS in (TagA, TagB) and a between 0 and 3, of a from 0 to 9 with the tags A, B, C in turn."""
    cluster.create_topic("SqlFilterTest", 4)
    consumer = run("filter.SqlFilterConsumer")
    consumer.wait_for_output("Consumer Started", _DEADLINE_S)
    run("filter.SqlFilterProducer").wait_for_success(_DEADLINE_S)
    consumer.wait_for_output(r"[{ ]a=\d", _DEADLINE_S, at_least=3)
    assert sorted(_printed(consumer, r"[{ ]a=(\d+)")) == ["0", "1", "3"]
    assert _stored(cluster, "SqlFilterTest") == 10


# --- delay -----------------------------------------------------------------------------------------------------------


def test_delayed_messages_come_when_their_level_says(cluster: Cluster, clients: Clients) -> None:
    cluster.create_topic("DelayTest", 1)
    consumer = clients.java_driver("push", "DelayGroup", "DelayTest")
    consumer.wait_for_output('"ready"', _DEADLINE_S)
    clients.java_driver("delayed", "DelayProducers", "DelayTest", 3).wait_for_success(_DEADLINE_S)
    wait_until(lambda: len(messages(consumer)) == 3, "three delayed messages", _DEADLINE_S, consumer.output_end)
    received = messages(consumer)
    assert [event["body"] for event in received] == ["message-0", "message-1", "message-2"]
    for event, delay_ms in zip(received, (1_000, 5_000, 10_000), strict=True):
        assert delay_ms <= event["age_ms"] < delay_ms + _LATE_MS


def test_the_schedule_example_is_delivered_after_ten_seconds(cluster: Cluster, run: partial[ManagedProcess]) -> None:
    version = best_example_jars().version
    if not version.startswith("4.9."):
        pytest.skip(f"the examples of RocketMQ {version} have no such program; set {HOME_VARIABLE} to a 4.9 release")
    cluster.create_topic("TestTopic", 4)
    consumer = run("schedule.ScheduledMessageConsumer")
    consumer.wait_for_output("Consumer Started|started", _DEADLINE_S)
    run("schedule.ScheduledMessageProducer").wait_for_success(_DEADLINE_S)
    consumer.wait_for_output(r"Receive message", _DEADLINE_S, at_least=100)


# --- simple ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("consumer", ["simple.PushConsumer", "simple.LitePullConsumerSubscribe"])
def test_the_simple_examples_pass_128_messages_on(
    cluster: Cluster, run: partial[ManagedProcess], consumer: str
) -> None:
    topic = "TopicTest"
    cluster.create_topic(topic, 4)
    before = _stored(cluster, topic)
    process = run(consumer)
    if consumer == "simple.PushConsumer":
        process.wait_for_output("Consumer Started", _DEADLINE_S)
    run("simple.Producer").wait_for_success(_DEADLINE_S)
    assert _stored(cluster, topic) == before + 128
    process.wait_for_output(r"MessageExt \[", _DEADLINE_S, at_least=128 if consumer == "simple.PushConsumer" else 1)


# --- batches ---------------------------------------------------------------------------------------------------------


def test_the_batch_example_stores_its_three_messages(cluster: Cluster, run: partial[ManagedProcess]) -> None:
    process = run("batch.SimpleBatchProducer")
    wait_until(
        lambda: _stored(cluster, "BatchTest") >= 3 or "xception" in process.output(),
        "three messages",
        _DEADLINE_S,
        process.output_end,
    )
    assert "xception" not in process.output()
    assert _stored(cluster, "BatchTest") == 3


# --- requests and replies --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("requester", ["rpc.RequestProducer", "rpc.AsyncRequestProducer"])
def test_the_request_examples_get_their_reply(cluster: Cluster, run: partial[ManagedProcess], requester: str) -> None:
    cluster.create_topic("RequestTopic", 4)
    responder = run("rpc.ResponseConsumer")
    responder.wait_for_output("Consumer Started", _DEADLINE_S)
    process = run(requester)
    process.wait_for_output(r"request to <RequestTopic> cost: \d+ replyMessage: \S", _DEADLINE_S)
    assert "fail" not in process.output()
    assert "xception" not in process.output()
    responder.wait_for_output(r"reply to \S+ , SendResult \[sendStatus=SEND_OK", _DEADLINE_S)


# --- traces ----------------------------------------------------------------------------------------------------------


def test_the_trace_examples_leave_a_trace_that_mqadmin_finds(
    cluster: Cluster, run: partial[ManagedProcess], clients: Clients
) -> None:
    cluster.create_topic("TopicTest", 4)
    consumer = run("tracemessage.TracePushConsumer")
    consumer.wait_for_output("Consumer Started", _DEADLINE_S)
    producer = run("tracemessage.TraceProducer")
    producer.wait_for_success(_DEADLINE_S)
    sent_ids = _printed(producer, r"sendStatus=SEND_OK, msgId=(\w+)")
    assert len(sent_ids) == 128
    consumer.wait_for_output(r"MessageExt \[", _DEADLINE_S, at_least=128)

    def trace() -> list[tuple[str, str]]:
        output = clients.mqadmin("queryMsgTraceById", "-i", sent_ids[0]).wait_for_success(_DEADLINE_S)
        return re.findall(r"^(Pub|Sub\w*) .*?(\S+)\s*$", output, re.MULTILINE)

    wait_until(lambda: len(trace()) >= 2, "a trace of producer and consumer", _DEADLINE_S)
    assert sorted(trace()) == [("Pub", "success"), ("Sub", "success")]


# --- namespaces ------------------------------------------------------------------------------------------------------


def test_the_namespace_examples_keep_their_namespace_to_themselves(
    cluster: Cluster, run: partial[ManagedProcess]
) -> None:
    """On the broker everything carries the namespace; the programs never see it. The push consumer always fails, so
    that its messages come again through the retry topic, whose name has the namespace too.
    """
    _needs_default_port(cluster)
    topic = "InstanceTest%topicTest"
    cluster.create_topic(topic, 1)
    producer = run("namespace.ProducerWithNamespace")
    producer.wait_for_output(r"Topic:topicTest send success", _DEADLINE_S, at_least=100)
    assert _stored(cluster, topic) == 100
    puller = run("namespace.PullConsumerWithNamespace")
    puller.wait_for_output(r"Topic is:topicTest, msgId is:\w+", _DEADLINE_S, at_least=100)
    pusher = run("namespace.PushConsumerWithNamespace")
    pusher.wait_for_output(r"Msg topic is:topicTest, MsgId is:\w+, reconsumeTimes is:0", _DEADLINE_S, at_least=100)
    pusher.wait_for_output(r"reconsumeTimes is:1", _DEADLINE_S, at_least=100)
    assert _stored(cluster, "%RETRY%InstanceTest%cidTest") >= 100

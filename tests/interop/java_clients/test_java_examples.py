"""RocketMQ's own example programs (``rocketmq-example``), unmodified, in the order a newcomer runs them.

Those of a release in ``ROCKETMQ_HOME``, else the 4.7.0 ones of Maven Central on the 4.9.8 client. They share one
topic, so each test looks only at what grew since it began. A program that never ends is stopped once its output
shows what it should.
"""

from __future__ import annotations

import re
from functools import partial

import pytest

from tests.interop.harness.clients import Clients
from tests.interop.harness.cluster import Cluster
from tests.interop.harness.ports import DEFAULT_NAME_SERVER_PORT
from tests.interop.harness.rocketmq_jars import HOME_VARIABLE, best_example_jars
from tests.interop.harness.wire import committed_offset, max_offsets, send_message, write_queues
from tests.support.waiting import wait_until

pytestmark = pytest.mark.interop_java

TOPIC = "TopicTest"
_DEADLINE_S = 90.0
_PRINTED_MESSAGE = re.compile(r"MessageExt \[[^\]]*?queueId=(\d+),[^\]]*?queueOffset=(\d+),")


@pytest.fixture
def cluster(default_port_cluster: Cluster) -> Cluster:
    """Takes the place of the shared cluster: some examples know only name server port 9876."""
    return default_port_cluster


@pytest.fixture(params=[False, True], ids=["json", "binary"])
def run(request: pytest.FixtureRequest, clients: Clients) -> partial:
    """Runs an example by class name, with JSON or with binary headers."""
    return partial(clients.java_example, binary=bool(request.param))


def _stored(cluster: Cluster, topic: str = TOPIC) -> int:
    """How many messages the topic has."""
    queues = write_queues(cluster.name_server, topic)
    return sum(max_offsets(cluster.broker, topic, queues))


@pytest.fixture
def filled(cluster: Cluster, run: partial) -> None:
    """At least 1,000 messages in TopicTest, sent by the quickstart producer."""
    if _stored(cluster) < 1000:
        run("quickstart.Producer").wait_for_success(_DEADLINE_S)


def _needs_release_4_9() -> None:
    version = best_example_jars().version
    if not version.startswith("4.9."):
        pytest.skip(f"the examples of RocketMQ {version} have no such program; set {HOME_VARIABLE} to a 4.9 release")


def _needs_default_port(cluster: Cluster) -> None:
    if cluster.name_server_port != DEFAULT_NAME_SERVER_PORT:
        pytest.skip(f"this example knows only 127.0.0.1:{DEFAULT_NAME_SERVER_PORT}, and that port is taken")


def _send_128(cluster: Cluster, run: partial) -> set[tuple[int, int]]:
    """Run the simple producer; return (queue, offset) of each message it added."""
    queues = write_queues(cluster.name_server, TOPIC)
    before = max_offsets(cluster.broker, TOPIC, queues)
    run("simple.Producer").wait_for_success(_DEADLINE_S)
    after = max_offsets(cluster.broker, TOPIC, queues)
    added = {(queue, offset) for queue in range(queues) for offset in range(before[queue], after[queue])}
    assert len(added) == 128
    return added


@pytest.mark.parametrize(
    ("producer", "topic", "count", "line"),
    [
        ("quickstart.Producer", TOPIC, 1000, r"sendStatus=SEND_OK"),
        ("simple.Producer", TOPIC, 128, r"sendStatus=SEND_OK"),
        ("simple.AsyncProducer", "Jodie_topic_1023", 100, r"\bOK\b"),
    ],
)
def test_a_producer_example_has_every_message_acknowledged_and_stored(
    cluster: Cluster, run: partial, producer: str, topic: str, count: int, line: str
) -> None:
    before = _stored(cluster, topic)
    process = run(producer)
    process.wait_for_output(line, _DEADLINE_S, at_least=count)
    process.wait_for_success(_DEADLINE_S)
    assert "xception" not in process.output()
    assert _stored(cluster, topic) == before + count


def test_the_oneway_example_stores_a_hundred_messages(cluster: Cluster, run: partial) -> None:
    _needs_release_4_9()
    _needs_default_port(cluster)
    before = _stored(cluster)
    process = run("simple.OnewayProducer")
    process.wait_for_success(_DEADLINE_S)
    wait_until(lambda: _stored(cluster) == before + 100, "100 oneway messages", _DEADLINE_S, process.output_end)


def test_the_simple_batch_example_stores_three_messages(cluster: Cluster, run: partial) -> None:
    before = _stored(cluster, "BatchTest")
    process = run("batch.SimpleBatchProducer")
    wait_until(
        lambda: _stored(cluster, "BatchTest") >= before + 3 or "xception" in process.output(),
        "three messages",
        _DEADLINE_S,
        process.output_end,
    )
    assert "xception" not in process.output()
    assert _stored(cluster, "BatchTest") == before + 3


def test_the_split_batch_example_stores_all_100_000_messages(cluster: Cluster, run: partial) -> None:
    before = _stored(cluster, "BatchTest")
    process = run("batch.SplitBatchProducer")
    wait_until(
        lambda: _stored(cluster, "BatchTest") >= before + 100_000 or "xception" in process.output(),
        "100,000 messages",
        _DEADLINE_S,
        lambda: process.output_end(1500),
    )
    assert "xception" not in process.output()
    assert _stored(cluster, "BatchTest") == before + 100_000


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("consumer", ["quickstart.Consumer", "simple.PushConsumer", "broadcast.PushConsumer"])
def test_a_push_consumer_example_receives_what_is_sent(cluster: Cluster, run: partial, consumer: str) -> None:
    process = run(consumer)
    process.wait_for_output("Consumer Started", _DEADLINE_S)
    new = _send_128(cluster, run)
    wait_until(
        lambda: new <= {(int(q), int(o)) for q, o in _PRINTED_MESSAGE.findall(process.output())},
        "the example to print the 128 new messages",
        _DEADLINE_S,
        lambda: process.output_end(1500),
    )


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    ("consumer", "line"),
    [
        ("simple.LitePullConsumerSubscribe", r"\[MessageExt \["),
        ("simple.LitePullConsumerAssign", r"\[MessageExt \["),
        ("simple.PullScheduleService", r"pullStatus=FOUND"),
    ],
)
def test_a_pull_consumer_example_finds_messages(run: partial, consumer: str, line: str) -> None:
    process = run(consumer)
    run("simple.Producer").wait_for_success(_DEADLINE_S)
    process.wait_for_output(line, _DEADLINE_S)


def test_the_pull_example_finds_what_is_in_the_topic_named_like_the_broker(cluster: Cluster, run: partial) -> None:
    """Until 4.7 this example reads the topic ``broker-a``, which a broker of that name registers for itself."""
    _needs_default_port(cluster)
    if best_example_jars().version.startswith("4.9."):
        pytest.skip("since 4.9 this example reads TopicTest: see the next test")
    before = max_offsets(cluster.broker, cluster.broker_name, 1)[0]
    for number in range(5):
        send_message(cluster.broker, cluster.broker_name, b"to be pulled %d" % number)
    process = run("simple.PullConsumer")
    process.wait_for_output(rf"pullStatus=FOUND, nextBeginOffset={before + 5},", _DEADLINE_S)


@pytest.mark.usefixtures("filled")
def test_the_pull_example_commits_what_it_read(cluster: Cluster, run: partial) -> None:
    _needs_default_port(cluster)
    _needs_release_4_9()
    group = "please_rename_unique_group_name_5"
    _send_128(cluster, run)  # something to read, whatever an earlier run committed
    process = run("simple.PullConsumer")

    def committed_to_the_end() -> bool:
        queues = write_queues(cluster.name_server, TOPIC)
        committed = [committed_offset(cluster.broker, group, TOPIC, queue) for queue in range(queues)]
        return committed == max_offsets(cluster.broker, TOPIC, queues)

    wait_until(committed_to_the_end, f"{group} to commit the end of every queue", _DEADLINE_S, process.output_end)

"""RocketMQ's own mqadmin prints the same for GlassMQ as for a real broker.

Both clusters get the same topic, messages and consumer; each command then runs against both, and the two outputs
are compared line by line. What :func:`normalised` replaces is the whole list of allowed differences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.interop.harness.clients import Clients, sent, wait_for_bodies
from tests.interop.harness.cluster import Cluster
from tests.interop.harness.rocketmq_jars import server_jars
from tests.interop.harness.waiting import wait_until
from tests.interop.harness.wire import committed_offset, max_offsets

pytestmark = [pytest.mark.interop_java, pytest.mark.slow]

TOPIC = "AdminTopic"
SINGLE_QUEUE_TOPIC = "AdminSingle"
GROUP = "AdminGroup"
QUEUES = 4
MESSAGES = 40
_DEADLINE_S = 90.0
_REFERENCE_VERSION = "4.9.8"

#: Pattern, replacement, and why the two brokers cannot print the same.
_DIFFERENCES = (
    (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:,\d{3})?", "<time>", "the runs are not simultaneous"),
    (r"127\.0\.0\.1:\d+", "<address>", "each broker and client connection has its own port"),
    (r"\b[0-9A-F]{32,56}\b", "<message id>", "ids carry address, process and time"),
    (r"Consume TPS: [\d.]+", "Consume TPS: <rate>", "a rate depends on the moment"),
)

#: clusterList's last columns: rates, wait of the page cache, hours the store covers, share of the disk in use.
_CLUSTER_LIST_RATES = re.compile(r"\s+[\d.]+\(\d+,\d+ms\)\s+[\d.]+\(\d+,\d+ms\)\s+\d+\s+[-\d.]+\s+[\d.]+\s*$")
#: The one data row of consumerProgress without a group: its TPS column, a rate as above.
_PROGRESS_RATE = re.compile(r"(\s(?:CLUSTERING|BROADCASTING)\s+)\d+(\s)")


def normalised(output: str) -> list[str]:
    """Output without what must differ.

    Runs of blanks become one: columns are padded to the width of values that were replaced. Lines are sorted:
    RocketMQ prints sets and hash maps in no promised order. Where the reference is another release than 4.9.8 the
    broker version is replaced as well, and only then.
    """
    lines = []
    for line in output.splitlines():
        line = _CLUSTER_LIST_RATES.sub(" <rates>", line)
        line = _PROGRESS_RATE.sub(r"\1<rate>\2", line)
        for pattern, replacement, _ in _DIFFERENCES:
            line = re.sub(pattern, replacement, line)
        if server_jars().version != _REFERENCE_VERSION:
            line = re.sub(r"(<address>\s+)V4_\d+_\d+", r"\1<version>", line)
        if line.strip():
            lines.append(re.sub(r" +", " ", line).strip())
    return sorted(lines)


@dataclass
class Side:
    """One of the two clusters with the same content."""

    clients: Clients
    offset_message_id: str

    @property
    def cluster(self) -> Cluster:
        return self.clients.cluster


@pytest.fixture(scope="module")
def sides(
    real_cluster: Cluster, fresh_cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Side, Side]]:
    """The real broker and the broker under test, each with 40 consumed messages and the consumer still running."""
    both = []
    for running in (real_cluster, fresh_cluster):
        clients = Clients(running, tmp_path_factory.mktemp("admin"))
        both.append(Side(clients, _prepare(clients)))
    yield both[0], both[1]
    for side in both:
        side.clients.stop_all()


def _prepare(clients: Clients) -> str:
    """Returns the offset message id of the very first message: same queue, same place in both commit logs."""
    clients.cluster.create_topic(SINGLE_QUEUE_TOPIC, 1)
    first = clients.java_driver("sync", "AdminProducers", SINGLE_QUEUE_TOPIC, 1)
    first.wait_for_success(_DEADLINE_S)
    clients.cluster.create_topic(TOPIC, QUEUES)
    consumer = clients.java_driver("push", GROUP, TOPIC)
    consumer.wait_for_output('"ready"', _DEADLINE_S)
    sender = clients.java_driver("sync", "AdminProducers", TOPIC, MESSAGES)
    sender.wait_for_success(_DEADLINE_S)
    wait_for_bodies({f"message-{number}" for number in range(MESSAGES)}, consumer, deadline_s=_DEADLINE_S)
    broker = clients.cluster.broker
    wait_until(
        lambda: (
            [committed_offset(broker, GROUP, TOPIC, queue) for queue in range(QUEUES)]
            == max_offsets(broker, TOPIC, QUEUES)
        ),
        "the group to have committed everything",
    )
    return str(sent(first)[0]["offset_id"])


def _run_on_both(sides: tuple[Side, Side], *arguments: str) -> tuple[list[str], list[str]]:
    """Run one command against both; ``{broker}`` and ``{id}`` stand for each side's own."""
    running = [
        side.clients.mqadmin(*(a.format(broker=side.cluster.broker, id=side.offset_message_id) for a in arguments))
        for side in sides
    ]
    reference, ours = (normalised(process.wait_for_success(_DEADLINE_S)) for process in running)
    return reference, ours


@pytest.mark.parametrize(
    "command",
    [
        "clusterList",
        "clusterList -m",
        "topicList",
        "topicList -c",
        f"topicRoute -t {TOPIC}",
        "topicRoute -t TBW102",
        f"topicStatus -t {TOPIC}",
        f"consumerProgress -g {GROUP}",
        "consumerProgress",
        "queryMsgById -i {id}",
    ],
)
def test_a_query_prints_what_it_prints_for_the_real_broker(sides: tuple[Side, Side], command: str) -> None:
    reference, ours = _run_on_both(sides, *command.split())
    assert reference, "mqadmin printed nothing for the real broker"
    assert ours == reference


@pytest.mark.parametrize("where", ["-c DefaultCluster", "-b {broker}"])
def test_update_topic_creates_and_changes_a_topic(sides: tuple[Side, Side], where: str) -> None:
    topic = "AdminUpdated" + where[1]
    for queues in ("3", "5"):
        reference, ours = _run_on_both(
            sides, "updateTopic", *where.split(), "-t", topic, "-r", queues, "-w", queues, "-p", "6"
        )
        assert any("success" in line for line in reference)
        assert ours == reference
        reference, ours = _run_on_both(sides, "topicRoute", "-t", topic)
        assert any(f'"readQueueNums":{queues}' in line for line in reference)
        assert ours == reference


def _without_remark(output: str) -> str:
    """``output`` without the sentence that explains an error code: it may run over several lines of a stack trace."""
    return re.sub(r"(CODE: \d+ +DESC: ).*?(?=\n\s+at |\Z)", r"\1<remark>", output, flags=re.DOTALL)


@pytest.mark.parametrize(
    "command",
    [
        "topicRoute -t NoSuchTopic",
        "consumerProgress -g NoSuchGroup",
        "updateTopic -c DefaultCluster -t bad|name! -r 4 -w 4",
    ],
)
def test_an_error_carries_the_code_of_the_real_broker(sides: tuple[Side, Side], command: str) -> None:
    """All but the remark is compared: GlassMQ explains an error in its own words, clients look at the code."""
    running = [side.clients.mqadmin(*command.split()) for side in sides]
    outputs = [process.wait_for_success(_DEADLINE_S) for process in running]
    reference, ours = (normalised(_without_remark(output)) for output in outputs)
    assert any("CODE: " in line for line in reference)
    assert ours == reference

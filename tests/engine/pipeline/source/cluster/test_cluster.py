"""What the planner makes of a route, and how long it trusts a connection."""

from __future__ import annotations

import time

import pytest

from engine.pipeline.source.cluster.cluster import Cluster
from engine.pipeline.source.cluster.cluster_options import ClusterOptions
from engine.pipeline.source.cluster.errors import RocketMQError
from engine.pipeline.source.cluster.queue_offsets import QueueKey
from engine.protocol.command.queue_headers import OffsetResponseHeader
from engine.protocol.request_code import RequestCode
from engine.protocol.response_code import ResponseCode

QUEUE = QueueKey("Orders", "broker-a", 0)


@pytest.fixture
def cluster(broker):
    opened = Cluster(ClusterOptions(name_servers=(broker.address,)))
    yield opened
    opened.close()


def test_only_queues_that_may_be_read_are_read_and_only_those_that_may_be_written_are_written(broker, cluster):
    broker.routes["Orders"] = [("broker-a", 2, 3, 2), ("broker-b", 2, 1, 4)]
    broker.addresses["broker-b"] = {0: broker.address}
    assert cluster.queues(["Orders"]) == [QueueKey("Orders", "broker-b", number) for number in range(2)]
    assert cluster.writable_queues("Orders") == [QueueKey("Orders", "broker-a", number) for number in range(3)]


def test_a_topic_that_may_only_be_written_is_not_called_unknown(broker, cluster):
    broker.routes["Orders"] = [("broker-a", 1, 1, 2)]
    with pytest.raises(RocketMQError, match=r"^\[\w+\] option 'subscribe': topic 'Orders' has no readable queue$"):
        cluster.queues(["Orders"], "subscribe")
    with pytest.raises(RocketMQError, match=r"^\[\w+\] topic 'Orders' has no readable queue$"):
        cluster.queues(["Orders"])
    assert cluster.queues_there_are(["Orders"]) == []


def test_a_topic_is_not_proposed_in_place_of_itself(cluster, monkeypatch):
    monkeypatch.setattr(cluster, "_all_topics", lambda: ["Order", "Orders", "Orders2"])
    with pytest.raises(RocketMQError, match="knows no topic 'Order'; did you mean 'Orders' or 'Orders2'"):
        cluster.queues(["Order"])


def test_a_broker_whose_master_is_down_takes_no_message(broker, cluster):
    broker.routes["Orders"] = [("broker-a", 1, 1, 6), ("broker-b", 1, 1, 6)]
    broker.addresses = {"broker-b": {0: broker.address}}
    assert cluster.writable_queues("Orders") == [QueueKey("Orders", "broker-b", 0)]


def test_a_topic_that_may_not_be_written_at_all_is_refused(broker, cluster):
    broker.routes["Orders"] = [("broker-a", 1, 1, 4)]
    with pytest.raises(RocketMQError, match="no writable queue of topic 'Orders'"):
        cluster.writable_queues("Orders")


@pytest.mark.parametrize(("idle_s", "is_same"), [(80, True), (100, False)])
def test_a_connection_that_the_server_may_have_closed_for_idleness_is_made_anew(
    broker, cluster, monkeypatch, idle_s, is_same
):
    cluster.queues(["Orders"])
    client = cluster.client(broker.address)
    first = client._connection
    monkeypatch.setattr(time, "monotonic", lambda now=time.monotonic: now() + idle_s)
    assert cluster.max_offsets([QUEUE]) == {QUEUE: 100}
    assert (client._connection is first) == is_same
    assert first.is_open == is_same


class SizelessBroker(Cluster):
    """Queue 0 has offsets 5 to 7, and nobody gets an entry of it: it is answered with this code."""

    def __init__(self, code):
        super().__init__(ClusterOptions(name_servers=("127.0.0.1:1",)))
        self._masters = {"broker-a": "127.0.0.1:2"}
        self.code = code

    def ask_broker(self, broker_name, topic, requests):
        ends = {RequestCode.GET_MIN_OFFSET: 5, RequestCode.GET_MAX_OFFSET: 8}
        return [
            request.reply(ResponseCode.SUCCESS, header=OffsetResponseHeader(ends[RequestCode(request.code)]))
            if request.code in ends
            else request.reply(self.code, "no")
            for request in requests
        ]


#: RocketMQ's broker answers 1 to an account without the permission, and 0 without a body where there is no entry;
#: GlassMQ's answers 1 there.
@pytest.mark.parametrize(
    ("code", "start", "warnings"),
    [
        (ResponseCode.NO_PERMISSION, 5, 1),
        (ResponseCode.REQUEST_CODE_NOT_SUPPORTED, 7, 1),
        (ResponseCode.SYSTEM_ERROR, 5, 1),
        (ResponseCode.SYSTEM_ERROR, 4, 0),
        (ResponseCode.SYSTEM_ERROR, 8, 0),
        (ResponseCode.SUCCESS, 4, 0),
    ],
)
def test_a_broker_that_refuses_sizes_is_named_once_and_a_deleted_message_is_not(caplog, code, start, warnings):
    cluster = SizelessBroker(code)
    for _ in range(3):
        assert sum(map(len, cluster.entry_sizes({QUEUE: start}, 10).values())) == 0
    assert caplog.text.count("'maxBytesPerTrigger' does not limit what is read from broker 'broker-a'") == warnings

"""Java client 4.4.0 as it is shipped sends to the VIP channel, the port two below the broker's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.interop.harness.clients import Clients, messages, sent, wait_for_bodies
from tests.interop.harness.cluster import Cluster
from tests.interop.harness.glassmq_cluster import start_glassmq
from tests.interop.harness.wire import wait_until_all_is_committed

pytestmark = pytest.mark.interop_java

_DEADLINE_S = 90.0


@pytest.mark.parametrize("mode", ["sync", "async", "batch"])
def test_every_message_sent_arrives_once(clients: Clients, unique: partial[str], mode: str) -> None:
    topic, group = clients.cluster.create_topic(unique("VipSend"), queues=4), unique("cg")
    sender = clients.java_vip_driver(mode, unique("pg"), topic, 200)
    sender.wait_for_success(_DEADLINE_S)
    assert {event["status"] for event in sent(sender)} <= {0}

    consumer = clients.java_vip_driver("push", group, topic)
    bodies = {f"message-{number}" for number in range(200)}
    wait_for_bodies(bodies, consumer, deadline_s=_DEADLINE_S)
    assert Counter(event["body"] for event in messages(consumer)) == Counter(bodies)
    wait_until_all_is_committed(clients.cluster.broker, group, topic, 4)


def test_a_transaction_is_committed_and_consumed(clients: Clients, unique: partial[str]) -> None:
    topic = clients.cluster.create_topic(unique("VipTransaction"), queues=1)
    clients.java_vip_driver("transaction", unique("pg"), topic, 0)
    wait_for_bodies({"message-0"}, clients.java_vip_driver("orderly", unique("cg"), topic), deadline_s=_DEADLINE_S)


@pytest.fixture
def cluster_without_vip_channel(real_client: None, tmp_path: Path) -> Iterator[Cluster]:
    running = start_glassmq(tmp_path, settings={"vipChannelEnable": "false"})
    yield running
    running.stop()


def test_without_the_channel_the_client_cannot_send(
    cluster_without_vip_channel: Cluster, tmp_path: Path, unique: partial[str]
) -> None:
    """So the tests above speak of the channel."""
    clients = Clients(cluster_without_vip_channel, tmp_path)
    topic = clients.cluster.create_topic(unique("VipOff"), queues=1)
    sender = clients.java_vip_driver("sync", unique("pg"), topic, 1)
    sender.wait_for_output(f"connect to <127.0.0.1:{clients.cluster.broker_port - 2}> failed", _DEADLINE_S)
    clients.stop_all()

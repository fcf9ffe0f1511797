"""The unmodified Java client 4.9.8, driven by ``java/InteropClient.java``, with JSON and with binary headers."""

from __future__ import annotations

import socket
from collections import Counter
from functools import partial

import pytest

from tests.interop.harness.clients import Clients, messages, sent, wait_for_bodies
from tests.interop.harness.wire import max_offsets, wait_until_all_is_committed
from tests.support.waiting import wait_until

pytestmark = pytest.mark.interop_java

Unique = partial[str]
_DEADLINE_S = 90.0


@pytest.fixture(params=[False, True], ids=["json", "binary"])
def binary(request: pytest.FixtureRequest) -> bool:
    """Whether the client writes its headers in RocketMQ's binary form."""
    return bool(request.param)


def test_the_client_writes_its_headers_as_configured(clients: Clients, binary: bool) -> None:
    """Looks at the first frame on the wire, so that "json" and "binary" of the other tests are what they say."""
    with socket.create_server(("127.0.0.1", 0)) as name_server:
        name_server.settimeout(_DEADLINE_S)
        address = f"127.0.0.1:{name_server.getsockname()[1]}"
        clients.java_driver("sync", "AnyGroup", "AnyTopic", 1, binary=binary, name_server=address)
        connection, _ = name_server.accept()
        with connection:
            connection.settimeout(_DEADLINE_S)
            frame = connection.recv(9, socket.MSG_WAITALL)
    serialize_type, first_of_header = frame[4], frame[8:9]
    assert serialize_type == (1 if binary else 0)
    assert (first_of_header == b"{") == (not binary)


def _bodies(count: int) -> set[str]:
    return {f"message-{number}" for number in range(count)}


@pytest.mark.parametrize("mode", ["sync", "async", "oneway", "batch"])
def test_every_message_sent_arrives_once(clients: Clients, unique: Unique, mode: str, binary: bool) -> None:
    topic, group = clients.cluster.create_topic(unique("JavaSend"), queues=4), unique("cg")
    sender = clients.java_driver(mode, unique("pg"), topic, 200, binary=binary)
    sender.wait_for_success(_DEADLINE_S)
    assert {event["status"] for event in sent(sender)} <= {0}

    consumer = clients.java_driver("push", group, topic, binary=binary)
    wait_for_bodies(_bodies(200), consumer, deadline_s=_DEADLINE_S)
    received = messages(consumer)
    assert Counter(event["body"] for event in received) == Counter(_bodies(200))
    assert {event["tags"] for event in received} == {"TagA"}
    assert all(event["key"] == f"key-{event['number']}" for event in received)
    assert sum(max_offsets(clients.cluster.broker, topic, 4)) == 200
    wait_until_all_is_committed(clients.cluster.broker, group, topic, 4)


def test_two_push_consumers_of_a_group_share_the_queues(clients: Clients, unique: Unique, binary: bool) -> None:
    topic, group = clients.cluster.create_topic(unique("JavaShared"), queues=8), unique("cg")
    consumers = [clients.java_driver("push", group, topic, binary=binary) for _ in range(2)]
    for consumer in consumers:
        consumer.wait_for_output('"ready"', _DEADLINE_S)

    def four_queues_each() -> bool:
        """Send to all eight queues; true once each consumer received its half of such a round and nothing else."""
        before = [len(messages(consumer)) for consumer in consumers]
        clients.java_driver("sync", unique("pg"), topic, 16, binary=binary).wait_for_success(_DEADLINE_S)
        wait_until(
            lambda: sum(len(messages(consumer)) for consumer in consumers) >= sum(before) + 16,
            "the round's messages",
            _DEADLINE_S,
        )
        first, second = (
            {event["queue"] for event in messages(consumer)[old:]}
            for consumer, old in zip(consumers, before, strict=True)
        )
        return len(first) == len(second) == 4 and not first & second

    wait_until(four_queues_each, "four queues each", _DEADLINE_S)


def test_a_broadcast_reaches_every_consumer(clients: Clients, unique: Unique, binary: bool) -> None:
    topic, group = clients.cluster.create_topic(unique("JavaBroadcast"), queues=4), unique("cg")
    consumers = [clients.java_driver("broadcast", group, topic, binary=binary) for _ in range(2)]
    for consumer in consumers:
        consumer.wait_for_output('"ready"', _DEADLINE_S)
    clients.java_driver("sync", unique("pg"), topic, 40, binary=binary).wait_for_success(_DEADLINE_S)
    for consumer in consumers:
        wait_for_bodies(_bodies(40), consumer, deadline_s=_DEADLINE_S)
        assert len(messages(consumer)) == 40


@pytest.mark.parametrize("action", ["pull", "lite-pull"])
def test_a_pull_consumer_reads_everything(clients: Clients, unique: Unique, action: str, binary: bool) -> None:
    topic = clients.cluster.create_topic(unique("JavaPull"), queues=4)
    clients.java_driver("sync", unique("pg"), topic, 100, binary=binary).wait_for_success(_DEADLINE_S)
    puller = clients.java_driver(action, unique("cg"), topic, 100, binary=binary)
    puller.wait_for_success(_DEADLINE_S)
    assert Counter(event["body"] for event in messages(puller)) == Counter(_bodies(100))

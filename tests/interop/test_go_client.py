"""The unmodified Go client v2, driven by ``drivers/go/main.go``."""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest

from tests.interop.harness.clients import Clients, messages, sent

# Needs Go and its module proxy, which the machines of ``make test-rest`` may lack.
pytestmark = pytest.mark.interop_java

_DEADLINE_S = 90.0


@pytest.mark.parametrize("mode", ["sync", "async", "oneway", "batch"])
def test_every_message_sent_arrives_once(clients: Clients, unique: partial[str], mode: str) -> None:
    topic, group = clients.cluster.create_topic(unique("Go"), queues=4), unique("cg")
    sender = clients.go(mode, unique("pg"), topic, 100)
    sender.wait_for_success(_DEADLINE_S)
    assert {event["status"] for event in sent(sender)} <= {0}

    consumer = clients.go("push", group, topic, 100)
    consumer.wait_for_success(_DEADLINE_S)
    received = messages(consumer)
    assert Counter(event["body"] for event in received) == Counter(f"message-{number}" for number in range(100))
    assert {event["tags"] for event in received} == {"TagA"}


def test_each_queue_is_consumed_in_order(clients: Clients, unique: partial[str]) -> None:
    topic = clients.cluster.create_topic(unique("GoOrderly"), queues=4)
    clients.go("sync", unique("pg"), topic, 100).wait_for_success(_DEADLINE_S)
    consumer = clients.go("orderly", unique("cg"), topic, 100)
    consumer.wait_for_success(_DEADLINE_S)
    for queue in range(4):
        offsets = [event["offset"] for event in messages(consumer) if event["queue"] == queue]
        assert offsets == list(range(len(offsets)))


def test_what_is_committed_arrives_and_what_is_rolled_back_does_not(clients: Clients, unique: partial[str]) -> None:
    topic = clients.cluster.create_topic(unique("GoTransaction"), queues=4)
    clients.go("transaction", unique("pg"), topic, 10).wait_for_success(_DEADLINE_S)
    consumer = clients.go("push", unique("cg"), topic, 5)
    consumer.wait_for_success(_DEADLINE_S)
    assert {event["body"] for event in messages(consumer)} == {f"message-{number}" for number in range(0, 10, 2)}

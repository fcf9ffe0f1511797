"""The npm client ali-ons 3.12.0, unmodified."""

from __future__ import annotations

from collections import Counter
from functools import partial

from tests.interop.harness.clients import Clients, messages, sent, wait_for_bodies
from tests.interop.harness.wire import max_offsets, stored_message, wait_until_all_is_committed


def test_a_thousand_messages_arrive_none_lost_none_twice(clients: Clients, unique: partial[str]) -> None:
    topic, group = clients.cluster.create_topic(unique("OnsThousand"), queues=4), unique("cg")
    consumer = clients.ali_ons("consume", group, topic)
    consumer.wait_for_output('"ready"')
    sender = clients.ali_ons("send", unique("pg"), topic, 1000)
    sender.wait_for_success()
    assert {event["status"] for event in sent(sender)} == {"SEND_OK"}

    expected = {f"message-{number}" for number in range(1000)}
    wait_for_bodies(expected, consumer)
    broker = clients.cluster.broker
    assert sum(max_offsets(broker, topic, 4)) == 1000
    wait_until_all_is_committed(broker, group, topic, 4)  # what would come a second time has come by then
    assert Counter(event["body"] for event in messages(consumer)) == Counter(expected)
    placed = {(event["queue"], event["offset"]) for event in sent(sender)}
    assert placed == {(event["queue"], event["offset"]) for event in messages(consumer)}


def test_a_body_of_20_kb_that_the_client_compresses_arrives_whole(clients: Clients, unique: partial[str]) -> None:
    topic = clients.cluster.create_topic(unique("OnsLarge"), queues=1)
    clients.ali_ons("send", unique("pg"), topic, 2, 20_000).wait_for_success()
    stored = [stored_message(clients.cluster.broker, topic, 0, offset) for offset in range(2)]
    assert all(message.is_compressed and message.size_bytes < 2_000 for message in stored)
    consumer = clients.ali_ons("consume", unique("cg"), topic)
    consumer.wait_for_output('"message"', at_least=2, deadline_s=60)
    assert [event["body_bytes"] for event in messages(consumer)] == [20_000, 20_000]


def test_a_message_of_the_cpp_client_reaches_ali_ons(clients: Clients, unique: partial[str]) -> None:
    topic = clients.cluster.create_topic(unique("CppToOns"), queues=2)
    clients.cpp("send", unique("pg"), topic, count=20).wait_for_success()
    consumer = clients.ali_ons("consume", unique("cg"), topic)
    wait_for_bodies({f"message-{number}" for number in range(20)}, consumer)
    assert {event["tags"] for event in messages(consumer)} == {"TagA"}

"""The C++ client (PyPI ``rocketmq`` 0.4.4), unmodified: every way of sending and receiving that it offers."""

from __future__ import annotations

from functools import partial

import pytest

from tests.interop.harness.clients import Clients, messages, sent, wait_for_bodies
from tests.interop.harness.cluster import Cluster
from tests.interop.harness.process import ManagedProcess
from tests.interop.harness.wire import committed_offset, max_offsets, stored_message
from tests.support.waiting import wait_until

Unique = partial[str]


def _bodies(count: int, prefix: str = "message") -> set[str]:
    return {f"{prefix}-{number}" for number in range(count)}


def _queues_with_new_messages(*consumers: ManagedProcess, after: int = 0) -> list[set[int]]:
    """Per consumer: the queues of the messages whose number is at least ``after``."""
    return [{event["queue"] for event in messages(consumer) if event["number"] >= after} for consumer in consumers]


@pytest.mark.parametrize("mode", ["sync", "async", "oneway", "selected"])
def test_every_message_sent_arrives_once_with_its_tag(clients: Clients, unique: Unique, mode: str) -> None:
    topic = clients.cluster.create_topic(unique("CppSend"), queues=4)
    sender = clients.cpp("send", unique("pg"), topic, mode=mode, count=100)
    sender.wait_for_success()

    consumer = clients.cpp("consume", unique("cg"), topic, instance="only")
    wait_for_bodies(_bodies(100), consumer)

    received = messages(consumer)
    assert len(received) == 100
    assert {event["tags"] for event in received} == {"TagA"}
    if mode != "oneway":
        assert [event["status"] for event in sent(sender)] == [0] * 100
        assert sum(max_offsets(clients.cluster.broker, topic, 4)) == 100


@pytest.mark.smoke
def test_the_selector_decides_the_queue(clients: Clients, unique: Unique) -> None:
    topic = clients.cluster.create_topic(unique("CppSelect"), queues=4)
    clients.cpp("send", unique("pg"), topic, mode="selected", count=40).wait_for_success()
    consumer = clients.cpp("consume", unique("cg"), topic)
    wait_for_bodies(_bodies(40), consumer)
    assert all(event["queue"] == event["number"] % 4 for event in messages(consumer))
    assert max_offsets(clients.cluster.broker, topic, 4) == [10, 10, 10, 10]


def test_a_topic_nobody_created_is_created_by_the_first_send(clients: Clients, unique: Unique) -> None:
    topic = unique("CppAutoCreated")
    clients.cpp("send", unique("pg"), topic, count=8).wait_for_success()
    assert sum(max_offsets(clients.cluster.broker, topic, 4)) == 8


def test_a_body_of_20_kb_is_compressed_by_the_client_and_arrives_whole(clients: Clients, unique: Unique) -> None:
    topic = clients.cluster.create_topic(unique("CppCompressed"), queues=1)
    clients.cpp("send", unique("pg"), topic, count=3, body_bytes=20_000).wait_for_success()
    stored = [stored_message(clients.cluster.broker, topic, 0, offset) for offset in range(3)]
    assert all(message.is_compressed and message.size_bytes < 2_000 for message in stored)
    consumer = clients.cpp("consume", unique("cg"), topic)
    wait_until(lambda: len(messages(consumer)) == 3, "three large messages", seen=consumer.output_end)
    for number, event in enumerate(sorted(messages(consumer), key=lambda event: event["number"])):
        assert event["body_bytes"] == 20_000
        assert event["body"] == f"message-{number}".ljust(200, "x")


def test_an_acknowledged_send_names_the_offset_where_the_consumer_finds_it(clients: Clients, unique: Unique) -> None:
    topic = clients.cluster.create_topic(unique("CppOffset"), queues=1)
    sender = clients.cpp("send", unique("pg"), topic, count=20)
    sender.wait_for_success()
    consumer = clients.cpp("consume", unique("cg"), topic)
    wait_for_bodies(_bodies(20), consumer)
    found = {event["number"]: event["offset"] for event in messages(consumer)}
    assert found == {event["number"]: event["offset"] for event in sent(sender)} == {n: n for n in range(20)}


def test_two_processes_share_eight_queues_and_the_survivor_takes_all_when_one_is_killed(
    clients: Clients, unique: Unique
) -> None:
    topic, group = clients.cluster.create_topic(unique("CppShared"), queues=8), unique("cg")
    first = clients.cpp("consume", group, topic, instance="first")
    second = clients.cpp("consume", group, topic, instance="second")
    for consumer in (first, second):
        consumer.wait_for_output('"ready"')
    sender = clients.cpp("send", unique("pg"), topic, mode="selected", count=0)

    def shared_evenly() -> bool:
        """Among the newest 200 messages each consumer has four queues, and no queue has two consumers."""
        if len(sent(sender)) < 400:
            return False  # not before the load is steady
        mine, other = _queues_with_new_messages(first, second, after=len(sent(sender)) - 200)
        return len(mine) == len(other) == 4 and not mine & other

    wait_until(shared_evenly, "four queues each", 60, lambda: _queues_with_new_messages(first, second))

    second.kill()
    at_the_kill = len(sent(sender))

    def taken_over() -> bool:
        return _queues_with_new_messages(first, after=at_the_kill) == [set(range(8))]

    wait_until(taken_over, "the survivor to read all eight queues", 60, first.output_end)
    sender.stop()
    wait_for_bodies((f"message-{event['number']}" for event in sent(sender)), first, second)
    assert sender.exit_code == 0
    assert {event["status"] for event in sent(sender)} == {0}


def test_a_broadcast_reaches_every_process_of_the_group(clients: Clients, unique: Unique) -> None:
    topic, group = clients.cluster.create_topic(unique("CppBroadcast"), queues=4), unique("cg")
    consumers = [clients.cpp("consume", group, topic, broadcast=True, instance=name) for name in ("first", "second")]
    warm_up_until_both_receive(clients, unique, topic, consumers)
    clients.cpp("send", unique("pg"), topic, count=50, prefix="broadcast").wait_for_success()
    for consumer in consumers:
        wait_for_bodies(_bodies(50, "broadcast"), consumer)
        got = [event["body"] for event in messages(consumer) if event["body"].startswith("broadcast-")]
        assert len(got) == 50


def warm_up_until_both_receive(clients: Clients, unique: Unique, topic: str, consumers: list[ManagedProcess]) -> None:
    """A broadcast consumer starts at the end of each queue: messages sent before it listens are not for it."""
    sender = clients.cpp("send", unique("pg"), topic, mode="selected", count=0, prefix="warm-up")
    wait_until(
        lambda: all(queues == {0, 1, 2, 3} for queues in _queues_with_new_messages(*consumers)),
        "both consumers to listen to all four queues",
        60,
        consumers[0].output_end,
    )
    sender.stop()


def test_a_pull_consumer_reads_everything_from_the_start(clients: Clients, unique: Unique) -> None:
    topic = clients.cluster.create_topic(unique("CppPull"), queues=4)
    clients.cpp("send", unique("pg"), topic, mode="selected", count=100).wait_for_success()
    puller = clients.cpp("pull", unique("cg"), topic)
    puller.wait_for_output('"done"', 60)
    assert sorted(event["number"] for event in messages(puller)) == list(range(100))


def test_a_restarted_group_goes_on_where_it_stopped(clients: Clients, unique: Unique, cluster: Cluster) -> None:
    topic, group = cluster.create_topic(unique("CppResume"), queues=2), unique("cg")
    clients.cpp("send", unique("pg"), topic, mode="selected", count=20).wait_for_success()
    consumer = clients.cpp("consume", group, topic)
    wait_for_bodies(_bodies(20), consumer)
    wait_until(
        lambda: [committed_offset(cluster.broker, group, topic, queue) for queue in range(2)] == [10, 10],
        "both offsets to be committed",
    )
    consumer.stop()

    clients.cpp("send", unique("pg"), topic, mode="selected", count=10, prefix="later").wait_for_success()
    again = clients.cpp("consume", group, topic)
    wait_for_bodies(_bodies(10, "later"), again)
    assert {event["body"] for event in messages(again)} == _bodies(10, "later")

"""Ordered consumption by real clients: the broker's lock table keeps the order when members are killed or frozen."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.interop.harness.clients import Clients, messages, sent
from tests.interop.harness.cluster import Cluster
from tests.interop.harness.process import ManagedProcess
from tests.interop.harness.wire import write_queues
from tests.support.waiting import wait_until

Unique = partial[str]
_EXAMPLE_TOPIC = "TopicTest"
_PRINTED = re.compile(r"Receive New Messages: \[MessageExt \[[^\]]*?queueId=(\d+),[^\]]*?queueOffset=(\d+),")
_JAVA_S = 90.0

QUEUES = 4
#: Message n is about key n modulo this; the C++ driver selects queue n modulo QUEUES, so a key stays on its queue.
KEYS = 100
#: RocketMQ's lease of a lock whose owner is silent, plus what rebalances and pulls take after it on a busy machine.
_LEASE_S = 60.0
_TAKEN_OVER_S = 150.0


def calls_in_order(*consumers: ManagedProcess) -> list[dict[str, Any]]:
    """Everything these consumers received, in the order in which their listeners were called; ``member``: by which."""
    calls = [{**event, "member": member} for member, consumer in enumerate(consumers) for event in messages(consumer)]
    return sorted(calls, key=lambda call: call["began_ns"])


def assert_order_is_kept(calls: list[dict[str, Any]]) -> None:
    """First deliveries of every key come in the order of sending; no queue is consumed by two calls at a time."""
    assert_keys_are_in_order(calls)
    for earlier, later in calls_at_a_time(calls):
        raise AssertionError(f"queue {later['queue']}: two calls at a time, {earlier} and {later}")


def assert_order_is_kept_by_cpp(calls: list[dict[str, Any]]) -> None:
    """The same, except where a queue changes hands: a member that loses it in a rebalance unlocks it at once.

    The C++ client waits neither for the listener's call nor for its loop, which goes on with what was pulled until
    the unlock has been answered (``RebalancePush::removeUnnecessaryMessageQueue``, then ``clearAllMsgs``). It stored
    its offset before, so its successor begins with a message that it still has: of two at a time, both members get
    the one that was sent first.
    """
    assert_keys_are_in_order(calls)
    got = {(call["member"], call["number"]) for call in calls}
    for earlier, later in calls_at_a_time(calls):
        assert earlier["member"] != later["member"], f"one member, two calls at a time: {earlier} and {later}"
        first, second = sorted((earlier, later), key=lambda call: int(call["number"]))
        assert (second["member"], first["number"]) in got, f"{second} came at the time of {first}, and without it"


def assert_keys_are_in_order(calls: list[dict[str, Any]]) -> None:
    newest: dict[int, int] = {}
    for call in calls:
        number, key = call["number"], call["number"] % KEYS
        last = newest.get(key, key - KEYS)
        assert number <= last + KEYS, f"key {key}: {number} came before {last + KEYS}"
        newest[key] = max(last, number)


def calls_at_a_time(calls: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield each call that began before another of its queue had ended, after that other."""
    longest: dict[int, dict[str, Any]] = {}
    for call in calls:
        before = longest.get(call["queue"])
        if before and call["began_ns"] < before["ended_ns"]:
            yield before, call
        if not before or call["ended_ns"] > before["ended_ns"]:
            longest[call["queue"]] = call


def test_two_cpp_processes_keep_10_000_messages_in_order_while_one_is_killed_and_restarted(
    clients: Clients, unique: Unique
) -> None:
    topic, group = clients.cluster.create_topic(unique("CppOrderly"), queues=QUEUES), unique("cg")
    first, second = (
        clients.cpp("consume", group, topic, instance=name, orderly=True, listener_ms=1) for name in ("first", "second")
    )
    for consumer in (first, second):
        consumer.wait_for_output('"ready"')
    count = 10_000
    sender = clients.cpp("send", unique("pg"), topic, mode="selected", count=count)
    wait_until(lambda: len(messages(second)) > 500, "the second member to be at work", 120, second.output_end)
    second.kill()
    # At once: by its name it still has its locks, and who comes when the lease is over finds nothing left to do.
    again = clients.cpp("consume", group, topic, instance="second", orderly=True, listener_ms=1)
    sender.wait_for_success(120)
    assert {event["status"] for event in sent(sender)} == {0}

    def all_consumed() -> bool:
        return len({event["number"] for event in messages(first, second, again)}) == count

    wait_until(all_consumed, f"all {count} messages", _TAKEN_OVER_S, first.output_end)
    assert_order_is_kept_by_cpp(calls_in_order(first, second, again))
    assert len(messages(again)) > 0, "the restarted process gets its share"


def start_two_members(clients: Clients, unique: Unique, name: str) -> tuple[ManagedProcess, ManagedProcess, Any]:
    """Two orderly members that have two queues each under a steady load; and the sender."""
    topic, group = clients.cluster.create_topic(unique(name), queues=QUEUES), unique("cg")
    first, second = (clients.cpp("consume", group, topic, instance=name, orderly=True) for name in ("first", "second"))
    sender = clients.cpp("send", unique("pg"), topic, mode="selected", count=0)
    wait_until(
        lambda: all(len(queues) == 2 for queues in newest_queues(first, second)),
        "two queues each",
        _TAKEN_OVER_S,
        first.output_end,
    )
    return first, second, sender


def newest_queues(*consumers: ManagedProcess) -> list[set[int]]:
    """Per consumer: the queues of the last 200 messages that it got; nothing before it got that many.

    Not of the last ones sent: on a busy machine those may be under way for a while.
    """
    got = [messages(one) for one in consumers]
    return [{event["queue"] for event in events[-200:]} if len(events) >= 200 else set() for events in got]


def seconds_until_taken_over(sender: ManagedProcess, consumer: ManagedProcess, queues: set[int]) -> float:
    """How long it takes until ``consumer`` gets what is sent to each of ``queues`` from now on."""
    begin, newest = time.monotonic(), len(sent(sender))

    def takes_over() -> bool:
        return queues <= {event["queue"] for event in messages(consumer) if event["number"] > newest}

    wait_until(takes_over, f"{consumer.name} to consume {queues}", 2 * _TAKEN_OVER_S, consumer.output_end)
    return time.monotonic() - begin


def test_the_queues_of_a_killed_orderly_member_wait_for_the_lease(clients: Clients, unique: Unique) -> None:
    first, second, sender = start_two_members(clients, unique, "CppLease")
    (lost,) = newest_queues(second)
    second.kill()
    waited_s = seconds_until_taken_over(sender, first, lost)
    sender.stop()
    assert waited_s > _LEASE_S - 25, "locks are renewed every 20 s and hold for 60 s after that"
    assert_order_is_kept_by_cpp(calls_in_order(first, second))


def test_a_frozen_orderly_member_delays_its_queues_and_finds_its_locks_gone_when_it_wakes_up(
    clients: Clients, unique: Unique
) -> None:
    first, second, sender = start_two_members(clients, unique, "CppFrozen")
    (lost,) = newest_queues(second)
    second.freeze()
    # Its connection stays open, so the broker counts it as a member until it has been silent for 120 s.
    waited_s = seconds_until_taken_over(sender, first, lost)
    assert waited_s > _LEASE_S
    wakes_ns = time.monotonic_ns()  # taken before it wakes: afterwards it may be quicker than this process
    second.thaw()
    seconds_until_taken_over(sender, second, lost)
    sender.stop()
    # The call in which it was frozen, if any, ends after the thaw: no lock can prevent that.
    calls = calls_in_order(first, second)
    frozen = [call for call in calls if call["member"] == 1 and call["began_ns"] < wakes_ns <= call["ended_ns"]]
    assert_order_is_kept_by_cpp([call for call in calls if call not in frozen])


# --- Java ------------------------------------------------------------------------------------------------------------


@pytest.mark.interop_java
@pytest.mark.parametrize("binary", [False, True], ids=["json", "binary"])
def test_two_java_processes_keep_10_000_messages_in_order_while_one_is_killed_and_restarted(
    clients: Clients, unique: Unique, binary: bool
) -> None:
    topic, group = clients.cluster.create_topic(unique("JavaOrderly"), queues=QUEUES), unique("cg")
    first, second = (clients.java_driver("orderly", group, topic, binary=binary) for _ in range(2))
    for consumer in (first, second):
        consumer.wait_for_output('"ready"', _JAVA_S)
    count = 10_000
    sender = clients.java_driver("selected", unique("pg"), topic, count, binary=binary)
    wait_until(lambda: len(messages(second)) > 200, "the second member to be at work", _JAVA_S, second.output_end)
    second.kill()
    sender.wait_for_success(_JAVA_S)
    again = clients.java_driver("orderly", group, topic, binary=binary)

    def all_consumed() -> bool:
        return len({event["number"] for event in messages(first, second, again)}) == count

    wait_until(all_consumed, f"all {count} messages", _TAKEN_OVER_S, first.output_end)
    assert_order_is_kept(calls_in_order(first, second, again))


@pytest.mark.interop_java
def test_the_ordermessage_example_sends_each_order_to_one_queue(
    default_port_cluster: Cluster, clients_of_default_port: Clients
) -> None:
    process = clients_of_default_port.java_example("ordermessage.Producer")
    process.wait_for_success(_JAVA_S)
    queues = [int(number) for number in re.findall(r"SEND_OK.*?queueId=(\d+)\]", process.output())]
    assert len(queues) == 100
    count = write_queues(default_port_cluster.name_server, "TopicTestjjj")
    assert queues == [number % 10 % count for number in range(100)], "message n is about order n modulo 10"


@pytest.mark.interop_java
def test_two_ordermessage_example_consumers_keep_the_order_while_one_is_killed_and_restarted(
    default_port_cluster: Cluster, clients_of_default_port: Clients
) -> None:
    """Its listener suspends a queue for 3 s now and then, and returns ROLLBACK where that means success."""
    clients = clients_of_default_port
    default_port_cluster.create_topic(_EXAMPLE_TOPIC, QUEUES)
    first, second = (clients.java_example("ordermessage.Consumer") for _ in range(2))
    for consumer in (first, second):
        consumer.wait_for_output("Consumer Started", _JAVA_S)
    clients.cpp("send", "ordered-producers", _EXAMPLE_TOPIC, mode="selected", count=100).wait_for_success()
    wait_until(lambda: len(printed(second)) > 10, "the second example to be at work", _JAVA_S, second.output_end)
    second.kill()
    clients.cpp("send", "ordered-producers", _EXAMPLE_TOPIC, mode="selected", count=100).wait_for_success()
    again = clients.java_example("ordermessage.Consumer")

    def all_printed() -> bool:
        found = {place for one in (first, second, again) for place in printed(one)}
        return found >= {(queue, offset) for queue in range(QUEUES) for offset in range(50)}

    wait_until(all_printed, "all 200 messages", _TAKEN_OVER_S, first.output_end)
    for one in (first, second, again):
        for queue in range(QUEUES):
            offsets = [offset for each, offset in printed(one) if each == queue]
            news = list(dict.fromkeys(offsets))
            assert news == sorted(news), f"queue {queue}: {offsets}"


def printed(example: ManagedProcess) -> list[tuple[int, int]]:
    """(queue, offset) of what the example printed."""
    return [(int(queue), int(offset)) for queue, offset in _PRINTED.findall(example.output())]


@pytest.fixture
def clients_of_default_port(default_port_cluster: Cluster, tmp_path: Path) -> Iterator[Clients]:
    """The examples know only name server port 9876, where that is free."""
    started = Clients(default_port_cluster, tmp_path)
    yield started
    started.stop_all()

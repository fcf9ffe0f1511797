"""What each of the three locks of ordered consumption prevents: switched off, it does not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.client import DefaultMQProducer
from engine.client.queues.message_queue_lock import MessageQueueLock
from engine.protocol.body.message_queue import MessageQueue
from tests.support.lab.lab_cluster import LabCluster
from tests.support.lab.orderly_cluster import HeardInOrder, committed, make_cluster, orderly, queue_named, send

Stage = tuple[LabCluster, DefaultMQProducer]


@pytest.fixture
def stage() -> Iterator[Stage]:
    cluster, producer = make_cluster(queues=2)
    with cluster:
        yield cluster, producer


def test_with_the_broker_lock_off_everybody_is_granted_everything(stage):
    cluster, producer = stage
    cluster.broker.rebalance_lock_manager.enabled = False
    running: dict[MessageQueue, int] = {}
    heard = [HeardInOrder(cluster, duration_ms=3_000, running=running) for _ in range(2)]
    orderly(cluster, heard[0], "C1")
    cluster.world.run_for(1_000)
    send(cluster, producer, "x", queue=1)
    cluster.world.run_until(lambda: heard[0].messages)
    orderly(cluster, heard[1], "C2")
    cluster.world.run_for(2_000)
    assert max(listener.most_at_once for listener in heard) == 2


def test_with_the_consume_lock_off_a_queue_is_given_away_under_the_listener(stage):
    cluster, producer = stage
    running: dict[MessageQueue, int] = {}
    heard = [HeardInOrder(cluster, duration_ms=30_000, running=running) for _ in range(2)]
    first = orderly(cluster, heard[0], "C1")
    first.orderly_switches.consume_lock = False
    assert not first.orderly_switches.consume_lock
    cluster.world.run_for(1_000)
    send(cluster, producer, "x", queue=1)
    cluster.world.run_until(lambda: heard[0].messages)
    orderly(cluster, heard[1], "C2")
    cluster.world.run_for(25_000)
    assert max(listener.most_at_once for listener in heard) == 2


@pytest.mark.parametrize(("flag", "expected"), [(True, 1), (False, 2)])
def test_the_local_lock_is_missed_only_where_several_requests_go_round(stage, flag, expected):
    cluster, producer = stage
    heard = HeardInOrder(cluster, duration_ms=100)
    consumer = orderly(cluster, heard)
    consumer.orderly_switches.message_queue_lock = False
    consumer.orderly_switches.consume_lock = False
    consumer.orderly_switches.consuming_flag = flag
    cluster.world.run_for(1_000)
    send(cluster, producer, "x", "y", "z")
    cluster.world.run_for(1_000)
    assert min(heard.most_at_once, 2) == expected


@pytest.mark.parametrize(("is_on", "expected"), [(True, 1), (False, 2)])
def test_after_a_forced_unlock_the_local_lock_is_all_that_keeps_two_listener_calls_apart(stage, is_on, expected):
    cluster, producer = stage
    heard = HeardInOrder(cluster, duration_ms=3_000)
    consumer = orderly(cluster, heard)
    consumer.orderly_switches.message_queue_lock = is_on
    assert consumer.orderly_switches.message_queue_lock is is_on
    cluster.world.run_for(1_000)
    send(cluster, producer, "x", "y")
    cluster.world.run_until(lambda: heard.messages)
    cluster.run(consumer, consumer.force_unlock(queue_named(consumer)))
    cluster.world.run_for(20_000)
    assert heard.most_at_once == expected
    assert committed(cluster) == 2


def test_a_lock_belongs_to_its_queue_and_switches_reach_all_of_them():
    locks = MessageQueueLock()
    first, second = (MessageQueue("T", "b", number) for number in range(2))
    assert locks.fetch_lock(first) is locks.fetch_lock(MessageQueue("T", "b", 0))
    locks.enabled = False
    assert not locks.fetch_lock(first).enabled
    assert not locks.fetch_lock(second).enabled
    assert list(locks.locks) == [first, second]

"""The three locks of ordered consumption: who holds them, how long, and what each of them prevents."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from engine.client import DefaultMQProducer, Message
from engine.client.queues.consumer_config import PushConsumerConfig
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.command.remoting_command import decode_command
from engine.protocol.request_code import RequestCode
from engine.runtime.lab.lab_link_fault import Parcel, ParcelKind
from tests.support.lab.lab_cluster import LabCluster
from tests.support.lab.lab_faults import DropsRequests
from tests.support.lab.orderly_cluster import (
    SUSPEND,
    HeardInOrder,
    committed,
    lock_owners,
    make_cluster,
    orderly,
    process_queue_of,
    queue_named,
    queues_of,
    send,
)

Stage = tuple[LabCluster, DefaultMQProducer]


@pytest.fixture
def stage() -> Iterator[Stage]:
    cluster, producer = make_cluster(queues=2)
    with cluster:
        yield cluster, producer


def test_the_defaults_are_those_of_rocketmq():
    config = PushConsumerConfig()
    assert (config.rebalance_lock_interval_ms, config.lock_max_live_time_ms) == (20_000, 30_000)
    assert (config.consume_lock_wait_ms, config.unlock_delay_ms) == (1_000, 20_000)
    assert (config.try_lock_delay_ms, config.lock_refused_delay_ms) == (100, 3_000)
    assert (config.max_time_consume_continuously_ms, config.suspend_current_queue_time_ms) == (60_000, 1_000)


# --- the broker's lock -----------------------------------------------------------------------------------------------


def test_a_queue_is_locked_at_the_broker_before_it_is_taken_over(stage):
    cluster, _ = stage
    consumer = orderly(cluster, HeardInOrder(cluster))
    cluster.world.run_until(lambda: consumer.process_queues)
    client_id = consumer.instance.client_id
    assert lock_owners(cluster)[next(queue.queue_id for queue in consumer.process_queues)] == client_id
    cluster.world.run_for(500)
    assert lock_owners(cluster) == {0: client_id, 1: client_id}
    assert all(held.locked for held in consumer.process_queues.values())


def test_a_queue_that_somebody_else_holds_is_skipped_until_the_next_rebalance(stage):
    cluster, producer = stage
    queues = [MessageQueue("T", "broker-a", queue_id) for queue_id in (0, 1)]
    manager = cluster.broker.rebalance_lock_manager
    manager.try_lock_batch("g", [queues[1]], "somebody else")
    heard = HeardInOrder(cluster)
    consumer = orderly(cluster, heard)
    send(cluster, producer, "x", queue=1)
    cluster.world.run_for(10_000)
    assert queues_of(consumer) == [0]
    assert heard.bodies == []
    manager.unlock_batch("g", [queues[1]], "somebody else")
    cluster.world.run_for(15_000)
    assert queues_of(consumer) == [0, 1]
    assert heard.bodies == ["x"]


def test_locks_are_renewed_every_twenty_seconds(stage):
    cluster, _ = stage
    consumer = orderly(cluster, HeardInOrder(cluster))
    cluster.world.run_for(300_000)
    now_ms = cluster.broker.runtime.clock.now_ms()
    for _, _, entry in cluster.broker.rebalance_lock_manager.entries():
        assert now_ms - entry.last_update_ms <= 20_100
    for held in consumer.process_queues.values():
        assert held.locked
        assert not held.is_lock_expired


def test_a_lost_lock_stops_consumption_until_it_is_got_again(stage):
    cluster, producer = stage
    heard = HeardInOrder(cluster)
    consumer = orderly(cluster, heard)
    cluster.world.run_for(1_500)
    queue = queue_named(consumer, 0)
    manager = cluster.broker.rebalance_lock_manager
    manager.unlock_batch("g", [queue], consumer.instance.client_id)
    manager.try_lock_batch("g", [queue], "somebody else")
    cluster.world.run_for(20_000)  # lockAll tells it
    assert not process_queue_of(consumer, 0).locked
    assert process_queue_of(consumer, 1).locked
    send(cluster, producer, "x", queue=0)
    cluster.world.run_for(10_000)
    assert heard.bodies == []
    manager.unlock_batch("g", [queue], "somebody else")
    cluster.world.run_for(21_000)
    assert heard.bodies == ["x"]


def test_without_renewal_the_client_stops_trusting_its_lock_after_thirty_seconds(stage):
    cluster, producer = stage
    heard = HeardInOrder(cluster)
    consumer = orderly(cluster, heard)
    cluster.world.run_for(2_000)
    lost = DropsRequests("C", RequestCode.LOCK_BATCH_MQ)
    cluster.world.network.faults.append(lost)
    send(cluster, producer, "before")
    cluster.world.run_for(1_000)
    assert heard.bodies == ["before"]
    cluster.world.run_for(32_000)
    assert process_queue_of(consumer).locked, "nobody has told it otherwise"
    assert process_queue_of(consumer).is_lock_expired
    send(cluster, producer, "after")
    cluster.world.run_for(5_000)
    assert heard.bodies == ["before"]
    cluster.world.network.faults.remove(lost)
    cluster.world.run_until(lambda: heard.bodies == ["before", "after"])


def test_a_killed_owner_blocks_its_queues_until_the_brokers_lease_has_run_out(stage):
    cluster, producer = stage
    heard = HeardInOrder(cluster)
    orderly(cluster, HeardInOrder(cluster), "C1")
    cluster.world.run_for(5_000)
    cluster.world.crash("C1")
    killed_ms = cluster.world.loop.now_us // 1_000
    second = orderly(cluster, heard, "C2")
    send(cluster, producer, "x")
    cluster.world.run_until(lambda: heard.messages)
    waited_ms = heard.times_ms[0] - killed_ms
    assert 40_000 < waited_ms <= 80_100, "60 s after the last renewal, then the next rebalance"
    assert queues_of(second) == [0, 1]


def test_an_orderly_shutdown_frees_the_queues_at_once_with_their_progress(stage):
    cluster, producer = stage
    first = orderly(cluster, HeardInOrder(cluster), "C1")
    cluster.world.run_for(1_000)
    send(cluster, producer, "x")
    cluster.world.run_for(1_000)
    cluster.stop(first)
    assert lock_owners(cluster) == {}
    assert committed(cluster) == 1
    heard = HeardInOrder(cluster)
    second = orderly(cluster, heard, "C2")
    cluster.world.run_for(1_000)
    assert queues_of(second) == [0, 1]
    assert heard.bodies == [], "nothing twice"


def test_the_first_pull_begins_where_the_last_owner_ended(stage):
    cluster, producer = stage
    send(cluster, producer, "0", "1", "2")
    heard = HeardInOrder(cluster)
    consumer = orderly(cluster, heard)
    reads: list[int | None] = []
    read = consumer.offset_store.read_offset_from_store

    async def counting(queue: MessageQueue) -> int | None:
        offset = await read(queue)
        if queue.topic == "T" and queue.queue_id == 0:
            reads.append(offset)
            if len(reads) == 1:
                # Between the rebalance and the first pull the former owner's last report arrives.
                cluster.broker.consumer_offset_manager.commit_offset("former owner", "g", "T", 0, 2)
        return offset

    consumer.offset_store.read_offset_from_store = counting
    cluster.world.run_for(1_000)
    assert reads == [0, 2]
    assert heard.bodies == ["2"]


def test_a_queue_that_is_not_locked_is_not_pulled(stage):
    cluster, producer = stage
    consumer = orderly(cluster, HeardInOrder(cluster))
    cluster.world.run_for(1_500)
    cluster.world.network.faults.append(DropsRequests("C", RequestCode.LOCK_BATCH_MQ))
    held = process_queue_of(consumer)
    held.lose_lock()
    send(cluster, producer, "answers the pull that the broker holds")
    cluster.world.run_for(5_000)
    send(cluster, producer, "stays at the broker")
    cluster.world.run_for(5_000)
    assert held.msg_count == 1


# --- giving a queue up -----------------------------------------------------------------------------------------------


def test_a_new_member_gets_its_share_and_nothing_is_consumed_side_by_side(stage):
    cluster, producer = stage
    running: dict[MessageQueue, int] = {}
    heard = [HeardInOrder(cluster, duration_ms=30, running=running) for _ in range(2)]
    first = orderly(cluster, heard[0], "C1")
    cluster.world.run_for(1_000)
    second = orderly(cluster, heard[1], "C2")
    for part in range(10):
        for queue in (0, 1):
            send(cluster, producer, *(f"{queue}-{part}-{number}" for number in range(5)), queue=queue)
        cluster.world.run_for(5_000)
    cluster.world.run_for(60_000)
    assert (queues_of(first), queues_of(second)) == ([0], [1])
    assert max(listener.most_at_once for listener in heard) == 1
    for queue in (0, 1):
        wanted = [f"{queue}-{part}-{number}" for part in range(10) for number in range(5)]
        both = sorted((time, body) for one in heard for time, body in zip(one.times_ms, one.bodies, strict=True))
        got = [body for _, body in both if body.startswith(f"{queue}-")]
        assert list(dict.fromkeys(got)) == wanted, "first deliveries in order"


def test_a_queue_is_not_given_up_while_its_listener_runs(stage):
    cluster, producer = stage
    running: dict[MessageQueue, int] = {}
    slow = HeardInOrder(cluster, duration_ms=70_000, running=running)
    first = orderly(cluster, slow, "C1")
    cluster.world.run_for(1_000)
    send(cluster, producer, "x", queue=1)
    cluster.world.run_until(lambda: slow.messages)
    heard = HeardInOrder(cluster, running=running)
    second = orderly(cluster, heard, "C2")
    cluster.world.run_for(60_000)
    held = process_queue_of(first, 1)
    assert held.dropped
    assert held.try_unlock_times == 3, "once per rebalance: at once and every 20 s, each after a wait of 1 s"
    assert lock_owners(cluster)[1] == first.instance.client_id, "lockAll renews it meanwhile"
    assert queues_of(second) == []
    cluster.world.run_for(60_000)
    assert queues_of(second) == [1]
    assert heard.bodies == ["x"], "its result came too late to be stored: once more, afterwards"
    assert max(slow.most_at_once, heard.most_at_once) == 1


def test_a_worker_that_waited_for_the_consume_lock_looks_whether_the_queue_is_still_its_own(stage):
    cluster, producer = stage
    heard = HeardInOrder(cluster)
    consumer = orderly(cluster, heard)
    cluster.world.run_for(1_500)
    held = process_queue_of(consumer)

    async def give_up() -> None:
        async with held.consume_lock:
            await producer.send(Message("T", b"x"), selector=lambda queues, *_: queues[0], selector_argument=0)
            await asyncio.sleep(0.5)
            assert held.consume_lock.waiters, "the worker has taken the message"
            held.drop()

    cluster.run(producer, give_up())
    cluster.world.run_for(1_000)
    assert heard.bodies == []


def test_a_shutdown_stores_the_progress_before_it_unlocks_and_unlocks_what_is_kept_for_a_while_too(stage):
    cluster, producer = stage
    first = orderly(cluster, HeardInOrder(cluster, lambda message, context: SUSPEND), "C1")
    cluster.world.run_for(1_000)
    send(cluster, producer, "x", "y", queue=1)
    cluster.world.run_for(500)
    orderly(cluster, HeardInOrder(cluster), "C2")
    cluster.world.run_until(lambda: queues_of(first) == [0])
    assert lock_owners(cluster)[1] == first.instance.client_id
    send(cluster, producer, "z", queue=0)
    first.offset_store.update_offset(queue_named(first, 0), 7, increase_only=False)
    codes: list[int] = []

    def note(parcel: Parcel, delays_us: tuple[int, ...]) -> None:
        if parcel.source == "C1" and parcel.kind is ParcelKind.FRAME:
            codes.append(decode_command(parcel.data[4:]).code)

    cluster.world.network.parcel_watchers.append(note)
    cluster.stop(first)
    assert first.instance.client_id not in lock_owners(cluster).values()
    assert codes.index(RequestCode.UPDATE_CONSUMER_OFFSET) < codes.index(RequestCode.UNLOCK_BATCH_MQ)
    assert committed(cluster, 0) == 7


def test_a_queue_with_cached_messages_keeps_its_broker_lock_for_twenty_seconds(stage):
    cluster, producer = stage
    first = orderly(cluster, HeardInOrder(cluster, lambda message, context: SUSPEND), "C1")
    cluster.world.run_for(1_000)
    send(cluster, producer, "x", "y", queue=1)
    cluster.world.run_for(500)
    orderly(cluster, HeardInOrder(cluster), "C2")
    cluster.world.run_until(lambda: queues_of(first) == [0])
    given_up_ms = cluster.world.loop.now_us // 1_000
    cluster.world.run_until(lambda: lock_owners(cluster).get(1) != first.instance.client_id)
    assert 19_900 < cluster.world.loop.now_us // 1_000 - given_up_ms < 20_100


def test_a_queue_that_comes_back_meanwhile_is_not_unlocked(stage):
    cluster, producer = stage
    first = orderly(cluster, HeardInOrder(cluster, lambda message, context: SUSPEND), "C1")
    cluster.world.run_for(1_000)
    send(cluster, producer, "x", "y", queue=1)
    cluster.world.run_for(500)
    second = orderly(cluster, HeardInOrder(cluster), "C2")
    cluster.world.run_until(lambda: queues_of(first) == [0])
    cluster.stop(second)
    cluster.world.run_until(lambda: queues_of(first) == [0, 1])
    cluster.world.run_for(30_000)
    assert lock_owners(cluster)[1] == first.instance.client_id


def test_a_queue_that_comes_back_while_its_listener_still_runs_goes_on_afterwards(stage):
    cluster, producer = stage
    slow = HeardInOrder(cluster, duration_ms=5_000)
    first = orderly(cluster, slow, "C1")
    cluster.world.run_for(1_000)
    send(cluster, producer, "x", "y", queue=1)
    cluster.world.run_until(lambda: slow.messages)
    second = orderly(cluster, HeardInOrder(cluster), "C2")
    cluster.world.run_for(2_000)
    assert process_queue_of(first, 1).dropped
    cluster.stop(second)
    cluster.world.run_for(60_000)
    assert not process_queue_of(first, 1).dropped
    assert slow.bodies == ["x", "x", "y"]


def test_a_worker_that_finds_its_queue_dropped_does_not_lock_it_again(stage):
    cluster, _ = stage
    consumer = orderly(cluster, HeardInOrder(cluster))
    cluster.world.run_for(1_500)
    held = process_queue_of(consumer)
    held.lose_lock()
    lost = DropsRequests("C", RequestCode.LOCK_BATCH_MQ)
    cluster.world.network.faults.append(lost)
    request = consumer._impl.consume_service
    cluster.run(consumer, request.submit_consume_request((), held, queue_named(consumer), True))
    cluster.world.run_for(50)
    held.drop()
    cluster.world.run_for(5_000)
    assert lost.dropped == 0

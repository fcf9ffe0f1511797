"""A push consumer, in the lab: start, settings, subscriptions, shutdown, and a broker that comes back."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from engine.client import (
    ConsumeConcurrentlyContext,
    DefaultMQPushConsumer,
    ExpressionType,
    Message,
    MessageExt,
    MessageQueue,
    MQBrokerError,
)
from tests.engine.client.push_consumer_world import (
    SUCCESS,
    Heard,
    committed,
    consumer_of,
    queue_of,
    resume,
    send,
)


def test_a_shutdown_waits_for_running_listeners_and_stores_what_they_did(cluster, producer):
    done: list[bytes] = []

    async def listen(messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext) -> object:
        await asyncio.sleep(2)
        done.extend(message.body for message in messages)
        return SUCCESS

    consumer = consumer_of(cluster, listen)
    send(cluster, producer, "slow")
    cluster.world.run_for(1_000)
    cluster.stop(consumer)
    assert done == [b"slow"]
    cluster.world.run_for(100)
    assert committed(cluster) == 1
    assert cluster.broker.consumer_manager.get_consumer_group_info("g") is None
    assert cluster.broker.producer_manager.clients_of_group("CLIENT_INNER_PRODUCER") == []


def test_a_shutdown_gives_up_on_a_listener_that_never_ends(cluster, producer):
    async def listen(messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext) -> object:
        await asyncio.sleep(3_600)
        return SUCCESS

    consumer = consumer_of(cluster, listen, await_termination_when_shutdown_ms=3_000)
    send(cluster, producer, "stuck")
    cluster.world.run_for(1_000)
    before = cluster.world.loop.now_us
    cluster.stop(consumer)
    assert 3_000_000 <= cluster.world.loop.now_us - before < 3_100_000
    assert committed(cluster) < 1, "it will be delivered again"


def test_after_a_shutdown_nothing_of_the_consumer_runs(cluster, producer):
    consumer = consumer_of(cluster, Heard(cluster))
    cluster.world.run_for(1_000)
    cluster.stop(consumer)
    cluster.world.run_for(1_000)
    tasks = cluster.world.node("C").node.tasks
    assert [task.get_name() for task in tasks if not task.done()] == []


def test_a_consumer_needs_a_listener_and_starts_once(cluster):
    consumer = cluster.push_consumer("C", "g")
    consumer.subscribe("T")
    with pytest.raises(ValueError, match="no listener: call register_message_listener"):
        cluster.start(consumer)
    consumer.register_message_listener(Heard(cluster))
    cluster.start(consumer)
    with pytest.raises(Exception, match="consumer group g is running: it cannot be started again"):
        cluster.start(consumer)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"group": "a b"}, "illegal character"),
        ({"group": "DEFAULT_CONSUMER"}, "choose a name of your own"),
        ({"pull_batch_size": 0}, "pull_batch_size must be 1 to 1024, got 0"),
        ({"consume_message_batch_max_size": 5_000}, "1 to 1024, got 5000"),
        ({"pull_batchsize": 7}, "did you mean pull_batch_size"),
        ({"name_server_addresses": "nowhere"}, "expected host:port"),
    ],
)
def test_a_setting_that_is_not_allowed_is_named(cluster, settings, complaint):
    arguments: dict[str, Any] = {"group": "g", "name_server_addresses": "a:1"} | settings
    with pytest.raises(ValueError, match=complaint):
        DefaultMQPushConsumer(cluster.world.node("C"), **arguments)


def test_an_expression_that_no_broker_takes_ends_the_start_and_leaves_nothing_running(cluster, producer):
    consumer = cluster.push_consumer("C", "g")
    consumer.subscribe("T", "a > 1", ExpressionType.SQL92)
    consumer.register_message_listener(Heard(cluster))
    with pytest.raises(MQBrokerError, match="refused to accept the subscription 'a > 1' to 'T'"):
        cluster.start(consumer)
    cluster.world.run_for(1_000)
    assert [task.get_name() for task in cluster.world.node("C").node.tasks if not task.done()] == []


def test_a_subscription_that_cannot_be_is_refused(cluster):
    consumer = cluster.push_consumer("C", "g")
    with pytest.raises(ValueError, match="illegal character"):
        consumer.subscribe("a b")
    with pytest.raises(ValueError, match="names no tag"):
        consumer.subscribe("T", " || ")


def test_a_subscription_may_change_while_the_consumer_runs(cluster, producer):
    heard = Heard(cluster)
    consumer = consumer_of(cluster, heard, expression="old")
    cluster.world.run_for(2_000)
    cluster.run(producer, producer.create_topic("Second", queue_nums=1))

    async def change() -> None:
        consumer.subscribe("Second")
        consumer.unsubscribe("T")

    cluster.run(consumer, change())
    cluster.world.run_for(2_000)
    send(cluster, producer, Message("Second", b"yes"), Message("T", b"no", tags="old"))
    cluster.world.run_for(2_000)
    assert heard.bodies == ["yes"]
    assert MessageQueue("T", "broker-a", 0) not in consumer.process_queues


def test_a_restarted_broker_gets_its_consumers_back_within_seconds(cluster, producer):
    heard = Heard(cluster)
    consumer_of(cluster, heard)
    cluster.world.run_for(60_000)
    cluster.restart_broker("broker-a")
    cluster.world.run_for(4_000)
    send(cluster, producer, "after the restart")
    cluster.world.run_until(lambda: heard.messages, 2_000)


def test_a_queue_that_was_not_pulled_for_two_minutes_is_taken_over_anew(cluster, producer):
    heard = Heard(cluster)
    consumer = consumer_of(cluster, heard)
    cluster.world.run_for(1_000)
    lost = queue_of(consumer)
    lost.last_pull_timestamp -= 121_000
    cluster.run(consumer, resume(consumer))  # rebalances
    cluster.world.run_for(100)
    assert lost.dropped
    assert queue_of(consumer) is not lost
    send(cluster, producer, "x")
    cluster.world.run_until(lambda: heard.messages, 1_000)

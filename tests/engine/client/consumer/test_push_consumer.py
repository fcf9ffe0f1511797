"""A push consumer against a real broker, in the lab: delivery, offsets, broadcasting."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from engine.client import (
    ConsumeConcurrentlyContext,
    ConsumeConcurrentlyStatus,
    DefaultMQPushConsumer,
    Message,
    MessageExt,
    MessageModel,
)
from engine.client.queues.consumer_config import MINUTE_MS
from engine.protocol.java_hash import java_string_hash
from tests.engine.client.push_consumer_world import (
    FROM_FIRST,
    LATER,
    SUCCESS,
    Heard,
    committed,
    consumer_of,
    send,
)
from tests.support.lab.lab_cluster import LabCluster

# --- delivery ---------------------------------------------------------------------------------------------------------


def test_a_message_reaches_a_waiting_consumer_within_milliseconds(cluster, producer):
    heard = Heard(cluster)
    consumer_of(cluster, heard)
    cluster.world.run_for(100_000)
    before = cluster.world.loop.now_us
    send(cluster, producer, "late news")
    cluster.world.run_until(lambda: heard.messages)
    assert cluster.world.loop.now_us - before < 10_000, "the broker answers a held pull at once"
    (message,) = heard.messages
    assert (message.topic, message.body, message.queue_id, message.queue_offset) == ("T", b"late news", 0, 0)
    assert message.broker_name == "broker-a"


def test_a_plain_function_may_listen(cluster, producer):
    bodies: list[bytes] = []

    def listen(messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext) -> ConsumeConcurrentlyStatus:
        bodies.extend(message.body for message in messages)
        return SUCCESS

    consumer_of(cluster, listen)
    send(cluster, producer, "a", "b")
    cluster.world.run_until(lambda: len(bodies) == 2)


def test_only_wanted_tags_arrive_even_where_hash_codes_collide(cluster, producer):
    assert java_string_hash("AaAa") == java_string_hash("BBBB")
    heard = Heard(cluster)
    consumer_of(cluster, heard, expression="AaAa || other")
    for tag in ("AaAa", "BBBB", "wrong", "other"):
        send(cluster, producer, Message("T", tag.encode(), tags=tag))
    cluster.world.run_for(20_000)
    assert heard.bodies == ["AaAa", "other"]
    assert committed(cluster) == 4, "what nobody wants is progress too"


def test_a_listener_gets_as_many_messages_at_once_as_it_asks_for(cluster, producer):
    sizes: list[int] = []

    async def listen(messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext) -> ConsumeConcurrentlyStatus:
        sizes.append(len(messages))
        return SUCCESS

    send(cluster, producer, *(str(number) for number in range(20)))
    consumer_of(cluster, listen, consume_message_batch_max_size=8)
    cluster.world.run_until(lambda: sum(sizes) == 20)
    assert max(sizes) == 8


def test_no_more_listeners_run_at_a_time_than_allowed(cluster, producer):
    running: list[int] = [0, 0]

    async def listen(messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext) -> ConsumeConcurrentlyStatus:
        running[0] += 1
        running[1] = max(running)
        await asyncio.sleep(0.1)
        running[0] -= 1
        return SUCCESS

    send(cluster, producer, *(str(number) for number in range(30)))
    consumer_of(cluster, listen, consume_thread_min=4, consume_thread_max=4)
    cluster.world.run_until(lambda: committed(cluster) == 30, 60_000)
    assert running[1] == 4


def test_a_topic_that_is_made_after_its_consumer_is_noticed_within_seconds(cluster, producer):
    heard = Heard(cluster)
    consumer = cluster.push_consumer("C", "g", consume_from_where=FROM_FIRST)
    consumer.subscribe("Later")
    consumer.register_message_listener(heard)
    cluster.start(consumer)
    cluster.world.run_for(40_000)
    send(cluster, producer, Message("Later", b"first"))
    cluster.world.run_until(lambda: heard.messages, 3_000)


# --- offsets ----------------------------------------------------------------------------------------------------------


def test_progress_reaches_the_broker_within_five_seconds(cluster, producer):
    heard = Heard(cluster)
    consumer_of(cluster, heard)
    cluster.world.run_for(20_000)
    send(cluster, producer, "x")
    cluster.world.run_for(5_100)
    assert committed(cluster) == 1


def test_a_group_goes_on_where_it_stopped(cluster, producer):
    first, second = Heard(cluster), Heard(cluster)
    consumer = consumer_of(cluster, first)
    send(cluster, producer, "a", "b")
    cluster.world.run_until(lambda: len(first.messages) == 2)
    cluster.stop(consumer)
    send(cluster, producer, "c")
    consumer_of(cluster, second, node="C2")
    cluster.world.run_for(30_000)
    assert second.bodies == ["c"]


def test_a_crashed_member_leaves_its_queue_and_the_unstored_progress_to_the_next(cluster, producer):
    first, second = Heard(cluster), Heard(cluster)
    consumer_of(cluster, first)
    cluster.world.run_for(20_000)
    send(cluster, producer, "a")
    cluster.world.run_until(lambda: first.messages)
    cluster.world.crash("C")
    consumer_of(cluster, second, node="C2")
    cluster.world.run_until(lambda: second.messages, 30_000)
    assert second.bodies == ["a"], "consumed twice: at least once, not exactly once"


def test_an_offset_beyond_the_end_is_corrected_after_ten_seconds(cluster, producer):
    send(cluster, producer, "a", "b", "c")
    cluster.broker.consumer_offset_manager.commit_offset("test", "g", "T", 0, 1_000)
    heard = Heard(cluster)
    consumer_of(cluster, heard)
    cluster.world.run_for(5_000)
    send(cluster, producer, "d")
    cluster.world.run_for(5_000)
    assert heard.bodies == []
    cluster.world.run_for(10_000)
    send(cluster, producer, "e")
    cluster.world.run_until(lambda: heard.messages, 30_000)
    assert heard.bodies in (["e"], ["d"]), "it begins anew at the end that the queue had"


# --- broadcasting -----------------------------------------------------------------------------------------------------


def broadcaster(cluster: LabCluster, heard: Heard, node: str) -> DefaultMQPushConsumer:
    return consumer_of(cluster, heard, node=node, message_model=MessageModel.BROADCASTING)


def test_every_member_of_a_broadcasting_group_gets_every_message(cluster, producer):
    one, two = Heard(cluster), Heard(cluster)
    broadcaster(cluster, one, "C1")
    broadcaster(cluster, two, "C2")
    cluster.world.run_for(1_000)
    send(cluster, producer, "a", "b")
    cluster.world.run_for(1_000)
    assert sorted(one.bodies) == sorted(two.bodies) == ["a", "b"]
    assert committed(cluster) < 0, "the broker keeps no progress of a broadcasting group"


def test_a_broadcasting_member_keeps_its_progress_in_a_file(cluster, producer):
    heard = Heard(cluster)
    consumer = broadcaster(cluster, heard, "C1")
    send(cluster, producer, "a", "b")
    cluster.world.run_until(lambda: len(heard.messages) == 2)
    cluster.stop(consumer)
    send(cluster, producer, "c")
    again = Heard(cluster)
    broadcaster(cluster, again, "C1")
    cluster.world.run_for(5_000)
    assert again.bodies == ["c"]


def test_a_failed_broadcast_message_is_not_delivered_again(cluster, producer):
    heard = Heard(cluster, lambda message: LATER)
    broadcaster(cluster, heard, "C1")
    send(cluster, producer, "a")
    cluster.world.run_for(MINUTE_MS)
    assert heard.bodies == ["a"]

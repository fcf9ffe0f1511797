"""Flow control of a push consumer: which limit holds a pull back, who is notified, and limits per topic."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from engine.client.callbacks.consume_concurrently import ConsumeConcurrentlyContext, ConsumeConcurrentlyStatus
from engine.client.callbacks.consume_orderly import ConsumeOrderlyContext, ConsumeOrderlyStatus
from engine.client.consumer.consumer_running_info import process_queue_info
from engine.client.consumer.default_mq_push_consumer import DefaultMQPushConsumer
from engine.client.foundation.errors import IllegalClientArgument
from engine.client.queues.consumer_config import PushConsumerConfig
from engine.client.queues.process_queue import ProcessQueue
from engine.client.queues.pull_flow_control import FlowControlReason, PullFlowControl
from engine.protocol.enums import ConsumeFromWhere
from engine.protocol.message.message import Message, MessageExt
from tests.engine.client.push_consumer_world import consumer_of, send
from tests.engine.client.queues.test_process_queue import HandClock, message
from tests.support.lab.lab_cluster import LabCluster

MIB = 1 << 20


def queue_of(*messages: MessageExt) -> ProcessQueue:
    queue = ProcessQueue(HandClock().now_ms)
    queue.put_messages(messages)
    return queue


# --- the limits -------------------------------------------------------------------------------------------------------


def test_a_queue_is_pulled_until_more_messages_wait_than_the_limit_says():
    control = PullFlowControl(PushConsumerConfig(pull_threshold_for_queue=3))
    assert control.check(queue_of(*map(message, range(3))), is_orderly=False) is None
    assert control.check(queue_of(*map(message, range(4))), is_orderly=False) is FlowControlReason.COUNT
    assert control.check(queue_of(*map(message, range(4))), is_orderly=True) is FlowControlReason.COUNT


def test_only_whole_mebibytes_count():
    control = PullFlowControl(PushConsumerConfig(pull_threshold_size_for_queue_mib=1))
    almost_two = queue_of(message(0, bytes(MIB)), message(1, bytes(MIB - 1)))
    assert control.check(almost_two, is_orderly=False) is None
    almost_two.put_messages([message(2, b"x")])
    assert control.check(almost_two, is_orderly=False) is FlowControlReason.SIZE


def test_the_span_holds_back_a_concurrent_listener_only():
    control = PullFlowControl(PushConsumerConfig(consume_concurrently_max_span=2_000))
    wide = queue_of(message(10), message(2_011))
    assert control.check(queue_of(message(10), message(2_010)), is_orderly=False) is None
    assert control.check(wide, is_orderly=True) is None
    assert control.check(wide, is_orderly=False) is FlowControlReason.SPAN


def test_the_reason_is_noted_in_the_queue_and_counted():
    control = PullFlowControl(PushConsumerConfig(pull_threshold_for_queue=1, consume_concurrently_max_span=5))
    queue = queue_of(message(0), message(9))
    control.check(queue, is_orderly=False)
    control.check(queue, is_orderly=False)
    assert (queue.flow_control, queue.flow_control_times) == ("count", {"count": 2})
    queue.remove_messages([message(9)])
    assert control.check(queue, is_orderly=False) is None
    assert queue.flow_control is None, "it is pulled again"
    assert (control.queue_flow_control_times, control.queue_max_span_flow_control_times) == (2, 0)
    control.check(queue_of(message(0), message(9)), is_orderly=False)
    roomy = PullFlowControl(PushConsumerConfig(consume_concurrently_max_span=5))
    roomy.check(queue_of(message(0), message(9)), is_orderly=False)
    assert (roomy.queue_flow_control_times, roomy.queue_max_span_flow_control_times) == (0, 1)


def test_a_limit_per_topic_is_divided_by_the_number_of_queues():
    config = PushConsumerConfig(pull_threshold_for_topic=100, pull_threshold_size_for_topic_mib=7)
    control = PullFlowControl(config)
    control.share_among(0)
    assert (control.threshold_for_queue, control.threshold_size_for_queue_mib) == (1_000, 100)
    control.share_among(3)
    assert (control.threshold_for_queue, control.threshold_size_for_queue_mib) == (33, 2)
    control.share_among(200)
    assert (control.threshold_for_queue, control.threshold_size_for_queue_mib) == (1, 1)


@pytest.mark.parametrize("name", ["pull_threshold_for_topic", "pull_threshold_size_for_topic_mib"])
@pytest.mark.parametrize("value", [0, -2, 6_553_501])
def test_a_limit_per_topic_out_of_bounds_is_refused(name, value):
    with pytest.raises(IllegalClientArgument, match=name):
        PushConsumerConfig(**{name: value})


# --- in a cluster -----------------------------------------------------------------------------------------------------


async def _never_ends(messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext) -> ConsumeConcurrentlyStatus:
    await asyncio.sleep(3_600)
    return ConsumeConcurrentlyStatus.CONSUME_SUCCESS


def queue_0(consumer: DefaultMQPushConsumer) -> ProcessQueue:
    return next(held for queue, held in consumer.process_queues.items() if (queue.topic, queue.queue_id) == ("T", 0))


def test_a_stuck_listener_leaves_the_rest_at_the_broker(cluster, producer):
    consumer = consumer_of(cluster, _never_ends, pull_threshold_for_queue=10, pull_batch_size=4)
    send(cluster, producer, *[str(number) for number in range(50)])
    cluster.world.run_for(1_000)
    held = queue_0(consumer)
    assert held.flow_control == "count"
    assert 10 < held.msg_count <= 10 + 4, "one pull more than the limit"
    assert 15 <= held.flow_control_times["count"] <= 21, "looked at again every 50 ms"


def test_a_hole_before_many_done_messages_is_span(cluster, producer):
    """One message hangs, the others are done: nothing waits here but the progress."""

    async def hangs_with_the_first(
        messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext
    ) -> ConsumeConcurrentlyStatus:
        await asyncio.sleep(3_600 if messages[0].queue_offset == 0 else 0.001)
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    consumer = consumer_of(cluster, hangs_with_the_first, consume_concurrently_max_span=20, pull_batch_size=4)
    send(cluster, producer, *[str(number) for number in range(30)])
    # The span is that of what waits: the last message must still be there when the queue is looked at.
    seen: dict[str, None] = {}
    for _ in range(40):
        send(cluster, producer, "one more")
        held = queue_0(consumer)
        seen.update(dict.fromkeys(held.flow_control_times))
    assert list(seen) == ["span"]


def test_an_orderly_listener_is_not_held_back_by_the_span(cluster, producer):
    async def orderly(messages: Sequence[MessageExt], context: ConsumeOrderlyContext) -> ConsumeOrderlyStatus:
        await asyncio.sleep(3_600)
        return ConsumeOrderlyStatus.SUCCESS

    consumer = cluster.push_consumer(
        "C9", "orderly", consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET, consume_concurrently_max_span=5
    )
    consumer.subscribe("T")
    consumer.register_message_listener_orderly(orderly)
    cluster.start(consumer)
    send(cluster, producer, *[str(number) for number in range(30)])
    cluster.world.run_for(1_000)
    assert queue_0(consumer).max_span > 5
    assert (queue_0(consumer).msg_count, queue_0(consumer).flow_control_times) == (30, {})


def test_the_limit_per_topic_follows_the_queues_that_a_consumer_owns():
    with LabCluster() as cluster:
        producer = cluster.producer("P1", "producers")
        cluster.start(producer)
        cluster.run(producer, producer.send(Message("T", b"makes four queues")))
        first = consumer_of(cluster, _never_ends, pull_threshold_for_topic=100)
        cluster.world.run_for(1_000)
        owned = len(first.process_queues)
        assert owned >= 4, "those of T, and its retry topic's"
        control = first.flow_control
        assert control.threshold_for_queue == 100 // owned
        consumer_of(cluster, _never_ends, node="C2")
        cluster.world.run_for(1_000)
        assert len(first.process_queues) < owned
        assert control.threshold_for_queue == 100 // len(first.process_queues)


def test_a_tool_learns_why_a_queue_is_not_pulled(cluster, producer):
    consumer = consumer_of(cluster, _never_ends, pull_threshold_for_queue=2, pull_batch_size=1)
    send(cluster, producer, *"abcdef")
    cluster.world.run_for(300)
    reported = process_queue_info(queue_0(consumer), None)
    assert reported["flowControl"] == "count"
    assert reported["flowControlTimes"] == queue_0(consumer).flow_control_times

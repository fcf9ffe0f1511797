"""A push consumer, in the lab: what becomes of a message whose listener fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from engine.client import (
    ConsumeConcurrentlyContext,
    Message,
    MessageExt,
)
from engine.client.queues.consumer_config import MINUTE_MS
from engine.protocol.request_code import RequestCode
from tests.engine.client.push_consumer_world import (
    LATER,
    SUCCESS,
    Heard,
    committed,
    consumer_of,
    queue_of,
    send,
)
from tests.support.lab.lab_faults import DropsRequests


def fail_once() -> Callable[[MessageExt], object]:
    return lambda message: SUCCESS if message.reconsume_times else LATER


@pytest.mark.parametrize("answer", [LATER, None, "nonsense", ZeroDivisionError("of a user"), asyncio.CancelledError()])
def test_a_message_that_was_not_consumed_comes_again_after_ten_seconds(cluster, producer, answer):
    def first_fails(message: MessageExt) -> object:
        if message.reconsume_times:
            return SUCCESS
        if isinstance(answer, BaseException):
            raise answer
        return answer

    heard = Heard(cluster, first_fails)
    consumer_of(cluster, heard)
    send(cluster, producer, Message("T", b"x", tags="A", keys="k"))
    cluster.world.run_until(lambda: len(heard.messages) == 2, 60_000)
    first, again = heard.messages
    assert again.topic == "T", "shown under its own topic"
    assert (again.body, again.tags, again.keys, again.reconsume_times) == (b"x", "A", ("k",), 1)
    assert again.message_id == first.message_id
    assert 10 <= heard.seconds[1] - heard.seconds[0] < 11
    assert committed(cluster) in (0, 1)
    cluster.world.run_for(10_000)
    assert (committed(cluster), committed(cluster, topic="%RETRY%g")) == (1, 1)


def test_after_the_last_retry_a_message_goes_to_the_dead_letter_topic(cluster, producer):
    heard = Heard(cluster, lambda message: LATER)
    consumer_of(cluster, heard, max_reconsume_times=2)
    send(cluster, producer, "hopeless")
    cluster.world.run_for(10 * MINUTE_MS)
    assert [message.reconsume_times for message in heard.messages] == [0, 1, 2]
    assert cluster.broker.store.max_offset("%DLQ%g", 0) == 1


def test_the_listener_chooses_the_delay_of_the_next_delivery(cluster, producer):
    heard = Heard(cluster)

    async def listen(messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext) -> object:
        await heard(messages, context)
        context.delay_level_when_next_consume = 1
        return SUCCESS if messages[0].reconsume_times else LATER

    consumer_of(cluster, listen)
    send(cluster, producer, "x")
    cluster.world.run_until(lambda: len(heard.messages) == 2, 60_000)
    assert 1 <= heard.seconds[1] - heard.seconds[0] < 2.5


def test_messages_up_to_the_acknowledged_index_are_done_and_the_others_come_again(cluster, producer):
    heard = Heard(cluster)

    async def listen(messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext) -> object:
        await heard(messages, context)
        if messages[0].reconsume_times == 0:
            context.ack_index = 1
        return SUCCESS

    send(cluster, producer, "0", "1", "2", "3")
    consumer_of(cluster, listen, consume_message_batch_max_size=8)
    cluster.world.run_for(30_000)
    assert heard.bodies[:4] == ["0", "1", "2", "3"]
    assert sorted(heard.bodies[4:]) == ["2", "3"]


def test_a_message_that_cannot_be_given_back_is_sent_as_a_copy(cluster, producer):
    heard = Heard(cluster, fail_once())
    consumer_of(cluster, heard)
    cluster.world.network.faults.append(DropsRequests("C", RequestCode.CONSUMER_SEND_MSG_BACK))
    send(cluster, producer, Message("T", b"x", tags="A"))
    cluster.world.run_until(lambda: len(heard.messages) == 2, 60_000)
    again = heard.messages[1]
    assert (again.body, again.topic, again.tags, again.reconsume_times) == (b"x", "T", "A", 1)
    assert again.message_id == heard.messages[0].message_id
    assert 15 <= heard.seconds[1] - heard.seconds[0] < 16, "5 s without an answer, then the delay of level 3"


def test_copies_wait_longer_each_time_and_remember_the_first_place(cluster, producer):
    heard = Heard(cluster, lambda message: SUCCESS if message.reconsume_times == 2 else LATER)
    consumer_of(cluster, heard)
    cluster.world.network.faults.append(DropsRequests("C", RequestCode.CONSUMER_SEND_MSG_BACK))
    send(cluster, producer, "x")
    cluster.world.run_until(lambda: len(heard.messages) == 3, 2 * MINUTE_MS)
    first, second, third = heard.messages
    assert 35 <= heard.seconds[2] - heard.seconds[1] < 36, "5 s without an answer, then the delay of level 4"
    origins = [message.properties.get("ORIGIN_MESSAGE_ID") for message in (second, third)]
    assert origins == [first.message_id] * 2


def test_a_copy_to_a_retry_topic_that_does_not_exist_misleads_nobody_about_its_queues(cluster, producer):
    consumer = consumer_of(cluster, Heard(cluster))
    cluster.world.run_for(2_000)
    cluster.run(consumer, consumer.instance.update_route_by_default_topic("%RETRY%g", 4))
    cluster.world.run_for(40_000)
    assert sorted(map(str, consumer.process_queues)) == ["%RETRY%g@broker-a:0", "T@broker-a:0"]


def test_a_message_that_can_leave_in_neither_way_is_consumed_again_here(cluster, producer):
    heard = Heard(cluster, fail_once())
    consumer = consumer_of(cluster, heard)
    cluster.world.network.faults += [
        DropsRequests("C", RequestCode.CONSUMER_SEND_MSG_BACK),
        DropsRequests("C", RequestCode.SEND_MESSAGE_V2),
    ]
    send(cluster, producer, "x")
    cluster.world.run_until(lambda: heard.messages, 60_000)
    cluster.world.run_for(10_000)
    assert queue_of(consumer).msg_count == 1
    assert committed(cluster) < 1, "the progress waits for it"
    cluster.world.run_until(lambda: len(heard.messages) == 2, 60_000)
    assert heard.messages[1] is heard.messages[0]
    cluster.world.run_until(lambda: committed(cluster) == 1, 60_000)


def test_a_message_held_longer_than_the_consume_timeout_is_given_to_another_listener(cluster, producer):
    heard = Heard(cluster)
    release = asyncio.Event()

    async def listen(messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext) -> object:
        await heard(messages, context)
        if messages[0].reconsume_times == 0 and messages[0].body == b"slow":
            await release.wait()
        return SUCCESS

    consumer_of(cluster, listen, consume_timeout_ms=MINUTE_MS)
    send(cluster, producer, "slow", "quick")
    cluster.world.run_for(30_000)
    assert committed(cluster) == 0, "the slow one holds the progress back"
    cluster.world.run_for(3 * MINUTE_MS)
    assert committed(cluster) == 2
    assert heard.bodies == ["slow", "quick", "slow"]


def test_a_queue_that_moves_while_its_message_is_consumed_has_it_consumed_twice(cluster, producer):
    first, second = Heard(cluster), Heard(cluster)

    async def slow(messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext) -> object:
        await first(messages, context)
        await asyncio.sleep(30)
        return SUCCESS

    cluster.world.node("C0")  # the lower address sorts first, so the newcomer gets the only queue
    consumer_of(cluster, slow, node="C1")
    send(cluster, producer, "x")
    cluster.world.run_until(lambda: first.messages)
    consumer_of(cluster, second, node="C0")
    cluster.world.run_until(lambda: second.messages, 5_000)
    cluster.world.run_for(MINUTE_MS)
    assert (first.bodies, second.bodies, committed(cluster)) == (["x"], ["x"], 1)

"""The orderly listener: what becomes of a message with every answer, who waits for whom, where the offset stands."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from engine.client import (
    ConsumeMessageContext,
    ConsumeOrderlyContext,
    DefaultMQProducer,
    DefaultMQPushConsumer,
    IllegalClientArgument,
    MessageExt,
    MessageModel,
)
from engine.client.queues.consumer_config import UNLIMITED_RECONSUME_TIMES, PushConsumerConfig
from engine.protocol.names import dlq_topic
from engine.protocol.request_code import RequestCode
from tests.support.lab.lab_cluster import LabCluster
from tests.support.lab.lab_faults import DropsRequests
from tests.support.lab.orderly_cluster import (
    COMMIT,
    ROLLBACK,
    SUCCESS,
    SUSPEND,
    HeardInOrder,
    committed,
    make_cluster,
    orderly,
    process_queue_of,
    send,
)

Stage = tuple[LabCluster, DefaultMQProducer]


@pytest.fixture
def stage() -> Iterator[Stage]:
    cluster, producer = make_cluster()
    with cluster:
        yield cluster, producer


def numbers(count: int) -> list[str]:
    return [str(number) for number in range(count)]


# --- order ---------------------------------------------------------------------------------------------------------


def test_messages_of_a_queue_come_one_after_the_other_however_many_workers_there_are(stage):
    cluster, producer = stage
    heard = HeardInOrder(cluster, duration_ms=7)
    orderly(cluster, heard, consume_thread_max=20)
    for part in range(4):
        send(cluster, producer, *(f"{part}-{number}" for number in range(10)))
        cluster.world.run_for(20)
    cluster.world.run_until(lambda: len(heard.messages) == 40)
    assert heard.bodies == [f"{part}-{number}" for part in range(4) for number in range(10)]
    assert heard.most_at_once == 1


def test_queues_are_consumed_side_by_side():
    cluster, producer = make_cluster(queues=4)
    with cluster:
        heard = HeardInOrder(cluster, duration_ms=1_000)
        orderly(cluster, heard)
        cluster.world.run_for(1_000)
        for queue in range(4):
            send(cluster, producer, "x", queue=queue)
        cluster.world.run_until(lambda: len(heard.messages) == 4)
        assert heard.times_ms[-1] - heard.times_ms[0] < 100, "no queue waits for another"


def test_a_batch_is_taken_in_order_and_committed_as_a_whole(stage):
    cluster, producer = stage
    sizes: list[int] = []

    async def listen(messages: Sequence[MessageExt], context: ConsumeOrderlyContext) -> object:
        sizes.append(len(messages))
        return SUCCESS

    send(cluster, producer, *numbers(10))
    consumer = orderly(cluster, listen, consume_message_batch_max_size=4)
    cluster.world.run_until(lambda: sum(sizes) == 10)
    assert sizes == [4, 4, 2]
    cluster.stop(consumer)
    assert committed(cluster) == 10


def test_the_offset_is_that_behind_the_last_consumed_message(stage):
    cluster, producer = stage
    heard = HeardInOrder(cluster)
    consumer = orderly(cluster, heard)
    send(cluster, producer, *numbers(5))
    cluster.world.run_for(15_000)
    assert committed(cluster) == 5
    process_queue = process_queue_of(consumer)
    assert (process_queue.msg_count, process_queue.msg_size) == (0, 0)
    assert len(process_queue.consuming_msg_orderly_tree_map) == 0
    assert not process_queue.consuming


# --- failures ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["suspend", "raise", "nothing", "cancelled"])
def test_a_message_that_fails_comes_again_after_a_second_and_nothing_overtakes_it(stage, way):
    cluster, producer = stage
    tries: list[int] = []

    def answer(message: MessageExt, context: ConsumeOrderlyContext) -> object:
        if message.body != b"1" or len(tries) == 3:
            return SUCCESS
        tries.append(message.reconsume_times)
        if way == "raise":
            raise ValueError("the listener of this test fails")
        if way == "cancelled":
            raise asyncio.CancelledError
        return SUSPEND if way == "suspend" else None

    heard = HeardInOrder(cluster, answer)
    consumer = orderly(cluster, heard)
    send(cluster, producer, *numbers(4))
    cluster.world.run_until(lambda: len(heard.messages) == 7)
    assert heard.bodies == ["0", "1", "1", "1", "1", "2", "3"]
    assert heard.retries[1:5] == [0, 1, 2, 3]
    gaps = [heard.times_ms[index + 1] - heard.times_ms[index] for index in range(1, 4)]
    assert gaps == [1_000, 1_000, 1_000]
    cluster.stop(consumer)
    assert committed(cluster) == 4


def test_nothing_behind_a_blocked_message_is_committed_and_by_default_it_blocks_for_ever(stage):
    cluster, producer = stage
    heard = HeardInOrder(cluster, lambda message, context: SUSPEND if message.body == b"1" else SUCCESS)
    orderly(cluster, heard)
    send(cluster, producer, *numbers(3))
    cluster.world.run_for(120_000)
    assert PushConsumerConfig().max_reconsume_times_orderly == UNLIMITED_RECONSUME_TIMES == 0x7FFF_FFFF
    assert set(heard.bodies) == {"0", "1"}
    assert heard.retries[-1] > 100, "more often than a concurrent consumer would try"
    assert committed(cluster) == 1


@pytest.mark.parametrize(("requested", "expected_ms"), [(-1, 300), (0, 10), (500, 500), (99_000, 30_000)])
def test_a_listener_may_say_how_long_its_queue_rests(stage, requested, expected_ms):
    cluster, producer = stage

    def answer(message: MessageExt, context: ConsumeOrderlyContext) -> object:
        context.suspend_current_queue_time_ms = requested
        return SUCCESS if message.reconsume_times else SUSPEND

    heard = HeardInOrder(cluster, answer)
    orderly(cluster, heard, suspend_current_queue_time_ms=300)
    send(cluster, producer, "x")
    cluster.world.run_until(lambda: len(heard.messages) == 2)
    assert heard.times_ms[1] - heard.times_ms[0] == expected_ms


def test_with_a_maximum_of_retries_a_message_ends_in_the_dead_letter_topic(stage):
    cluster, producer = stage
    heard = HeardInOrder(cluster, lambda message, context: SUSPEND if message.body == b"1" else SUCCESS)
    consumer = orderly(cluster, heard, max_reconsume_times=2)
    send(cluster, producer, *numbers(3))
    cluster.world.run_until(lambda: len(heard.messages) == 5)
    assert heard.bodies == ["0", "1", "1", "1", "2"], "two retries, then the queue goes on"
    cluster.stop(consumer)
    assert committed(cluster) == 3
    store = cluster.broker.store
    assert store.max_offset(dlq_topic("g"), 0) == 0, "it waits at level 3 + 2 retries, although nobody will retry it"
    cluster.world.run_for(61_000)
    assert store.max_offset(dlq_topic("g"), 0) == 1
    (entry,) = (queue for topic, _, queue in store.consume_queues() if topic == dlq_topic("g"))
    ((offset, _, _),) = entry.entries(0, 1)
    dead = store.message_at(offset)
    assert dead is not None
    assert (dead.body, dead.properties["RETRY_TOPIC"]) == (b"1", "T")


def test_a_message_that_cannot_be_put_aside_is_tried_again(stage):
    cluster, producer = stage
    heard = HeardInOrder(cluster, lambda message, context: SUSPEND)
    orderly(cluster, heard, max_reconsume_times=1)
    send(cluster, producer, "x")
    cluster.world.run_until(lambda: len(heard.messages) == 1)
    lost = DropsRequests("C", RequestCode.SEND_MESSAGE_V2)
    cluster.world.network.faults.append(lost)
    cluster.world.run_until(lambda: len(heard.messages) == 3)
    assert heard.retries == [0, 1, 2]
    cluster.world.network.faults.remove(lost)
    cluster.world.run_until(lambda: cluster.broker.store.max_offset(dlq_topic("g"), 0) == 1)


def test_of_a_batch_only_what_is_not_put_aside_comes_again(stage):
    cluster, producer = stage
    calls: list[list[bytes]] = []

    async def listen(messages: Sequence[MessageExt], context: ConsumeOrderlyContext) -> object:
        calls.append([message.body for message in messages])
        return SUSPEND if len(calls) < 3 else SUCCESS

    # The first comes alone and fails; then the second is there, too.
    consumer = orderly(cluster, listen, consume_message_batch_max_size=2, max_reconsume_times=1)
    send(cluster, producer, "first")
    cluster.world.run_until(lambda: calls)
    send(cluster, producer, "second")
    cluster.world.run_until(lambda: len(calls) == 3)
    assert calls == [[b"first"], [b"first", b"second"], [b"second"]]
    cluster.stop(consumer)
    assert committed(cluster) == 2
    cluster.world.run_for(31_000)
    assert cluster.broker.store.max_offset(dlq_topic("g"), 0) == 1


# --- auto-commit off -----------------------------------------------------------------------------------------------


def test_without_auto_commit_only_commit_makes_progress(stage):
    cluster, producer = stage

    def answer(message: MessageExt, context: ConsumeOrderlyContext) -> object:
        context.auto_commit = False
        return COMMIT if message.body == b"2" else SUCCESS

    heard = HeardInOrder(cluster, answer)
    consumer = orderly(cluster, heard)
    send(cluster, producer, *numbers(2))
    cluster.world.run_for(15_000)
    assert heard.bodies == ["0", "1"]
    assert committed(cluster) == 0
    assert list(process_queue_of(consumer).consuming_msg_orderly_tree_map.items()) == [
        (0, heard.messages[0]),
        (1, heard.messages[1]),
    ], "in hand"
    send(cluster, producer, "2")
    cluster.world.run_for(15_000)
    assert committed(cluster) == 3
    assert len(process_queue_of(consumer).consuming_msg_orderly_tree_map) == 0


def test_rollback_puts_everything_in_hand_back(stage):
    cluster, producer = stage
    rolled_back: list[int] = []

    def answer(message: MessageExt, context: ConsumeOrderlyContext) -> object:
        context.auto_commit = False
        if message.body == b"2" and not rolled_back:
            rolled_back.append(1)
            return ROLLBACK
        return COMMIT if message.body == b"2" else SUCCESS

    heard = HeardInOrder(cluster, answer)
    consumer = orderly(cluster, heard)
    send(cluster, producer, *numbers(3))
    cluster.world.run_until(lambda: len(heard.messages) == 6)
    assert heard.bodies == ["0", "1", "2", "0", "1", "2"]
    assert heard.times_ms[3] - heard.times_ms[2] == 1_000
    cluster.stop(consumer)
    assert committed(cluster) == 3


@pytest.mark.parametrize("status", [COMMIT, ROLLBACK])
def test_with_auto_commit_commit_and_rollback_mean_success(stage, status):
    cluster, producer = stage
    heard = HeardInOrder(cluster, lambda message, context: status)
    consumer = orderly(cluster, heard)
    send(cluster, producer, *numbers(3))
    cluster.world.run_until(lambda: len(heard.messages) == 3)
    cluster.stop(consumer)
    assert heard.bodies == numbers(3)
    assert committed(cluster) == 3


# --- slices --------------------------------------------------------------------------------------------------------


def test_a_worker_leaves_a_queue_after_its_slice_so_that_another_queue_gets_its_turn():
    cluster, producer = make_cluster(queues=2)
    with cluster:
        heard = HeardInOrder(cluster, duration_ms=100)
        send(cluster, producer, *(f"a{number}" for number in range(30)), queue=0)
        send(cluster, producer, "b", queue=1)
        orderly(cluster, heard, consume_thread_min=1, consume_thread_max=1, max_time_consume_continuously_ms=1_000)
        cluster.world.run_until(lambda: len(heard.messages) == 31)
        place = heard.bodies.index("b")
        assert place == 0 or 10 <= place <= 12, "one worker, a slice of a second, 100 ms each"
        assert [body for body in heard.bodies if body != "b"] == [f"a{number}" for number in range(30)]


# --- broadcasting ---------------------------------------------------------------------------------------------------


def test_broadcasting_members_consume_everything_in_order_without_a_broker_lock():
    cluster, producer = make_cluster(queues=2)
    with cluster:
        heard = {name: HeardInOrder(cluster, duration_ms=5) for name in ("C1", "C2")}
        for name, listener in heard.items():
            orderly(cluster, listener, name, message_model=MessageModel.BROADCASTING)
        cluster.world.run_for(1_000)
        for queue in (0, 1):
            send(cluster, producer, *(f"{queue}{number}" for number in range(5)), queue=queue)
        cluster.world.run_until(lambda: all(len(listener.messages) == 10 for listener in heard.values()))
        for listener in heard.values():
            for first in ("0", "1"):
                bodies = [body for body in listener.bodies if body[0] == first]
                assert bodies == [f"{first}{number}" for number in range(5)]
            assert listener.most_at_once == 1
        assert len(cluster.broker.rebalance_lock_manager) == 0


# --- hooks ---------------------------------------------------------------------------------------------------------


class Hook:
    hook_name = "test"

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def consume_message_before(self, context: ConsumeMessageContext) -> None:
        self.calls.append(("before", context.message_queue.queue_id, len(context.messages)))
        context.props["mine"] = "kept"

    def consume_message_after(self, context: ConsumeMessageContext) -> None:
        props = context.props
        self.calls.append(("after", context.status, context.success, props["ConsumeContextType"], props["mine"]))


class FailingHook:
    hook_name = "failing"

    def consume_message_before(self, context: ConsumeMessageContext) -> None:
        raise ValueError("the hook of this test fails")

    consume_message_after = consume_message_before


def test_hooks_are_called_around_every_listener_call_and_learn_how_it_ended(stage):
    cluster, producer = stage
    tries: list[int] = []

    def answer(message: MessageExt, context: ConsumeOrderlyContext) -> object:
        tries.append(1)
        if len(tries) == 1:
            return SUSPEND
        if len(tries) == 2:
            raise ValueError("the listener of this test fails")
        if len(tries) == 3:
            return "what?"
        heard.duration_ms = 50 if len(tries) == 4 else 0
        return SUCCESS

    heard, hook = HeardInOrder(cluster, answer), Hook()
    consumer = cluster.push_consumer("C", "g", consume_timeout_ms=50)
    consumer.subscribe("T")
    consumer.register_message_listener_orderly(heard)
    consumer.register_consume_message_hook(FailingHook())
    consumer.register_consume_message_hook(hook)
    cluster.start(consumer)
    cluster.world.run_for(100)
    send(cluster, producer, "x", "y")
    cluster.world.run_until(lambda: len(hook.calls) == 10)
    suspend = SUSPEND.value
    assert [call for call in hook.calls if call[0] == "before"] == [("before", 0, 1)] * 5
    assert [call[1:] for call in hook.calls if call[0] == "after"] == [
        (suspend, False, "FAILED", "kept"),
        (suspend, False, "EXCEPTION", "kept"),
        (suspend, False, "RETURNNULL", "kept"),
        ("SUCCESS", True, "TIME_OUT", "kept"),
        ("SUCCESS", True, "SUCCESS", "kept"),
    ]


# --- registration --------------------------------------------------------------------------------------------------


def test_a_listener_is_registered_before_the_start_and_is_a_function(stage):
    cluster, _ = stage
    consumer = orderly(cluster, HeardInOrder(cluster))
    assert consumer.is_orderly
    with pytest.raises(IllegalClientArgument, match="before start"):
        consumer.register_message_listener_orderly(HeardInOrder(cluster))
    other: DefaultMQPushConsumer = cluster.push_consumer("D", "h")
    with pytest.raises(IllegalClientArgument, match="a listener is a function"):
        other.register_message_listener_orderly(5)  # type: ignore[arg-type]  # a mistake of the caller

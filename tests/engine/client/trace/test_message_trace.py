"""Message trace: what is noted, how it travels, how it is found again, what is dropped."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from engine.client import (
    ConsumeConcurrentlyStatus,
    ConsumeOrderlyStatus,
    DefaultMQProducer,
    LocalTransactionState,
    Message,
    MessageExt,
    SendResult,
    TransactionMQProducer,
)
from engine.client.trace.async_trace_dispatcher import (
    CONTEXT_QUEUE_MAX,
    SEGMENT_MAX_BYTES,
    TRACE_MESSAGE_MAX_BYTES,
    AsyncTraceDispatcher,
)
from engine.client.trace.trace_context import SWALLOWED_CODE, MessageType, TraceBean, TraceContext, TraceType
from engine.client.trace.trace_data_encoder import decode_trace_data
from engine.protocol.message.compression import decompress_body
from engine.protocol.message.message_properties import encode_properties
from engine.protocol.names import TRACE_TOPIC
from engine.protocol.system_flags import MESSAGE_COMPRESSED
from tests.support.lab.foreign_sender import send_unchecked
from tests.support.lab.lab_cluster import LabCluster


def notes_in(cluster: LabCluster) -> list[TraceContext]:
    """Return everything in the trace topic."""
    cluster.world.run_for(6_000)
    store = cluster.broker.store
    found = []
    for queue_id in range(8):
        for offset, _, _ in store.consume_queue_entries(TRACE_TOPIC, queue_id, 0, 1_000):
            message = store.message_at(offset)
            assert message is not None
            body = message.body
            if message.sys_flag & MESSAGE_COMPRESSED:
                body = decompress_body(body, message.sys_flag)
            found += decode_trace_data(body.decode())
    return sorted(found, key=lambda note: (note.timestamp_ms, note.trace_type))


def traced_producer(cluster: LabCluster, **settings: Any) -> DefaultMQProducer:
    producer = cluster.producer("P", "producers", enable_msg_trace=True, **settings)
    cluster.start(producer)
    cluster.run(producer, producer.create_topic("T", queue_nums=1))
    return producer


# --- what is noted ----------------------------------------------------------------------------------------------------


def test_a_send_is_noted_with_what_the_broker_answered(cluster: LabCluster):
    producer = traced_producer(cluster)
    message = Message("T", b"12345", tags="red", keys="k1 k2")
    result: SendResult = cluster.run(producer, producer.send(message))
    (note,) = notes_in(cluster)
    assert note.trace_type is TraceType.PUB
    assert (note.group_name, note.region_id, note.success) == ("producers", "DefaultRegion", True)
    assert note.beans == (
        TraceBean(
            message_id=result.message_id,
            topic="T",
            tags="red",
            keys="k1 k2",
            store_host=cluster.broker.address,
            body_length=5,
            offset_message_id=result.offset_message_id,
        ),
    )
    assert note.cost_ms == 1, "there and back"


def test_a_trace_is_found_by_the_message_id_and_by_its_keys(cluster: LabCluster):
    producer = traced_producer(cluster)
    result = cluster.run(producer, producer.send(Message("T", b"x", keys="k1 k2")))
    cluster.world.run_for(2_000)
    for word in (result.message_id, "k1", "k2"):
        found = cluster.broker.store.query_message(TRACE_TOPIC, word, 10, 0, 1 << 60).buffers
        assert len(found) == 1


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        (Message("T", b"x"), MessageType.NORMAL_MSG),
        (Message("T", b"x", delay_level=1), MessageType.DELAY_MSG),
    ],
)
def test_the_kind_of_message_is_noted(cluster: LabCluster, message: Message, kind: MessageType):
    producer = traced_producer(cluster)
    cluster.run(producer, producer.send(message))
    assert [note.beans[0].message_type for note in notes_in(cluster)] == [kind]


def test_a_oneway_send_a_failed_one_and_one_whose_broker_does_not_want_it_are_not_noted(cluster: LabCluster):
    producer = traced_producer(cluster)
    cluster.run(producer, producer.send_oneway(Message("T", b"x")))
    cluster.world.crash("broker-a")
    with pytest.raises(Exception, match="tried 3 times"):
        cluster.run(producer, producer.send(Message("T", b"x")))
    cluster.restart_broker("broker-a")
    cluster.world.run_for(2_000)
    assert producer.trace_dispatcher is not None
    assert producer.trace_dispatcher.appended == 0


@pytest.mark.parametrize("orderly", [False, True])
def test_a_delivery_is_noted_before_and_after_the_listener(cluster: LabCluster, orderly: bool):
    producer = cluster.producer("P", "producers")
    cluster.start(producer)
    cluster.run(producer, producer.create_topic("T", queue_nums=1))
    consumer = cluster.push_consumer("C", "consumers", enable_msg_trace=True, suspend_current_queue_time_ms=100)
    consumer.subscribe("T")
    failed: list[int] = []

    async def listen(messages, context):
        await asyncio.sleep(0.025)
        failed.append(1)
        if orderly:
            fails = len(failed) == 1
            return ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT if fails else ConsumeOrderlyStatus.SUCCESS
        if len(failed) == 1:
            return ConsumeConcurrentlyStatus.RECONSUME_LATER
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    register = consumer.register_message_listener_orderly if orderly else consumer.register_message_listener
    register(listen)
    cluster.start(consumer)
    cluster.world.run_for(3_000)
    result = cluster.run(producer, producer.send(Message("T", b"x", keys="k1")))
    cluster.world.run_until(lambda: len(failed) == 2)
    before, after, again, done = notes_in(cluster)
    assert [note.trace_type for note in (before, after)] == [TraceType.SUB_BEFORE, TraceType.SUB_AFTER]
    assert before.request_id == after.request_id != again.request_id == done.request_id
    assert {note.beans[0].message_id for note in (before, after, again, done)} == {result.message_id}
    assert {note.beans[0].keys for note in (before, after)} == {"k1"}
    assert (after.success, after.context_code, after.cost_ms) == (False, 4, 25)
    assert (done.success, done.context_code, done.group_name) == (True, 0, "consumers")
    assert again.beans[0].retry_times == 1


def test_of_a_batch_the_duplicate_that_was_swallowed_is_noted_as_no_work(cluster: LabCluster):
    producer = cluster.producer("P", "producers")
    cluster.start(producer)
    cluster.run(producer, producer.create_topic("T", queue_nums=1))
    for body in (b"work", b"duplicate"):
        cluster.run(producer, producer.send(Message("T", body)))
    consumer = cluster.push_consumer("C", "consumers", enable_msg_trace=True, consume_message_batch_max_size=2)
    consumer.subscribe("T")
    ended: list[int] = []

    async def listen(messages, context):
        for message in messages:
            if message.body == b"duplicate":
                message.is_swallowed = True
        ended.append(len(messages))
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    consumer.register_message_listener(listen)
    cluster.start(consumer)
    cluster.world.run_until(lambda: sum(ended) == 2)
    after = [note for note in notes_in(cluster) if note.trace_type is TraceType.SUB_AFTER]
    assert ended == [2]
    assert [(note.success, note.context_code) for note in after] == [(True, 0), (True, SWALLOWED_CODE)]


def test_a_message_that_says_so_is_not_traced_by_its_consumer(cluster: LabCluster):
    producer = cluster.producer("P", "producers")
    consumer = cluster.push_consumer("C", "consumers", enable_msg_trace=True)
    consumer.subscribe("T")
    seen: list[str] = []

    def listen(messages, context):
        seen.extend(message.properties["TRACE_ON"] for message in messages)
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    consumer.register_message_listener(listen)
    cluster.start(producer)
    cluster.run(producer, producer.create_topic("T", queue_nums=1))
    cluster.start(consumer)
    cluster.world.run_for(3_000)
    for wanted in ("false", "true"):
        cluster.run(producer, send_unchecked(producer, Message("T", b"x"), TRACE_ON=wanted))
    cluster.world.run_until(lambda: len(seen) == 2)
    assert len(notes_in(cluster)) == 2, "before and after, of one of the two"


def test_the_end_of_a_transaction_is_noted(cluster: LabCluster):
    class Listener:
        def execute_local_transaction(self, message: Message, argument: object) -> LocalTransactionState:
            return LocalTransactionState.COMMIT_MESSAGE if argument else LocalTransactionState.UNKNOW

        def check_local_transaction(self, message: MessageExt) -> LocalTransactionState:
            return LocalTransactionState.ROLLBACK_MESSAGE

    producer = TransactionMQProducer(
        cluster.world.node("P"), "producers", cluster.name_server_address, Listener(), enable_msg_trace=True
    )
    cluster.start(producer)
    cluster.run(producer, producer.create_topic("T", queue_nums=1))
    for argument in (True, False):
        cluster.run(producer, producer.send_message_in_transaction(Message("T", b"x", keys="k"), argument))
    cluster.world.run_for(130_000)
    notes = notes_in(cluster)
    assert [note.trace_type for note in notes] == [
        *[TraceType.PUB, TraceType.END_TRANSACTION] * 2,
        TraceType.END_TRANSACTION,
    ]
    assert {note.beans[0].message_type for note in notes if note.trace_type is TraceType.PUB} == {
        MessageType.TRANS_MSG_HALF
    }
    ends = [note.beans[0] for note in notes if note.trace_type is TraceType.END_TRANSACTION]
    assert [(bean.transaction_state, bean.from_transaction_check) for bean in ends] == [
        ("COMMIT_MESSAGE", False),
        ("UNKNOW", False),
        ("ROLLBACK_MESSAGE", True),
    ]
    assert ends[1].message_id == ends[2].message_id


def test_many_notes_travel_together_and_a_shutdown_sends_the_rest(cluster: LabCluster):
    producer = traced_producer(cluster)

    async def send_many() -> None:
        for number in range(40):
            await producer.send(Message("T", b"x", keys=f"k{number}"))
        await producer.shutdown()

    cluster.run(producer, send_many())
    store = cluster.broker.store
    messages = sum(len(store.consume_queue_entries(TRACE_TOPIC, queue, 0, 100)) for queue in range(8))
    assert messages == 1
    assert len(notes_in(cluster)) == 40
    assert producer.trace_dispatcher is not None
    assert (producer.trace_dispatcher.sent, producer.trace_dispatcher.lost) == (40, 0)


def test_a_trace_topic_of_ones_own_is_used(cluster: LabCluster):
    producer = traced_producer(cluster, customized_trace_topic="MyTrace")
    cluster.run(producer, producer.send(Message("T", b"x")))
    cluster.world.run_for(2_000)
    assert sum(len(cluster.broker.store.consume_queue_entries("MyTrace", queue, 0, 9)) for queue in range(8)) == 1


# --- the dispatcher ---------------------------------------------------------------------------------------------------


class InnerProducer:
    """Takes trace messages, or lets them wait."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.room = asyncio.Event()
        self.room.set()
        self.error: Exception | None = None

    async def start(self) -> None: ...

    async def shutdown(self) -> None: ...

    def send_async(self, message: Message, callback: Any, *, timeout_ms: int) -> Awaitable[None]:
        async def send() -> None:
            await self.room.wait()
            self.messages.append(message)
            callback(None, self.error)

        return send()


def note(number: int = 0, keys: str | None = "") -> TraceContext:
    return TraceContext(TraceType.PUB, 1, "g", (TraceBean(f"id-{number}", keys=keys),))


def test_when_too_many_notes_wait_further_ones_are_dropped_and_counted(cluster: LabCluster):
    inner = InnerProducer()
    runtime = cluster.world.node("D")

    async def scenario() -> AsyncTraceDispatcher:
        inner.room.clear()
        dispatcher = AsyncTraceDispatcher(runtime.clock, inner, "Trace")
        await dispatcher.start()
        taken = [dispatcher.append(note(number)) for number in range(CONTEXT_QUEUE_MAX + 10)]
        assert taken == [True] * CONTEXT_QUEUE_MAX + [False] * 10
        inner.room.set()
        await dispatcher.shutdown()
        return dispatcher

    dispatcher = cluster.world.run(scenario(), node="D")
    assert (dispatcher.appended, dispatcher.discarded, dispatcher.sent) == (CONTEXT_QUEUE_MAX, 10, CONTEXT_QUEUE_MAX)


def test_every_trace_message_stays_within_its_bounds_and_no_note_is_lost_on_the_way(cluster: LabCluster):
    inner = InnerProducer()
    runtime = cluster.world.node("D")

    async def scenario() -> None:
        dispatcher = AsyncTraceDispatcher(runtime.clock, inner, "Trace")
        await dispatcher.start()
        for number in range(1_000):
            dispatcher.append(note(number, keys="钥" * (1 + number * 7 % 900)))
        await asyncio.sleep(0.01)
        assert inner.messages, "full segments do not wait"
        await dispatcher.shutdown()

    cluster.world.run(scenario(), node="D")
    assert all(len(message.body) <= TRACE_MESSAGE_MAX_BYTES for message in inner.messages)
    assert max(len(message.body) for message in inner.messages) > SEGMENT_MAX_BYTES // 9
    assert all(len(encode_properties(message.properties).encode()) < 32_767 for message in inner.messages)
    notes = [note for message in inner.messages for note in decode_trace_data(message.body.decode())]
    assert [note.beans[0].message_id for note in notes] == [f"id-{number}" for number in range(1_000)]


def test_a_lone_note_goes_out_after_half_a_second(cluster: LabCluster):
    inner = InnerProducer()
    runtime = cluster.world.node("D")

    async def scenario() -> None:
        dispatcher = AsyncTraceDispatcher(runtime.clock, inner, "Trace")
        await dispatcher.start()
        dispatcher.append(note())
        await asyncio.sleep(0.3)
        dispatcher.append(note(1))
        await asyncio.sleep(0.199)
        assert inner.messages == []
        await asyncio.sleep(0.002)
        assert [message.keys for message in inner.messages] == [("id-0", "id-1")]

    cluster.world.run(scenario(), node="D")


def test_notes_that_no_broker_takes_are_counted_as_lost(cluster: LabCluster):
    producer = traced_producer(cluster)
    cluster.run(producer, producer.send(Message("T", b"x")))
    cluster.world.crash("broker-a")
    cluster.world.run_for(10_000)
    dispatcher = producer.trace_dispatcher
    assert dispatcher is not None
    assert (dispatcher.sent, dispatcher.lost) == (0, 1)

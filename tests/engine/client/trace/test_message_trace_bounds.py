"""Message trace: large deliveries, keys that do not fit, and the trace topic itself."""

from __future__ import annotations

import asyncio
from typing import Any

from engine.client import DefaultMQProducer, Message, MessageExt, MessageQueue
from engine.client.callbacks.consume_message_hook import CONSUME_CONTEXT_TYPE, ConsumeMessageContext
from engine.client.trace.async_trace_dispatcher import AsyncTraceDispatcher
from engine.client.trace.trace_context import TraceBean, TraceContext, TraceType
from engine.client.trace.trace_data_encoder import decode_trace_data
from engine.client.trace.trace_hooks import ConsumeMessageTraceHook
from engine.protocol.message.message_id import UniqueIdGenerator
from engine.protocol.message.message_properties import PROPERTY_UNIQUE_KEY
from engine.protocol.names import TRACE_TOPIC
from tests.support.lab.lab_cluster import LabCluster


class HandClock:
    """Time passes when a test says so."""

    def __init__(self) -> None:
        self.time_ms = 1_000

    def now_ms(self) -> int:
        return self.time_ms

    def monotonic_us(self) -> int:
        return self.time_ms * 1_000


class Notes(list[TraceContext]):
    """In place of a dispatcher."""

    topic = TRACE_TOPIC


def delivered(number: int) -> MessageExt:
    return MessageExt(
        topic="T",
        body=b"x",
        properties={PROPERTY_UNIQUE_KEY: f"id-{number}"},
        queue_id=0,
        queue_offset=number,
        commit_log_offset=0,
        born_timestamp=0,
        born_host="1.2.3.4:5",
        store_timestamp=0,
        store_host="1.2.3.4:6",
        flag=0,
        reconsume_times=0,
    )


def test_of_a_large_delivery_every_message_is_noted_once_and_the_cost_is_shared():
    clock, notes = HandClock(), Notes()
    ids = UniqueIdGenerator("127.0.0.1", 1, 1, clock.now_ms)
    hook = ConsumeMessageTraceHook(notes, clock, ids)  # type: ignore[arg-type]  # only append is used
    messages = [delivered(number) for number in range(250)]
    context = ConsumeMessageContext("g", MessageQueue("T", "a", 0), messages)
    hook.consume_message_before(context)
    clock.time_ms += 1_000
    context.success = True
    context.props[CONSUME_CONTEXT_TYPE] = "SUCCESS"
    hook.consume_message_after(context)
    for kind, cost_ms in ((TraceType.SUB_BEFORE, 0), (TraceType.SUB_AFTER, 4)):
        of_kind = [note for note in notes if note.trace_type is kind]
        reported = [bean.message_id for note in of_kind for bean in note.beans]
        assert reported == [f"id-{number}" for number in range(250)]
        assert {note.cost_ms for note in of_kind} == {cost_ms}
    assert len({note.request_id for note in notes}) == 1


def test_every_message_is_found_by_its_id_however_long_the_keys_of_others_are(cluster: LabCluster):
    sent: list[Message] = []
    runtime = cluster.world.node("D")

    class InnerProducer:
        async def start(self) -> None: ...

        async def shutdown(self) -> None: ...

        async def send_async(self, message: Message, callback: Any, *, timeout_ms: int) -> None:
            sent.append(message)
            callback(None, None)

    async def scenario() -> None:
        dispatcher = AsyncTraceDispatcher(runtime.clock, InnerProducer(), "Trace")
        await dispatcher.start()
        for number in range(200):
            bean = TraceBean(f"id-{number}", keys=f"key-{number}-" + "k" * 400)
            dispatcher.append(TraceContext(TraceType.PUB, 1, "g", (bean,)))
        await asyncio.sleep(0.01)
        await dispatcher.shutdown()

    cluster.world.run(scenario(), node="D")
    for message in sent:
        for note in decode_trace_data(message.body.decode()):
            assert note.beans[0].message_id in message.keys


def test_what_is_sent_to_the_trace_topic_is_not_traced(cluster: LabCluster):
    producer: DefaultMQProducer = cluster.producer("P", "producers", enable_msg_trace=True)
    cluster.start(producer)
    cluster.run(producer, producer.send(Message(TRACE_TOPIC, b"x")))
    cluster.run(producer, producer.send(Message("T", b"x")))
    assert producer.trace_dispatcher is not None
    assert producer.trace_dispatcher.appended == 1

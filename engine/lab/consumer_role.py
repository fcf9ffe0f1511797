"""A node that is a push consumer: an application whose listener behaves as the scenario says."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from engine.bank.errors import BankError
from engine.client.consume_concurrently import ConsumeConcurrentlyContext, ConsumeConcurrentlyStatus
from engine.client.consume_orderly import ConsumeOrderlyContext, ConsumeOrderlyStatus
from engine.client.default_mq_push_consumer import DefaultMQPushConsumer
from engine.lab.history import ConsumeBegan, ConsumeEnded
from engine.lab.listener_spec import ListenerResult, ListenerSpec
from engine.lab.node_banks import NodeReceivingBank
from engine.lab.node_role import LabNodeRole
from engine.lab.scenario import NodeSpec
from engine.lab.switches import IDEMPOTENT_CONSUMER, apply_to_consumer
from engine.protocol.enums import ConsumeFromWhere, MessageModel
from engine.protocol.message import MessageExt

if TYPE_CHECKING:
    from engine.lab.world import ScenarioWorld

_MODELS = {"clustering": MessageModel.CLUSTERING, "broadcasting": MessageModel.BROADCASTING}
_BEGINNINGS = {
    "first": ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
    "last": ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
}


class ListenerFailed(Exception):
    """What a listener raises that the scenario lets fail."""


class ListenerCall(NamedTuple):
    """A call of the listener that has not ended."""

    topic: str
    broker: str
    queue_id: int
    offsets: tuple[int, ...]
    keys: tuple[str, ...]
    since_us: int


class ConsumerRole(LabNodeRole):
    """:ivar consumer: None while the process does not run.

    :ivar listener: how the listener behaves from the next call on.
    :ivar listener_calls: those under way, by a number of their own.
    :ivar node_bank: None for one that is no bank.
    """

    consumer: DefaultMQPushConsumer | None = None

    def __init__(self, world: ScenarioWorld, spec: NodeSpec) -> None:
        super().__init__(world, spec)
        self.listener: ListenerSpec = spec.listener
        self.listener_calls: dict[int, ListenerCall] = {}
        self._call_count = 0
        self.node_bank = NodeReceivingBank(self, spec.bank) if spec.bank is not None else None
        if spec.bank is not None and not spec.bank.idempotent:
            self.switched_off[IDEMPOTENT_CONSUMER] = None

    async def _start(self) -> None:
        spec = self.spec
        if self.node_bank is not None:
            self.node_bank.start()
        settings: dict[str, Any] = {
            "message_model": _MODELS[spec.model],
            "consume_from_where": _BEGINNINGS[spec.consume_from],
            "consume_thread_max": spec.threads,
        }
        settings |= cast("dict[str, Any]", self.settings)
        consumer = self._make_consumer(settings)
        consumer.subscribe(spec.topic, spec.expression)
        if spec.orderly:
            consumer.register_message_listener_orderly(self._listen_orderly)
        else:
            consumer.register_message_listener(self._listen_concurrently)
        apply_to_consumer(consumer, self.switched_off)
        self.consumer = consumer
        await consumer.start()

    def change_listener(self, duration_ms: int, result: ListenerResult) -> None:
        """From the next call on all messages are treated alike."""
        was = self.spec.listener
        self.listener = ListenerSpec(duration_ms, result, commit_every=was.commit_every, suspend_ms=was.suspend_ms)

    async def _listen_concurrently(
        self, messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext
    ) -> ConsumeConcurrentlyStatus:
        result = await self._listen(messages, context)
        if result in (ListenerResult.LATER, ListenerResult.SUSPEND):
            return ConsumeConcurrentlyStatus.RECONSUME_LATER
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    async def _listen_orderly(
        self, messages: Sequence[MessageExt], context: ConsumeOrderlyContext
    ) -> ConsumeOrderlyStatus:
        listener = self.listener
        context.auto_commit = listener.commit_every is None
        if listener.suspend_ms is not None:
            context.suspend_current_queue_time_ms = listener.suspend_ms
        result = await self._listen(messages, context)
        if result in (ListenerResult.LATER, ListenerResult.SUSPEND):
            return ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT
        if result is ListenerResult.ROLLBACK:
            return ConsumeOrderlyStatus.ROLLBACK
        every = listener.commit_every
        is_last = every is not None and any((message.queue_offset + 1) % every == 0 for message in messages)
        if result is ListenerResult.COMMIT or is_last:
            return ConsumeOrderlyStatus.COMMIT
        return ConsumeOrderlyStatus.SUCCESS

    def _make_consumer(self, settings: dict[str, Any]) -> DefaultMQPushConsumer:
        return DefaultMQPushConsumer(self.runtime, self.spec.group, self.world.name_server_address, **settings)

    async def _listen(
        self, messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext | ConsumeOrderlyContext
    ) -> ListenerResult:
        """What both kinds have in common. Raises :class:`ListenerFailed` where the scenario says so."""
        self._call_count += 1
        number, queue, world = self._call_count, context.message_queue, self.world
        keys = tuple([_key_of(message) for message in messages])
        offsets = tuple([message.queue_offset for message in messages])
        call = ListenerCall(queue.topic, queue.broker_name, queue.queue_id, offsets, keys, world.now_us)
        self.listener_calls[number] = call
        for message, key in zip(messages, keys, strict=True):
            world.history.consumes_began.append(ConsumeBegan(*self._seen(context, message, key)))
        listener = self.listener
        results = [
            listener.result_of(key, message.reconsume_times) for message, key in zip(messages, keys, strict=True)
        ]
        try:
            if ListenerResult.HANGS in results:
                await asyncio.get_running_loop().create_future()
            failure = await self._work(messages, listener)
            result = _worst(results) if failure is None else ListenerResult.THROWS
            if result in _NEED_AUTO_COMMIT_OFF and getattr(context, "auto_commit", True):
                result = ListenerResult.SUCCESS
            for message, key in zip(messages, keys, strict=True):
                world.history.consumes_ended.append(ConsumeEnded(*self._seen(context, message, key), result.value))
        finally:
            self.listener_calls.pop(number, None)
        if failure is not None:
            raise failure
        if result is ListenerResult.THROWS:
            raise ListenerFailed(f"the scenario lets the listener fail with {', '.join(keys)}")
        return result

    async def _work(self, messages: Sequence[MessageExt], listener: ListenerSpec) -> BankError | None:
        """What a listener is there for; why it failed. The scenario's own failures come after it: the work is done."""
        if self.node_bank is None:
            await asyncio.sleep(listener.duration_ms / 1_000)
            return None
        try:
            for message in messages:
                await self.node_bank.ready(listener).receive(message)
        except BankError as error:
            return error
        return None

    def _seen(
        self, context: ConsumeConcurrentlyContext | ConsumeOrderlyContext, message: MessageExt, key: str
    ) -> tuple[int, int, str, str, str, str, int, int, str, int]:
        queue = context.message_queue
        return (
            self.world.event_number,
            self.world.now_us,
            self.name,
            self.spec.group,
            queue.topic,
            queue.broker_name,
            queue.queue_id,
            message.queue_offset,
            key,
            message.reconsume_times,
        )

    async def _stop(self) -> None:
        if self.consumer is not None:
            await self.consumer.shutdown()

    def _forget(self) -> None:
        self.consumer = None
        if self.node_bank is not None:
            self.node_bank.forget()
        self.listener_calls.clear()


def _key_of(message: MessageExt) -> str:
    keys = message.keys
    return keys[0] if keys else ""


_WORST_FIRST = (
    ListenerResult.THROWS,
    ListenerResult.LATER,
    ListenerResult.SUSPEND,
    ListenerResult.ROLLBACK,
    ListenerResult.COMMIT,
)


#: Mean SUCCESS to everybody else.
_NEED_AUTO_COMMIT_OFF = (ListenerResult.COMMIT, ListenerResult.ROLLBACK)


def _worst(results: Sequence[ListenerResult]) -> ListenerResult:
    """A batch succeeds or fails as a whole."""
    for result in _WORST_FIRST:
        if result in results:
            return result
    return ListenerResult.SUCCESS

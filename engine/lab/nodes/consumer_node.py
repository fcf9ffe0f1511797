"""A node that is a push consumer: an application whose listener behaves as the scenario says."""

from __future__ import annotations

import asyncio
import dataclasses
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

from engine.bank.errors import BankError
from engine.client.callbacks.consume_concurrently import ConsumeConcurrentlyContext, ConsumeConcurrentlyStatus
from engine.client.callbacks.consume_orderly import ConsumeOrderlyContext, ConsumeOrderlyStatus
from engine.client.consumer.default_mq_push_consumer import DefaultMQPushConsumer
from engine.client.foundation.client_config import ClientConfig
from engine.client.queues.consumer_config import PushConsumerConfig
from engine.idempotence.failure_alarm import FailureAlarm
from engine.idempotence.foundation.counters import IdempotenceCounters
from engine.idempotence.strategies.strategy import DeliveryVerdict
from engine.lab.nodes.batch_answer import BatchAnswer, acknowledged_up_to, answer
from engine.lab.nodes.helper_producer import MoveAside, MovingAsideFailed, Replier
from engine.lab.nodes.history import AlarmRaised, ConsumeBegan, ConsumeEnded, DeliveryJudged, MessageDropped
from engine.lab.nodes.in_memory_queue import InMemoryQueue
from engine.lab.nodes.loss_watch import LossWatch
from engine.lab.nodes.node_banks import NodeReceivingBank
from engine.lab.nodes.node_guard import NodeGuard
from engine.lab.nodes.relay import Relay
from engine.lab.nodes.scenario_node import MemberNode, WorldContext
from engine.lab.scenario.kinds.consumer import ConsumerSpec
from engine.lab.scenario.listener_spec import BatchAck, ListenerResult, ListenerSpec
from engine.lab.scenario.settings import of_class
from engine.lab.scenario.switches import apply_to_consumer
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.enums import ConsumeFromWhere, MessageModel
from engine.protocol.message.message import MessageExt
from engine.runtime.lab.lab_clock import WORLD_BEGIN_MS

_MODELS = {"clustering": MessageModel.CLUSTERING, "broadcasting": MessageModel.BROADCASTING}
_BEGINNINGS = {
    "first": ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
    "last": ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
    "timestamp": ConsumeFromWhere.CONSUME_FROM_TIMESTAMP,
}


#: Keys of dropped messages that a node's card shows.
GIVEN_UP_KEPT = 6
#: Deliveries whose verdicts it shows.
JUDGED_KEPT = 6


class ListenerFailed(Exception):
    """Raised by a listener that the scenario lets fail."""


class ListenerCall(NamedTuple):
    """A call of the listener that has not ended."""

    topic: str
    broker: str
    queue_id: int
    offsets: tuple[int, ...]
    keys: tuple[str, ...]
    since_us: int


class ConsumerNode(MemberNode):
    """A push consumer's node.

    :ivar consumer: None while the process does not run.
    :ivar listener: how the listener behaves from the next call on.
    :ivar listener_calls: calls in progress, by a number of their own.
    :ivar hand_over: None for a listener that consumes its messages itself, as it should.
    :ivar move_aside: None for one that consumes them all.
    :ivar replier: None for one that answers no requests.
    :ivar node_bank: None for a node without a bank.
    :ivar loss_watch: None for one that does not look for losses.
    :ivar guard: None for a node without work, and while the process does not run.
    :ivar relay: None for one whose work does not continue elsewhere.
    :ivar alarm: why it has suspended itself; None: it has not, or it was resumed.
    :ivar idempotence_counters: what the guards of all its processes have counted.
    :ivar judged: their newest verdicts.
    :ivar given_up_count: broadcasting: how many messages it dropped, over all its processes.
    :ivar given_up_keys: the last ones.
    """

    spec: ConsumerSpec

    consumer: DefaultMQPushConsumer | None = None
    guard: NodeGuard | None = None
    alarm: AlarmRaised | None = None

    def __init__(self, world: WorldContext, spec: ConsumerSpec) -> None:
        super().__init__(world, spec)
        self.listener: ListenerSpec = spec.listener
        self.listener_calls: dict[int, ListenerCall] = {}
        self._call_count = 0
        self.given_up_count = 0
        self.given_up_keys: deque[str] = deque(maxlen=GIVEN_UP_KEPT)
        self.idempotence_counters = IdempotenceCounters()
        self.judged: deque[DeliveryJudged] = deque(maxlen=JUDGED_KEPT)
        self.hand_over = InMemoryQueue(world, spec.listener) if spec.listener.hand_over else None
        aside = spec.listener.move_aside
        self.move_aside = MoveAside(self, aside) if aside is not None else None
        self.replier = Replier(self, spec.listener.reply) if spec.listener.reply else None
        self.relay = Relay(self, spec.work.then) if spec.work is not None and spec.work.then else None
        self.loss_watch = LossWatch(world, spec.name) if spec.detect_loss else None
        self._helper_producers = [one for one in (self.move_aside, self.replier, self.relay) if one is not None]
        self.node_bank = NodeReceivingBank(self, spec.bank) if spec.bank is not None else None

    async def _start(self) -> None:
        spec = self.spec
        if self.node_bank is not None:
            self.node_bank.start()
        if spec.work is not None:
            self.guard = NodeGuard(
                self,
                spec.work,
                lambda: self.listener,
                self.relay,
                self._note_judgement,
                counters=self.idempotence_counters,
                judged=self.judged,
            )
        settings: dict[str, Any] = {
            "message_model": _MODELS[spec.model],
            "consume_from_where": _BEGINNINGS[spec.consume_from],
            "consume_thread_min": spec.threads,
            "consume_thread_max": spec.threads,
        }
        if spec.from_ms is not None:
            settings["consume_timestamp_ms"] = WORLD_BEGIN_MS + spec.from_ms
        settings |= of_class(PushConsumerConfig, self.settings) | of_class(ClientConfig, self.settings)
        await self._start_helpers()
        consumer = DefaultMQPushConsumer(self.runtime, spec.group, self.world.name_server_address, **settings)
        consumer.register_drop_listener(self._note_drop)
        if self.loss_watch is not None:
            consumer.register_consume_message_hook(self.loss_watch)
        consumer.subscribe(spec.topic, spec.expression, spec.expression_type)
        if spec.orderly:
            consumer.register_message_listener_orderly(self._listen_orderly)
        else:
            consumer.register_message_listener(self._listen_concurrently)
        apply_to_consumer(consumer, self.switched_off)
        self.consumer = consumer
        await consumer.start()

    async def _start_helpers(self) -> None:
        """Start what the application has besides its consumer, before the first message comes."""
        if self.hand_over is not None:
            do = self._take_time if self.guard is None else self.guard.work_off
            self.spawn(self.hand_over.work(do), "works off the list")
        for second in self._helper_producers:
            await second.start(of_class(ClientConfig, self.settings))

    async def _hand_over(
        self, hand_over: InMemoryQueue, began: Sequence[ConsumeBegan], messages: Sequence[MessageExt]
    ) -> ListenerResult:
        """Hand the messages over; such a listener does nothing else."""
        await asyncio.sleep(self.listener.duration_ms / 1_000)
        if self.guard is not None:
            self.guard.hand_over(messages)
        await hand_over.take(began, messages)
        return ListenerResult.SUCCESS

    async def _take_time(self, message: MessageExt) -> None:
        """Let the work take its time."""
        await asyncio.sleep(self.spec.listener.hand_over_ms / 1_000)

    def change_listener(self, duration_ms: int, result: ListenerResult, delay_level: int = 0) -> None:
        """Treat all messages alike from the next call on."""
        self.listener = dataclasses.replace(
            self.spec.listener,
            duration_ms=duration_ms,
            result=result,
            delay_level=delay_level,
            fails_first=None,
            only_keys=(),
            fails_by_key=(),
        )

    def apply_switches(self) -> None:
        if self.consumer is not None:
            apply_to_consumer(self.consumer, self.switched_off)

    def resume_consumer(self) -> None:
        """Resume the suspended consumer, as an operator does."""
        if self.consumer is not None:
            self.consumer.resume()
        self.alarm = None

    def locked_since_us(self, key: str, known_us: int | None) -> int | None:
        return self.node_bank.locked_since_us(key) if self.node_bank is not None else None

    def sends_in_transactions(self, topic: str) -> bool:
        return self.relay is not None and topic == self.relay.topic

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

    async def _listen(
        self, messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext | ConsumeOrderlyContext
    ) -> ListenerResult:
        """Handle a call of either kind of listener. Raises :class:`ListenerFailed` where the scenario says so."""
        self._call_count += 1
        number, queue, world = self._call_count, context.message_queue, self.world
        keys = tuple([_key_of(message) for message in messages])
        offsets = tuple([message.queue_offset for message in messages])
        call = ListenerCall(queue.topic, queue.broker_name, queue.queue_id, offsets, keys, world.now_us)
        self.listener_calls[number] = call
        began = [ConsumeBegan(*self._seen(context, message, key)) for message, key in zip(messages, keys, strict=True)]
        # One by one: the explorer's lists notice only what is appended.
        for entry in began:
            world.history.consumes_began.append(entry)
        listener = self.listener
        results = [
            listener.result_of(key, message.reconsume_times) for message, key in zip(messages, keys, strict=True)
        ]
        try:
            if ListenerResult.HANGS in results:
                await asyncio.get_running_loop().create_future()
            if self.hand_over is not None:
                return await self._hand_over(self.hand_over, began, messages)
            if getattr(context, "auto_commit", True):
                results = [ListenerResult.SUCCESS if one in _NEED_AUTO_COMMIT_OFF else one for one in results]
            failure = None
            if self.guard is not None:
                if self.alarm is None:
                    results = await self.guard.listen(messages, context, results)
                else:
                    # Pulled before it was suspended: half-done work must not continue.
                    results = [ListenerResult.LATER] * len(messages)
                await self._reply_to_done(messages, results)
                # As live: if the first message must be delivered again, the call has failed.
                is_whole = self.spec.orderly or results[0] is ListenerResult.LATER
                answered = answer(BatchAck.WHOLE if is_whole else BatchAck.PER_MESSAGE, results)
            else:
                answered = answer(listener.batch_ack, results)
                failure = await self._work(messages[: answered.worked_on], listener)
            if failure is not None:
                answered = answer(BatchAck.WHOLE, [ListenerResult.THROWS] * len(messages))
            if isinstance(context, ConsumeConcurrentlyContext):
                answered = _fill_in(context, listener, answered)
            for message, key, one in zip(messages, keys, answered.results, strict=True):
                world.history.consumes_ended.append(ConsumeEnded(*self._seen(context, message, key), one.value))
        finally:
            self.listener_calls.pop(number, None)
        if failure is not None:
            raise failure
        if answered.result is ListenerResult.THROWS:
            raise ListenerFailed(f"the scenario lets the listener fail with {', '.join(keys)}")
        return answered.result

    async def _reply_to_done(self, messages: Sequence[MessageExt], results: Sequence[ListenerResult]) -> None:
        if self.replier is not None:
            done = zip(messages, results, strict=True)
            await self.replier.answer([message for message, one in done if one is ListenerResult.SUCCESS])

    async def _work(
        self, messages: Sequence[MessageExt], listener: ListenerSpec
    ) -> BankError | MovingAsideFailed | None:
        """Do the work of a listener; return why it failed. The scenario's own failures come after it: the work is
        done.
        """
        if self.move_aside is not None:
            try:
                messages = await self.move_aside.sort_out(messages)
            except MovingAsideFailed as error:
                return error
            if not messages:
                return None
        if self.replier is not None and listener.drops_expired:
            messages = self.replier.awaited(messages)
            if not messages:
                return None
        if self.node_bank is None:
            await asyncio.sleep((listener.duration_ms + listener.each_ms * len(messages)) / 1_000)
            if self.replier is not None:
                await self.replier.answer(messages)
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
            *self.here_and_now,
            self.spec.group,
            queue.topic,
            queue.broker_name,
            queue.queue_id,
            message.queue_offset,
            key,
            message.reconsume_times,
        )

    def _note_judgement(self, message: MessageExt, business_key: str, verdict: DeliveryVerdict | None) -> None:
        after = int(self.settings.get("idempotence_stops_after", 0))
        if after and self.consumer is not None:
            alarm = FailureAlarm(self.consumer, after)
            alarm(message, business_key, verdict)
            if alarm.raised_for:
                raised = (*self.here_and_now, self.spec.group, _key_of(message), message.reconsume_times + 1)
                self.alarm = AlarmRaised(*raised)
                self.world.history.alarms_raised.append(self.alarm)

    def _note_drop(self, queue: MessageQueue, message: MessageExt) -> None:
        context, key = ConsumeConcurrentlyContext(queue), _key_of(message)
        self.given_up_count += 1
        self.given_up_keys.append(key)
        self.world.history.messages_dropped.append(MessageDropped(*self._seen(context, message, key)))

    async def _stop(self) -> None:
        if self.consumer is not None:
            await self.consumer.shutdown()
        for second in self._helper_producers:
            await second.stop()
        if self.guard is not None:
            await self.guard.shutdown()

    def _forget(self) -> None:
        self.consumer = None
        if self.hand_over is not None:
            self.hand_over.forget()
        for second in self._helper_producers:
            second.forget()
        if self.node_bank is not None:
            self.node_bank.forget()
        self.guard = self.alarm = None
        self.listener_calls.clear()


def _key_of(message: MessageExt) -> str:
    keys = message.keys
    return keys[0] if keys else ""


def _fill_in(context: ConsumeConcurrentlyContext, listener: ListenerSpec, answered: BatchAnswer) -> BatchAnswer:
    """Set what the listener reports besides its status; return how the call ends."""
    context.delay_level_when_next_consume = listener.delay_level
    if listener.ack_index is not None:
        answered = acknowledged_up_to(answered, listener.ack_index)
    if answered.ack_index is not None:
        context.ack_index = answered.ack_index
    return answered


#: These mean SUCCESS in every other case.
_NEED_AUTO_COMMIT_OFF = (ListenerResult.COMMIT, ListenerResult.ROLLBACK)

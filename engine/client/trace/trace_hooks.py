"""The hooks that write trace records (RocketMQ: ``SendMessageTraceHookImpl``, ``ConsumeMessageTraceHookImpl``,
``EndTransactionTraceHookImpl``).

Like RocketMQ's, they do not record a failed send attempt, a oneway send, a message to the trace topic itself, or
anything for which the broker or the message has TRACE_ON=false.

Different from RocketMQ: each attempt of an asynchronous send is recorded separately, with its duration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from engine.client.callbacks.consume_message_hook import (
    CONSUME_CONTEXT_TYPE,
    ConsumeMessageContext,
    ConsumeReturnType,
)
from engine.client.callbacks.send_message_hook import EndTransactionContext, SendMessageContext
from engine.client.callbacks.send_result import DEFAULT_REGION_ID, SendStatus
from engine.client.trace.async_trace_dispatcher import AsyncTraceDispatcher
from engine.client.trace.trace_context import MessageType, TraceBean, TraceContext, TraceType
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_id import UniqueIdGenerator
from engine.protocol.message.message_properties import (
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_KEYS,
    PROPERTY_MSG_REGION,
    PROPERTY_TAGS,
    PROPERTY_TRACE_ON,
    PROPERTY_TRANSACTION_PREPARED,
)
from engine.runtime.port import Clock

#: A delivery of more messages is recorded in several records, so that none becomes too large to send.
BEANS_PER_NOTE_MAX = 100


def _keys_and_tags(properties: Mapping[str, str]) -> tuple[str | None, str | None]:
    return properties.get(PROPERTY_KEYS), properties.get(PROPERTY_TAGS)


class SendMessageTraceHook:
    """A hook that records sent messages and their positions."""

    hook_name = "SendMessageTraceHook"

    def __init__(self, dispatcher: AsyncTraceDispatcher, clock: Clock) -> None:
        self._dispatcher = dispatcher
        self._clock = clock

    def send_message_before(self, context: SendMessageContext) -> None:
        """Remember when the attempt began."""
        if not context.topic.startswith(self._dispatcher.topic):
            context.trace_context = self._clock.now_ms()

    def send_message_after(self, context: SendMessageContext) -> None:
        """Record an attempt that a broker has answered."""
        begun_ms, result = context.trace_context, context.result
        if not isinstance(begun_ms, int) or result is None or not result.trace_on:
            return
        keys, tags = _keys_and_tags(context.properties)
        bean = TraceBean(
            message_id=result.message_id,
            topic=context.topic,
            tags=tags,
            keys=keys,
            store_host=context.broker_address,
            body_length=context.body_size,
            message_type=_message_type(context.properties),
            offset_message_id=result.offset_message_id,
        )
        self._dispatcher.append(
            TraceContext(
                TraceType.PUB,
                begun_ms,
                context.producer_group,
                (bean,),
                region_id=result.region_id,
                cost_ms=self._clock.now_ms() - begun_ms,
                success=result.status is SendStatus.SEND_OK,
            )
        )


def _message_type(properties: Mapping[str, str]) -> MessageType:
    if PROPERTY_DELAY_TIME_LEVEL in properties:
        return MessageType.DELAY_MSG
    is_half = properties.get(PROPERTY_TRANSACTION_PREPARED) == "true"
    return MessageType.TRANS_MSG_HALF if is_half else MessageType.NORMAL_MSG


class EndTransactionTraceHook:
    """A hook that records the reported outcome of a local transaction."""

    hook_name = "EndTransactionTraceHook"

    def __init__(self, dispatcher: AsyncTraceDispatcher, clock: Clock) -> None:
        self._dispatcher = dispatcher
        self._clock = clock

    def end_transaction(self, context: EndTransactionContext) -> None:
        if context.topic.startswith(self._dispatcher.topic):
            return
        keys, tags = _keys_and_tags(context.properties)
        bean = TraceBean(
            message_id=context.message_id,
            topic=context.topic,
            tags=tags,
            keys=keys,
            store_host=context.broker_address,
            message_type=MessageType.TRANS_MSG_COMMIT,
            transaction_id=context.transaction_id,
            transaction_state=context.state.name,
            from_transaction_check=context.from_transaction_check,
        )
        region_id = context.properties.get(PROPERTY_MSG_REGION) or DEFAULT_REGION_ID
        now_ms = self._clock.now_ms()
        self._dispatcher.append(
            TraceContext(TraceType.END_TRANSACTION, now_ms, context.producer_group, (bean,), region_id=region_id)
        )


@dataclass(frozen=True, slots=True)
class _Delivery:
    """The records that were written before a listener call, and their subjects."""

    contexts: tuple[TraceContext, ...]
    messages: Sequence[MessageExt]
    begun_ms: int


class ConsumeMessageTraceHook:
    """A hook that records every delivery twice: before and after the listener call.

    :param request_ids: the source of the ids that join the two.
    """

    hook_name = "ConsumeMessageTraceHook"

    def __init__(self, dispatcher: AsyncTraceDispatcher, clock: Clock, request_ids: UniqueIdGenerator) -> None:
        self._dispatcher = dispatcher
        self._clock = clock
        self._request_ids = request_ids

    def consume_message_before(self, context: ConsumeMessageContext) -> None:
        """Write the first record of a delivery."""
        messages = [message for message in context.messages if message.properties.get(PROPERTY_TRACE_ON) != "false"]
        if not messages:
            return
        now_ms, request_id = self._clock.now_ms(), self._request_ids.next()
        region_id = messages[-1].properties.get(PROPERTY_MSG_REGION)
        contexts = tuple(
            TraceContext(
                TraceType.SUB_BEFORE,
                now_ms,
                context.consumer_group,
                _beans(messages[first : first + BEANS_PER_NOTE_MAX]),
                region_id=region_id,
                request_id=request_id,
            )
            for first in range(0, len(messages), BEANS_PER_NOTE_MAX)
        )
        for note in contexts:
            self._dispatcher.append(note)
        context.trace_context = _Delivery(contexts, messages, now_ms)

    def consume_message_after(self, context: ConsumeMessageContext) -> None:
        """Write the second record."""
        delivery = context.trace_context
        if not isinstance(delivery, _Delivery):
            return
        now_ms = self._clock.now_ms()
        return_type = ConsumeReturnType(context.props[CONSUME_CONTEXT_TYPE])
        messages = iter(delivery.messages)
        for note in delivery.contexts:
            self._dispatcher.append(
                replace(
                    note,
                    beans=tuple(
                        replace(bean, is_swallowed=message.is_swallowed)
                        for bean, message in zip(note.beans, messages, strict=False)
                    ),
                    trace_type=TraceType.SUB_AFTER,
                    timestamp_ms=now_ms,
                    cost_ms=(now_ms - delivery.begun_ms) // len(context.messages),
                    success=context.success,
                    context_code=list(ConsumeReturnType).index(return_type),
                )
            )


def _beans(messages: Sequence[MessageExt]) -> tuple[TraceBean, ...]:
    beans = []
    for message in messages:
        keys, tags = _keys_and_tags(message.properties)
        beans.append(
            TraceBean(
                message_id=message.message_id,
                topic=message.topic,
                tags=tags,
                keys=keys,
                body_length=message.store_size,
                retry_times=message.reconsume_times,
            )
        )
    return tuple(beans)

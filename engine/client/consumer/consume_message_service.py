"""What calls the listener (RocketMQ: ``ConsumeMessageService``)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from engine.client.queues.process_queue import ProcessQueue
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_properties import PROPERTY_CONSUME_START_TIME, PROPERTY_RETRY_TOPIC
from engine.runtime.port import Runtime

_log = logging.getLogger("glassmq.client")


class CMResult(StrEnum):
    """How a single direct consumption ended, as RocketMQ's tools spell it."""

    CR_SUCCESS = "CR_SUCCESS"
    CR_LATER = "CR_LATER"
    CR_ROLLBACK = "CR_ROLLBACK"
    CR_COMMIT = "CR_COMMIT"
    CR_THROW_EXCEPTION = "CR_THROW_EXCEPTION"
    CR_RETURN_NULL = "CR_RETURN_NULL"


@dataclass(frozen=True, slots=True)
class ConsumeMessageDirectlyResult:
    """The reply of code 309."""

    consume_result: CMResult
    remark: str | None
    spent_time_ms: int
    order: bool = False
    auto_commit: bool = True


class ConsumeMessageService(Protocol):
    """Takes pulled messages and has them consumed."""

    @property
    def is_orderly(self) -> bool:
        """Whether messages of a queue are consumed one after the other."""
        ...

    def start(self) -> None:
        """Begin to consume."""
        ...

    async def shutdown(self, await_termination_ms: int) -> None:
        """Begin nothing new, and wait at most that long for running listeners."""
        ...

    @property
    def core_pool_size(self) -> int:
        """How many listener calls run at a time (``getCorePoolSize``)."""
        ...

    def update_core_pool_size(self, count: int) -> bool:
        """Change that while the consumer runs; False, and nothing changes, when ``count`` is not allowed."""
        ...

    async def submit_consume_request(
        self,
        messages: Sequence[MessageExt],
        process_queue: ProcessQueue,
        message_queue: MessageQueue,
        dispatch_to_consume: bool,
    ) -> None:
        """Messages have been put into ``process_queue``; ``dispatch_to_consume`` is what that returned."""
        ...

    async def consume_message_directly(
        self, message: MessageExt, broker_name: str | None
    ) -> ConsumeMessageDirectlyResult:
        """Call the listener with one message, outside of everything else: a tool asked for it."""
        ...


def show_to_listener(messages: Sequence[MessageExt], group_retry_topic: str, now_ms: int) -> None:
    """Show retried messages under their own topic; note when the listener got them."""
    now = str(now_ms)
    for message in messages:
        real_topic = message.properties.get(PROPERTY_RETRY_TOPIC)
        if real_topic is not None and message.topic == group_retry_topic:
            message.topic = real_topic
        message.properties[PROPERTY_CONSUME_START_TIME] = now


async def call_directly(
    runtime: Runtime,
    group: str,
    listener: Callable[..., Any],
    message: MessageExt,
    context: object,
    results: Mapping[object, CMResult],
) -> ConsumeMessageDirectlyResult:
    """Call ``listener`` for a tool. ``results`` says what each status means to the tool."""
    started_us = runtime.clock.monotonic_us()
    remark = None
    try:
        returned = await runtime.call_listener(listener, (message,), context)
    except Exception as error:
        _log.exception("group %s: the listener failed with a message of a tool", group)
        result, remark = CMResult.CR_THROW_EXCEPTION, f"{type(error).__name__}: {error}"
    else:
        result = results.get(returned, CMResult.CR_RETURN_NULL)
    spent_ms = (runtime.clock.monotonic_us() - started_us) // 1000
    return ConsumeMessageDirectlyResult(result, remark, spent_ms)

"""The base of the services that call listeners (RocketMQ: ``ConsumeMessageService``)."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Generic, TypeVar

from engine.client.callbacks.consume_concurrently import ConsumeConcurrentlyContext, ConsumeConcurrentlyStatus
from engine.client.callbacks.consume_message_hook import ConsumeMessageHooks, ConsumeReturnType
from engine.client.callbacks.consume_orderly import ConsumeOrderlyContext, ConsumeOrderlyStatus
from engine.client.consumer.consumer_stats_manager import ConsumerStatsManager
from engine.client.foundation.consume_workers import ConsumeWorkers, Request, is_being_cancelled
from engine.client.queues.consumer_config import PushConsumerConfig
from engine.client.queues.offset_store import OffsetStore
from engine.client.queues.process_queue import ProcessQueue
from engine.client.queues.rebalance_impl import RebalanceImpl
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_properties import PROPERTY_RETRY_TOPIC
from engine.protocol.names import retry_topic
from engine.runtime.port import Runtime
from engine.runtime.step import step

_log = logging.getLogger("glassmq.client")


#: The status that a listener returns.
Status = TypeVar("Status", ConsumeConcurrentlyStatus, ConsumeOrderlyStatus)


class CMResult(StrEnum):
    """The result of a direct consumption, as RocketMQ's tools spell it."""

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


@dataclass(frozen=True, slots=True)
class ConsumeParts:
    """The parts of a consumer that a service uses, whatever the kind of its listener.

    :ivar listener: registered by the user, ``listener(messages, context)``.
    """

    runtime: Runtime
    group: str
    config: PushConsumerConfig
    listener: Callable[[Sequence[MessageExt], Any], Any]
    rebalance: RebalanceImpl
    offset_store: OffsetStore
    stats: ConsumerStatsManager
    hooks: ConsumeMessageHooks


class ConsumeMessageService(ABC, Generic[Request, Status]):
    """A service that has pulled messages consumed by workers, one request after the other.

    :cvar is_orderly: whether messages of a queue are consumed one after the other.
    """

    is_orderly: ClassVar[bool]
    #: The status of a listener call that fails, or returns no status.
    _failure: Status

    def __init__(self, parts: ConsumeParts) -> None:
        self._runtime = parts.runtime
        self._group = parts.group
        self._retry_topic = retry_topic(parts.group)
        self._config = parts.config
        self._listener = parts.listener
        self._rebalance = parts.rebalance
        self._offset_store = parts.offset_store
        self._stats = parts.stats
        self._hooks = parts.hooks
        self._workers = ConsumeWorkers(parts.group, self._run)

    def start(self) -> None:
        """Start to consume."""
        self._workers.resize(self._config.consume_thread_min)

    async def shutdown(self, await_termination_ms: int) -> None:
        """Start no new requests, and wait at most that long for running listeners.

        Requests that no worker has begun are left to the next owner of the queue.
        """
        await self._workers.shutdown(await_termination_ms)

    @property
    def core_pool_size(self) -> int:
        """Return how many listener calls run at a time (``getCorePoolSize``)."""
        return self._workers.size

    def update_core_pool_size(self, count: int) -> bool:
        """Change the pool size of a running consumer; False without effect if ``count`` is not allowed."""
        return self._workers.update_core_pool_size(count, self._config.consume_thread_max)

    @abstractmethod
    async def _run(self, request: Request) -> None:
        """Process one request in a worker."""

    @abstractmethod
    async def submit_consume_request(
        self,
        messages: Sequence[MessageExt],
        process_queue: ProcessQueue,
        message_queue: MessageQueue,
        dispatch_to_consume: bool,
    ) -> None:
        """Submit messages that were put into ``process_queue``; ``dispatch_to_consume`` is what that returned."""

    @abstractmethod
    async def consume_message_directly(
        self, message: MessageExt, broker_name: str | None
    ) -> ConsumeMessageDirectlyResult:
        """Call the listener with one message on behalf of a tool, independently of other messages."""

    def _drop(self, queue: MessageQueue, messages: Sequence[MessageExt]) -> None:
        """Drop broadcast messages: every member receives them, so one member's failure causes no redelivery."""
        for message in messages:
            _log.warning("group %s: broadcast message %s failed and is dropped", self._group, message.message_id)
            self._hooks.dropped(queue, message)

    async def _call_listener(
        self, messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext | ConsumeOrderlyContext
    ) -> tuple[Status, ConsumeReturnType]:
        await step("calls the listener")
        failure = self._failure
        try:
            returned = await self._runtime.call_listener(self._listener, tuple(messages), context)
        except (Exception, asyncio.CancelledError):
            if is_being_cancelled():
                raise
            _log.exception(
                "group %s: the listener failed with messages of %s: that means %s",
                self._group,
                context.message_queue,
                failure.value,
            )
            return failure, ConsumeReturnType.EXCEPTION
        if not isinstance(returned, type(failure)):
            _log.warning(
                "group %s: for messages of %s the listener returned %r, no %s: that means %s",
                self._group,
                context.message_queue,
                returned,
                type(failure).__name__,
                failure.value,
            )
            return failure, ConsumeReturnType.RETURNNULL
        return returned, ConsumeReturnType.FAILED if returned is failure else ConsumeReturnType.SUCCESS

    async def _call_directly(
        self, message: MessageExt, context: object, results: Mapping[object, CMResult]
    ) -> ConsumeMessageDirectlyResult:
        """Call the listener for a tool. ``results`` maps each status to the tool's result."""
        show_to_listener((message,), self._retry_topic, self._runtime.clock.now_ms())
        started_us = self._runtime.clock.monotonic_us()
        remark = None
        try:
            returned = await self._runtime.call_listener(self._listener, (message,), context)
        except Exception as error:
            _log.exception("group %s: the listener failed with a message of a tool", self._group)
            result, remark = CMResult.CR_THROW_EXCEPTION, f"{type(error).__name__}: {error}"
        else:
            result = results.get(returned, CMResult.CR_RETURN_NULL)
        spent_ms = (self._runtime.clock.monotonic_us() - started_us) // 1000
        return ConsumeMessageDirectlyResult(result, remark, spent_ms)


def show_to_listener(messages: Sequence[MessageExt], group_retry_topic: str, now_ms: int) -> None:
    """Give retried messages their original topic, and record when the listener received them."""
    for message in messages:
        real_topic = message.properties.get(PROPERTY_RETRY_TOPIC)
        if real_topic is not None and message.topic == group_retry_topic:
            message.topic = real_topic
        message.consume_started_ms = now_ms

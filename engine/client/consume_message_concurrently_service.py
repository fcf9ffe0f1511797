"""Calls a concurrent listener from many workers at once (RocketMQ: ``ConsumeMessageConcurrentlyService``).

Messages of one queue may be consumed side by side and finish in any order. The progress that is stored is the smallest
offset not finished yet. What the listener fails to consume is given back to the broker, which delivers it again later,
from the retry topic; only when that fails it stays here and is tried again after 5 s.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from engine.client.consume_concurrently import (
    ConsumeConcurrentlyContext,
    ConsumeConcurrentlyStatus,
    MessageListenerConcurrently,
)
from engine.client.consume_message_service import CMResult, ConsumeMessageDirectlyResult
from engine.client.consumer_config import PushConsumerConfig
from engine.client.consumer_stats_manager import ConsumerStatsManager
from engine.client.errors import MQClientError
from engine.client.message_back_sender import FIRST_RETRY_DELAY_LEVEL
from engine.client.offset_store import OffsetStore
from engine.client.process_queue import ProcessQueue
from engine.client.rebalance_impl import RebalanceImpl
from engine.protocol.enums import MessageModel
from engine.protocol.message import MessageExt
from engine.protocol.message_properties import PROPERTY_CONSUME_START_TIME, PROPERTY_RETRY_TOPIC
from engine.protocol.message_queue import MessageQueue
from engine.protocol.names import retry_topic
from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.port import Runtime
from engine.runtime.step import step

_log = logging.getLogger("glassmq.client")

#: ProcessQueue.cleanExpiredMsg looks at no more messages of a queue in one round.
EXPIRED_MESSAGES_PER_ROUND = 16

#: Gives a message back with a delay level. Raises MQClientError.
SendBack = Callable[[MessageExt, int], Awaitable[None]]


@dataclass(slots=True, eq=False)
class ConsumeRequest:
    """Messages for one call of the listener."""

    messages: list[MessageExt]
    process_queue: ProcessQueue
    message_queue: MessageQueue


class ConsumeMessageConcurrentlyService:
    """Implements :class:`~engine.client.consume_message_service.ConsumeMessageService`.

    The waiting requests are bounded by the flow control of pulling: so many messages per owned queue.
    """

    is_orderly = False

    def __init__(
        self,
        runtime: Runtime,
        group: str,
        config: PushConsumerConfig,
        listener: MessageListenerConcurrently,
        rebalance: RebalanceImpl,
        offset_store: OffsetStore,
        send_back: SendBack,
        stats: ConsumerStatsManager,
    ) -> None:
        self._runtime = runtime
        self._group = group
        self._retry_topic = retry_topic(group)
        self._config = config
        self._listener = listener
        self._rebalance = rebalance
        self._offset_store = offset_store
        self._send_back = send_back
        self._stats = stats
        self._requests: asyncio.Queue[ConsumeRequest | None] = asyncio.Queue()
        self._background = BackgroundTasks(f"consume service of {group}")
        self._workers: list[asyncio.Task[None]] = []
        self._is_stopping = False

    # --- life ------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """See :class:`ConsumeMessageService`."""
        for number in range(self._config.consume_thread_max):
            self._workers.append(self._background.spawn(self._work(), f"worker-{number}"))
        self._background.every(self._config.consume_timeout_ms, self.clean_expired_messages, "expired message cleaner")

    async def shutdown(self, await_termination_ms: int) -> None:
        """See :class:`ConsumeMessageService`. What no worker has begun is left to the next owner of the queue."""
        self._is_stopping = True
        for _ in self._workers:
            self._requests.put_nowait(None)
        workers = [worker for worker in self._workers if worker is not asyncio.current_task()]
        try:
            async with asyncio.timeout(await_termination_ms / 1000):
                await asyncio.gather(*workers, return_exceptions=True)
        except TimeoutError:
            _log.warning(
                "group %s: listeners still ran after %d ms; their messages will be delivered again",
                self._group,
                await_termination_ms,
            )
        await self._background.stop()

    # --- the way of a message --------------------------------------------------------------------------------------

    async def submit_consume_request(
        self,
        messages: Sequence[MessageExt],
        process_queue: ProcessQueue,
        message_queue: MessageQueue,
        dispatch_to_consume: bool,
    ) -> None:
        """See :class:`ConsumeMessageService`. Cut into pieces of ``consume_message_batch_max_size``."""
        size = self._config.consume_message_batch_max_size
        for start in range(0, len(messages), size):
            self._submit(ConsumeRequest(list(messages[start : start + size]), process_queue, message_queue))

    def _submit(self, request: ConsumeRequest) -> None:
        self._requests.put_nowait(request)

    async def _work(self) -> None:
        while True:
            request = await self._requests.get()
            if request is None or self._is_stopping:
                return
            try:
                await self._run(request)
            except Exception:
                _log.exception("group %s: a consume request of %s failed", self._group, request.message_queue)

    async def _run(self, request: ConsumeRequest) -> None:
        await step("checks whether the queue was dropped before consuming")
        if request.process_queue.dropped:
            _log.info("group %s: %s is not ours any more, its messages are left", self._group, request.message_queue)
            return
        context = ConsumeConcurrentlyContext(request.message_queue)
        self._prepare(request.messages)
        started_us = self._runtime.clock.monotonic_us()
        status = await self._call_listener(request.messages, context)
        self._count(request, status, (self._runtime.clock.monotonic_us() - started_us) // 1000)
        await step("checks whether the queue was dropped after consuming")
        if request.process_queue.dropped:
            _log.warning(
                "group %s: %s was given up while its messages were consumed; they will be delivered again",
                self._group,
                request.message_queue,
            )
            return
        await self._process_consume_result(status, context, request)

    def _prepare(self, messages: Sequence[MessageExt]) -> None:
        """Show retried messages under their own topic; note when the listener got them."""
        now = str(self._runtime.clock.now_ms())
        for message in messages:
            real_topic = message.properties.get(PROPERTY_RETRY_TOPIC)
            if real_topic is not None and message.topic == self._retry_topic:
                message.topic = real_topic
            message.properties[PROPERTY_CONSUME_START_TIME] = now

    async def _call_listener(
        self, messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext
    ) -> ConsumeConcurrentlyStatus:
        await step("calls the listener")
        try:
            returned = await self._runtime.call_listener(self._listener, tuple(messages), context)
        except (Exception, asyncio.CancelledError):
            if _is_being_cancelled():
                raise
            _log.exception("group %s: the listener failed; the messages will be delivered again", self._group)
            return ConsumeConcurrentlyStatus.RECONSUME_LATER
        if not isinstance(returned, ConsumeConcurrentlyStatus):
            _log.warning(
                "group %s: the listener returned %r instead of a ConsumeConcurrentlyStatus; the messages will be "
                "delivered again",
                self._group,
                returned,
            )
            return ConsumeConcurrentlyStatus.RECONSUME_LATER
        return returned

    def _count(self, request: ConsumeRequest, status: ConsumeConcurrentlyStatus, elapsed_ms: int) -> None:
        stats = self._stats.of_topic(request.message_queue.topic)
        stats.consume_calls += 1
        stats.consume_ms += elapsed_ms
        if status is ConsumeConcurrentlyStatus.CONSUME_SUCCESS:
            stats.consumed_messages += len(request.messages)
        else:
            stats.failed_messages += len(request.messages)

    async def _process_consume_result(
        self, status: ConsumeConcurrentlyStatus, context: ConsumeConcurrentlyContext, request: ConsumeRequest
    ) -> None:
        """Give back what failed, take what is finished out of the tree, note the progress."""
        if status is ConsumeConcurrentlyStatus.CONSUME_SUCCESS:
            first_failed = min(context.ack_index, len(request.messages) - 1) + 1
        else:
            first_failed = 0
        failed = request.messages[max(0, first_failed) :]
        kept: list[MessageExt] = []
        if self._config.message_model is MessageModel.BROADCASTING:
            for message in failed:
                _log.warning("group %s: broadcast message %s failed and is dropped", self._group, message.message_id)
        else:
            for message in failed:
                if not await self._give_back(message, context.delay_level_when_next_consume):
                    message.reconsume_times += 1
                    kept.append(message)
        if kept:
            self._submit_later(ConsumeRequest(kept, request.process_queue, request.message_queue))
        finished = [message for message in request.messages if message not in kept]
        await step("removes consumed messages")
        offset = request.process_queue.remove_messages(finished)
        await step("updates the offset")
        if offset >= 0 and not request.process_queue.dropped:
            self._offset_store.update_offset(request.message_queue, offset, increase_only=True)

    async def _give_back(self, message: MessageExt, delay_level: int) -> bool:
        try:
            await self._send_back(message, delay_level)
        except MQClientError as error:
            _log.warning(
                "group %s: message %s could not be given back and is consumed again here in %d ms: %s",
                self._group,
                message.message_id,
                self._config.consume_again_delay_ms,
                error,
            )
            return False
        return True

    def _submit_later(self, request: ConsumeRequest) -> None:
        asyncio.get_running_loop().call_later(self._config.consume_again_delay_ms / 1000, self._submit, request)

    # --- listeners that take too long ------------------------------------------------------------------------------

    async def clean_expired_messages(self) -> None:
        """Give back what a listener has held for longer than ``consume_timeout_ms``, and let the progress go on.

        The listener goes on too: the message is consumed at least twice.
        """
        for queue, process_queue in list(self._rebalance.process_queue_table.items()):
            for _ in range(EXPIRED_MESSAGES_PER_ROUND):
                await step("looks for expired messages")
                message = process_queue.first_expired_message(self._config.consume_timeout_ms)
                if message is None or not await self._give_back(message, FIRST_RETRY_DELAY_LEVEL):
                    break
                await step("removes an expired message")
                process_queue.remove_if_first(message)
                _log.warning("group %s: message %s of %s expired", self._group, message.message_id, queue)

    # --- tools -----------------------------------------------------------------------------------------------------

    async def consume_message_directly(
        self, message: MessageExt, broker_name: str | None
    ) -> ConsumeMessageDirectlyResult:
        """See :class:`ConsumeMessageService`."""
        queue = MessageQueue(message.topic, broker_name or "", message.queue_id)
        self._prepare((message,))
        started_us = self._runtime.clock.monotonic_us()
        remark = None
        try:
            returned = await self._runtime.call_listener(self._listener, (message,), ConsumeConcurrentlyContext(queue))
        except Exception as error:
            _log.exception("group %s: the listener failed with a message of a tool", self._group)
            result, remark = CMResult.CR_THROW_EXCEPTION, f"{type(error).__name__}: {error}"
        else:
            result = _RESULT_OF_STATUS.get(returned, CMResult.CR_RETURN_NULL)
        spent_ms = (self._runtime.clock.monotonic_us() - started_us) // 1000
        return ConsumeMessageDirectlyResult(result, remark, spent_ms)


def _is_being_cancelled() -> bool:
    """Whether a CancelledError is meant for this worker: a listener may bring one of its own, from within."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


_RESULT_OF_STATUS: dict[object, CMResult] = {
    ConsumeConcurrentlyStatus.CONSUME_SUCCESS: CMResult.CR_SUCCESS,
    ConsumeConcurrentlyStatus.RECONSUME_LATER: CMResult.CR_LATER,
}

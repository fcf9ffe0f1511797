"""The service that calls a concurrent listener from many parallel workers (RocketMQ:
``ConsumeMessageConcurrentlyService``).

Messages of one queue may be consumed in parallel and finish in any order. The stored progress is the smallest offset
not finished yet. A message that the listener fails to consume is sent back to the broker, which delivers it again
later, from the retry topic; only if that fails, it stays here and is tried again after 5 s. A broadcast message that
fails is dropped. An unreadable message takes the same path without a listener, and becomes a dead letter immediately.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from engine.client.callbacks.consume_concurrently import (
    ConsumeConcurrentlyContext,
    ConsumeConcurrentlyStatus,
)
from engine.client.consumer.consume_message_service import (
    CMResult,
    ConsumeMessageDirectlyResult,
    ConsumeMessageService,
    ConsumeParts,
    show_to_listener,
)
from engine.client.consumer.message_back_sender import FIRST_RETRY_DELAY_LEVEL
from engine.client.foundation.errors import MQClientError
from engine.client.queues.process_queue import ProcessQueue
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.enums import MessageModel
from engine.protocol.message.message import MessageExt
from engine.runtime.future_waits import shield
from engine.runtime.step import step

_log = logging.getLogger("glassmq.client")

#: The maximum number of messages that ProcessQueue.cleanExpiredMsg checks per queue and round.
EXPIRED_MESSAGES_PER_ROUND = 16


@dataclass(slots=True, eq=False)
class ConsumeRequest:
    """The messages of one listener call."""

    messages: list[MessageExt]
    process_queue: ProcessQueue
    message_queue: MessageQueue


class ConsumeMessageConcurrentlyService(ConsumeMessageService[ConsumeRequest, ConsumeConcurrentlyStatus]):
    """A service for concurrent listeners.

    :param send_back: sends a message back with a delay level. Raises MQClientError.
    """

    is_orderly = False
    _failure = ConsumeConcurrentlyStatus.RECONSUME_LATER

    def __init__(self, parts: ConsumeParts, send_back: Callable[[MessageExt, int], Awaitable[None]]) -> None:
        super().__init__(parts)
        self._send_back = send_back

    def start(self) -> None:
        """Start to consume, and to check for listeners that take too long."""
        super().start()
        background = self._workers.background
        background.every(self._config.consume_timeout_ms, self.clean_expired_messages, "expired message cleaner")

    # --- path of a message -----------------------------------------------------------------------------------------

    async def submit_consume_request(
        self,
        messages: Sequence[MessageExt],
        process_queue: ProcessQueue,
        message_queue: MessageQueue,
        dispatch_to_consume: bool,
    ) -> None:
        """Split messages into batches of ``consume_message_batch_max_size``; unreadable ones are submitted one
        by one.
        """
        size = self._config.consume_message_batch_max_size
        for is_readable, group in groupby(messages, lambda message: message.unreadable is None):
            alike = list(group)
            step_size = size if is_readable else 1
            for start in range(0, len(alike), step_size):
                part = alike[start : start + step_size]
                self._workers.submit(ConsumeRequest(part, process_queue, message_queue))

    async def _run(self, request: ConsumeRequest) -> None:
        await step("checks whether the queue was dropped before consuming")
        if request.process_queue.dropped:
            _log.info("group %s: %s is not ours any more, its messages are left", self._group, request.message_queue)
            return
        context = ConsumeConcurrentlyContext(request.message_queue)
        if request.messages[0].unreadable is not None:
            await self._process_consume_result(ConsumeConcurrentlyStatus.RECONSUME_LATER, context, request)
            return
        show_to_listener(request.messages, self._retry_topic, self._runtime.clock.now_ms())
        hook_context = self._hooks.before(self._group, request.message_queue, request.messages)
        started_us = self._runtime.clock.monotonic_us()
        status, return_type = await self._call_listener(request.messages, context)
        elapsed_ms = (self._runtime.clock.monotonic_us() - started_us) // 1000
        stats = self._stats.of_topic(request.message_queue.topic)
        stats.consume_calls += 1
        stats.consume_ms += elapsed_ms
        self._hooks.after(
            hook_context,
            status=status.value,
            success=status is ConsumeConcurrentlyStatus.CONSUME_SUCCESS,
            return_type=return_type,
            is_too_late=elapsed_ms >= self._config.consume_timeout_ms,
        )
        await step("checks whether the queue was dropped after consuming")
        if request.process_queue.dropped:
            _log.warning(
                "group %s: %s was given up while its messages were consumed; they will be delivered again",
                self._group,
                request.message_queue,
            )
            return
        await self._process_consume_result(status, context, request)

    async def _process_consume_result(
        self, status: ConsumeConcurrentlyStatus, context: ConsumeConcurrentlyContext, request: ConsumeRequest
    ) -> None:
        """Send back failed messages, remove finished ones from the tree, and update the progress."""
        done_count = 0
        if status is ConsumeConcurrentlyStatus.CONSUME_SUCCESS:
            done_count = min(context.ack_index + 1, len(request.messages))
        failed = request.messages[done_count:]
        stats = self._stats.of_topic(request.message_queue.topic)
        stats.consumed_messages += done_count
        stats.failed_messages += len(failed)
        kept: list[MessageExt] = []
        if self._config.message_model is MessageModel.BROADCASTING:
            self._drop(request.message_queue, failed)
        else:
            for message in failed:
                if not await self._give_back(request.process_queue, message, context.delay_level_when_next_consume):
                    message.reconsume_times += 1
                    kept.append(message)
        if kept:
            again = ConsumeRequest(kept, request.process_queue, request.message_queue)
            self._workers.submit_later(again, self._config.consume_again_delay_ms)
        finished = [message for message in request.messages if message not in kept]
        await step("removes consumed messages")
        offset = request.process_queue.remove_messages(finished)
        for message in finished:
            request.process_queue.given_back.pop(message.queue_offset, None)
        await step("updates the offset")
        if offset >= 0 and not request.process_queue.dropped:
            self._offset_store.update_offset(request.message_queue, offset, increase_only=True)

    async def _give_back(self, process_queue: ProcessQueue, message: MessageExt, delay_level: int) -> bool:
        """Send a message back and return whether the broker has it.

        This is done once, although both a late result of the listener and the cleaner may request it; RocketMQ's broker
        then gets it twice.
        """
        known = process_queue.given_back.get(message.queue_offset)
        if known is not None and await shield(known):
            return True
        outcome: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        process_queue.given_back[message.queue_offset] = outcome
        try:
            await self._send_back(message, delay_level)
            outcome.set_result(True)
        except MQClientError as error:
            _log.warning(
                "group %s: message %s could not be given back and is consumed again here in %d ms: %s",
                self._group,
                message.message_id,
                self._config.consume_again_delay_ms,
                error,
            )
            return False
        finally:
            if not outcome.done():
                outcome.set_result(False)
                del process_queue.given_back[message.queue_offset]
        return True

    # --- listeners that take too long ------------------------------------------------------------------------------

    async def clean_expired_messages(self) -> None:
        """Send back messages that a listener has held for longer than ``consume_timeout_ms``, and let the progress
        continue.

        The listener also continues: the message is consumed at least twice. A message that only waits for a worker is
        not late. In a broadcasting group the message goes to a retry topic that no member reads, as in RocketMQ; it is
        lost unless its listener still succeeds.
        """
        for queue, process_queue in list(self._rebalance.process_queue_table.items()):
            for _ in range(EXPIRED_MESSAGES_PER_ROUND):
                await step("looks for expired messages")
                message = process_queue.first_expired_message(self._config.consume_timeout_ms)
                if message is None or not await self._give_back(process_queue, message, FIRST_RETRY_DELAY_LEVEL):
                    break
                await step("removes an expired message")
                process_queue.remove_if_first(message)
                _log.warning("group %s: message %s of %s expired", self._group, message.message_id, queue)

    # --- tools -----------------------------------------------------------------------------------------------------

    async def consume_message_directly(
        self, message: MessageExt, broker_name: str | None
    ) -> ConsumeMessageDirectlyResult:
        queue = MessageQueue(message.topic, broker_name or "", message.queue_id)
        return await self._call_directly(message, ConsumeConcurrentlyContext(queue), _RESULT_OF_STATUS)


_RESULT_OF_STATUS: dict[object, CMResult] = {
    ConsumeConcurrentlyStatus.CONSUME_SUCCESS: CMResult.CR_SUCCESS,
    ConsumeConcurrentlyStatus.RECONSUME_LATER: CMResult.CR_LATER,
}

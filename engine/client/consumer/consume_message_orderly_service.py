"""The service that calls an orderly listener, one message of a queue after the other (RocketMQ:
``ConsumeMessageOrderlyService``).

Three locks keep a queue in order::

    broker lock             one client per queue        RebalanceLockManager at the broker, a lease
    message queue lock      one worker per queue        MessageQueueLock, local, from here to the end of a slice
    consume lock            no listener call while the  ProcessQueue.consume_lock, local, around each call;
                            queue is released           releasing the queue waits for it

A worker takes messages from ``msg_tree_map`` into ``consuming_msg_orderly_tree_map``, calls the listener, and commits
them or puts them back. A failed message is not sent back to the broker as by a concurrent consumer: it is tried again
here, and everything after it waits. An unreadable message is moved to the dead-letter topic immediately when it is
next.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

from engine.client.callbacks.consume_orderly import (
    SUSPEND_AS_CONFIGURED,
    ConsumeOrderlyContext,
    ConsumeOrderlyStatus,
)
from engine.client.consumer.consume_message_service import (
    CMResult,
    ConsumeMessageDirectlyResult,
    ConsumeMessageService,
    ConsumeParts,
    show_to_listener,
)
from engine.client.foundation.errors import MQClientError
from engine.client.queues.message_queue_lock import MessageQueueLock
from engine.client.queues.process_queue import ProcessQueue
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.enums import MessageModel
from engine.protocol.message.message import MessageExt
from engine.runtime.step import step

_log = logging.getLogger("glassmq.client")

#: ConsumeMessageOrderlyService.start: the first lockAll.
FIRST_LOCK_ALL_AFTER_MS = 1_000
#: ConsumeMessageOrderlyService.submitConsumeRequestLater: the bounds of a requested suspension.
SUSPEND_MIN_MS, SUSPEND_MAX_MS = 10, 30_000


@dataclass(slots=True, eq=False)
class OrderlyConsumeRequest:
    """A request for a worker to consume a queue.

    :ivar slice_began_us: when a worker began with it.
    """

    process_queue: ProcessQueue
    message_queue: MessageQueue
    slice_began_us: int = 0


class ConsumeMessageOrderlyService(ConsumeMessageService[OrderlyConsumeRequest, ConsumeOrderlyStatus]):
    """A service for orderly listeners.

    :param send_exhausted: moves a message to the dead-letter topic. Raises MQClientError.
    """

    is_orderly = True
    _failure = ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT

    def __init__(
        self,
        parts: ConsumeParts,
        message_queue_lock: MessageQueueLock,
        send_exhausted: Callable[[MessageExt], Awaitable[None]],
    ) -> None:
        super().__init__(parts)
        self._message_queue_lock = message_queue_lock
        self._send_exhausted = send_exhausted
        #: Requests in progress, by queue; for diagrams.
        self.slices: dict[MessageQueue, OrderlyConsumeRequest] = {}

    def start(self) -> None:
        """Start to consume, and to renew broker locks. The consumer releases them after it stored the progress."""
        super().start()
        if self._rebalance.needs_broker_locks:
            self._workers.background.every(
                self._config.rebalance_lock_interval_ms,
                self._rebalance.lock_all,
                "lock renewal",
                FIRST_LOCK_ALL_AFTER_MS,
            )

    # --- requests --------------------------------------------------------------------------------------------------

    async def submit_consume_request(
        self,
        messages: Sequence[MessageExt],
        process_queue: ProcessQueue,
        message_queue: MessageQueue,
        dispatch_to_consume: bool,
    ) -> None:
        """Submit a request for the queue. One chain of requests per queue is enough, because it finds new messages."""
        if dispatch_to_consume:
            self._workers.submit(OrderlyConsumeRequest(process_queue, message_queue))

    def _submit_later(self, request: OrderlyConsumeRequest, delay_ms: int) -> None:
        if delay_ms == SUSPEND_AS_CONFIGURED:
            delay_ms = self._config.suspend_current_queue_time_ms
        delay_ms = min(max(delay_ms, SUSPEND_MIN_MS), SUSPEND_MAX_MS)
        # A task, not a bare timer, so that the wait has a name: it is what a blocked queue waits for.
        self._spawn(self._submit_after(request, delay_ms), "consume later", request.message_queue)

    async def _submit_after(self, request: OrderlyConsumeRequest, delay_ms: int) -> None:
        await asyncio.sleep(delay_ms / 1_000)
        self._workers.submit(OrderlyConsumeRequest(request.process_queue, request.message_queue))

    def _spawn(self, work: Coroutine[Any, Any, None], name: str, queue: MessageQueue) -> None:
        if self._workers.is_stopping:
            work.close()
        else:
            place = f"{queue.topic} {queue.broker_name} {queue.queue_id}"
            self._workers.background.spawn(work, f"{name} {place}")

    def _try_lock_later_and_reconsume(self, request: OrderlyConsumeRequest, delay_ms: int) -> None:
        """Lock the queue at the broker after ``delay_ms``, then submit the request again."""
        self._spawn(self._lock_and_reconsume(request, delay_ms), "lock retry", request.message_queue)

    async def _lock_and_reconsume(self, request: OrderlyConsumeRequest, delay_ms: int) -> None:
        await asyncio.sleep(delay_ms / 1_000)
        await step("checks whether the queue was dropped before locking")
        if request.process_queue.dropped:
            # RocketMQ locks it nevertheless, and excludes the next owner until that lock has expired.
            return
        is_locked = await self._rebalance.lock(request.message_queue)
        config = self._config
        self._submit_later(request, config.consume_again_shortly_ms if is_locked else config.lock_refused_delay_ms)

    # --- a worker's slice of a queue -------------------------------------------------------------------------------

    async def _run(self, request: OrderlyConsumeRequest) -> None:
        queue, process_queue = request.message_queue, request.process_queue
        await step("checks whether the queue was dropped before consuming")
        if process_queue.dropped:
            _log.info("group %s: %s is not ours any more, its messages are left", self._group, queue)
            return
        async with self._message_queue_lock.fetch_lock(queue):
            await step("checks the broker lock")
            if self._may_consume(process_queue):
                request.slice_began_us = self._runtime.clock.monotonic_us()
                self.slices[queue] = request
                try:
                    await self._consume_continuously(request)
                finally:
                    if self.slices.get(queue) is request:
                        del self.slices[queue]
            elif not process_queue.dropped:
                self._try_lock_later_and_reconsume(request, self._config.try_lock_delay_ms)

    def _may_consume(self, process_queue: ProcessQueue) -> bool:
        """Return whether this client owns the broker's lock, as far as it knows."""
        if not self._rebalance.needs_broker_locks:
            return True
        return process_queue.locked and not process_queue.is_lock_expired

    async def _consume_continuously(self, request: OrderlyConsumeRequest) -> None:
        """Consume until nothing is left, a call fails, the lock is lost, or the slice is over."""
        config, process_queue = self._config, request.process_queue
        while True:
            await step("checks whether to go on with the queue")
            if process_queue.dropped:
                _log.info("group %s: %s is not ours any more", self._group, request.message_queue)
                return
            if not self._may_consume(process_queue):
                _log.warning("group %s: the lock of %s is not ours, or too old", self._group, request.message_queue)
                self._try_lock_later_and_reconsume(request, config.consume_again_shortly_ms)
                return
            elapsed_ms = (self._runtime.clock.monotonic_us() - request.slice_began_us) // 1000
            if elapsed_ms > config.max_time_consume_continuously_ms:
                self._submit_later(request, config.consume_again_shortly_ms)
                return
            await step("takes messages")
            messages = process_queue.take_messages(config.consume_message_batch_max_size)
            if not messages:
                return
            readable = list(takewhile(lambda message: message.unreadable is None, messages))
            process_queue.make_message_to_consume_again(messages[len(readable) or 1 :])
            if not await (self._consume(request, readable) if readable else self._pass_over(request, messages[0])):
                return

    async def _pass_over(self, request: OrderlyConsumeRequest, message: MessageExt) -> bool:
        """Move an unreadable message to the dead-letter topic without the listener. Return whether to continue with the
        queue.
        """
        process_queue = request.process_queue
        context = ConsumeOrderlyContext(request.message_queue)
        # Other messages in progress wait for the listener's COMMIT or ROLLBACK, and this one waits with them.
        context.auto_commit = len(process_queue.consuming_msg_orderly_tree_map) == 1
        async with process_queue.consume_lock:
            await step("checks whether the queue was dropped under the consume lock")
            if process_queue.dropped:
                return False
            self._stats.of_topic(request.message_queue.topic).failed_messages += 1
            return await self._suspend((message,), context, request)

    async def _consume(self, request: OrderlyConsumeRequest, messages: list[MessageExt]) -> bool:
        """Call the listener once and handle its result. Return whether to continue with the queue."""
        context = ConsumeOrderlyContext(request.message_queue)
        show_to_listener(messages, self._retry_topic, self._runtime.clock.now_ms())
        hook_context = self._hooks.before(self._group, request.message_queue, messages)
        started_us = self._runtime.clock.monotonic_us()
        async with request.process_queue.consume_lock:
            await step("checks whether the queue was dropped under the consume lock")
            if request.process_queue.dropped:
                _log.info("group %s: %s was lost before the call", self._group, request.message_queue)
                return False
            status, return_type = await self._call_listener(messages, context)
        elapsed_ms = (self._runtime.clock.monotonic_us() - started_us) // 1000
        self._hooks.after(
            hook_context,
            status=status.value,
            success=status in (ConsumeOrderlyStatus.SUCCESS, ConsumeOrderlyStatus.COMMIT),
            return_type=return_type,
            is_too_late=elapsed_ms >= self._config.consume_timeout_ms,
        )
        self._count(request.message_queue, len(messages), status, elapsed_ms)
        return await self._process_consume_result(messages, status, context, request)

    def _count(self, queue: MessageQueue, count: int, status: ConsumeOrderlyStatus, elapsed_ms: int) -> None:
        stats = self._stats.of_topic(queue.topic)
        stats.consume_calls += 1
        stats.consume_ms += elapsed_ms
        if status is ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT:
            stats.failed_messages += count
        else:
            stats.consumed_messages += count

    # --- results ---------------------------------------------------------------------------------------------------

    async def _process_consume_result(
        self,
        messages: Sequence[MessageExt],
        status: ConsumeOrderlyStatus,
        context: ConsumeOrderlyContext,
        request: OrderlyConsumeRequest,
    ) -> bool:
        """Commit the messages, put them back, or leave them in progress. Return whether to continue with the queue."""
        if status is ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT:
            return await self._suspend(messages, context, request)
        if context.auto_commit:
            if status is not ConsumeOrderlyStatus.SUCCESS:
                _log.warning("group %s: %s means SUCCESS while auto_commit is on", self._group, status.value)
            await self._commit(request)
        elif status is ConsumeOrderlyStatus.COMMIT:
            await self._commit(request)
        elif status is ConsumeOrderlyStatus.ROLLBACK:
            await step("puts the messages in hand back")
            request.process_queue.rollback()
            self._submit_later(request, context.suspend_current_queue_time_ms)
            return False
        return True

    async def _commit(self, request: OrderlyConsumeRequest) -> None:
        """Remove the messages in progress and update the progress, unless the queue was lost meanwhile."""
        await step("commits consumed messages")
        offset = request.process_queue.commit()
        await step("updates the offset")
        if offset >= 0 and not request.process_queue.dropped:
            self._offset_store.update_offset(request.message_queue, offset, increase_only=False)

    async def _suspend(
        self, messages: Sequence[MessageExt], context: ConsumeOrderlyContext, request: OrderlyConsumeRequest
    ) -> bool:
        """Have the messages wait for another try; those without tries left are moved to the dead-letter topic."""
        again = [message for message in messages if not await self._put_aside(request.message_queue, message)]
        if not again:
            if context.auto_commit:
                await self._commit(request)
            return True
        await step("puts failed messages back")
        # RocketMQ puts back the whole batch, so that a message it has just moved is consumed again.
        request.process_queue.make_message_to_consume_again(again)
        self._submit_later(request, context.suspend_current_queue_time_ms)
        return False

    async def _put_aside(self, queue: MessageQueue, message: MessageExt) -> bool:
        """Return whether ``message`` is in the dead-letter topic now; if not, this try counts
        (``checkReconsumeTimes``).
        """
        is_unreadable = message.unreadable is not None
        if is_unreadable and self._config.message_model is MessageModel.BROADCASTING:
            self._drop(queue, (message,))
            return True
        if is_unreadable or message.reconsume_times >= self._config.max_reconsume_times_orderly:
            try:
                await self._send_exhausted(message)
            except MQClientError as error:
                _log.warning("group %s: %s cannot be put aside yet: %s", self._group, message.message_id, error)
            else:
                return True
        message.reconsume_times += 1
        return False

    # --- tools -----------------------------------------------------------------------------------------------------

    async def consume_message_directly(
        self, message: MessageExt, broker_name: str | None
    ) -> ConsumeMessageDirectlyResult:
        context = ConsumeOrderlyContext(MessageQueue(message.topic, broker_name or "", message.queue_id))
        result = await self._call_directly(message, context, _RESULT_OF_STATUS)
        return replace(result, order=True, auto_commit=context.auto_commit)


_RESULT_OF_STATUS: dict[object, CMResult] = {
    ConsumeOrderlyStatus.SUCCESS: CMResult.CR_SUCCESS,
    ConsumeOrderlyStatus.ROLLBACK: CMResult.CR_ROLLBACK,
    ConsumeOrderlyStatus.COMMIT: CMResult.CR_COMMIT,
    ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT: CMResult.CR_LATER,
}

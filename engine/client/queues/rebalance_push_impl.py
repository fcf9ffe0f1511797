"""The rebalance of a push consumer: start offsets and stored progress (``RebalancePushImpl``, ``ConsumeFromWhere``)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from engine.client.instance.mq_client_instance import MQClientInstance
from engine.client.queues.consumer_config import PushConsumerConfig
from engine.client.queues.offset_store import OffsetStore
from engine.client.queues.process_queue import ProcessQueue
from engine.client.queues.pull_flow_control import PullFlowControl
from engine.client.queues.pull_request import PullRequest
from engine.client.queues.rebalance_impl import RebalanceImpl
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.enums import ConsumeFromWhere
from engine.protocol.names import is_retry_topic
from engine.runtime.engine_lock import EngineLock
from engine.runtime.step import step

_log = logging.getLogger("glassmq.client")

#: Part of step labels, so it does not name the queue.
CONSUME_LOCK_NAME = "process queue consume lock"

#: CONSUME_FROM_TIMESTAMP without a timestamp: this long before the consumer was created.
DEFAULT_CONSUME_TIMESTAMP_AGE_MS = 30 * 60_000


class RebalancePushImpl(RebalanceImpl):
    """The rebalance of a push consumer.

    :param dispatch: passes a pull request to the pull message service.
    :ivar flow_control: gets its limits from the number of queues.
    """

    def __init__(
        self,
        instance: MQClientInstance,
        group: str,
        config: PushConsumerConfig,
        offset_store: OffsetStore,
        dispatch: Callable[[PullRequest], None],
    ) -> None:
        super().__init__(instance, group, config.message_model, config.allocate_strategy)
        self._config = config
        self.lock_timeout_ms = config.lock_timeout_ms
        self.flow_control = PullFlowControl(config)
        self._consume_lock_enabled = True
        #: Released queues whose broker lock is kept for a while.
        self._unlocks_to_come: dict[MessageQueue, None] = {}
        self._offset_store = offset_store
        self._dispatch = dispatch
        self._consume_timestamp_ms = config.consume_timestamp_ms
        if self._consume_timestamp_ms is None:
            self._consume_timestamp_ms = instance.runtime.clock.now_ms() - DEFAULT_CONSUME_TIMESTAMP_AGE_MS

    @property
    def consume_lock_enabled(self) -> bool:
        """False: the consume locks of all process queues exclude no one. A switch for lessons."""
        return self._consume_lock_enabled

    @consume_lock_enabled.setter
    def consume_lock_enabled(self, enabled: bool) -> None:
        self._consume_lock_enabled = enabled
        for process_queue in self.process_queue_table.values():
            process_queue.consume_lock.enabled = enabled

    def create_process_queue(self, queue: MessageQueue) -> ProcessQueue:
        return ProcessQueue(
            self.instance.runtime.clock.now_ms,
            EngineLock(CONSUME_LOCK_NAME, self._consume_lock_enabled),
            lock_max_live_time_ms=self._config.lock_max_live_time_ms,
            pull_max_idle_time_ms=self._config.pull_max_idle_time_ms,
        )

    async def remove_unnecessary_message_queue(self, queue: MessageQueue, process_queue: ProcessQueue) -> bool:
        """Store the progress for the next owner of the queue, and release the queue.

        Messages in a running listener do not count as progress any more: the next owner receives them again.
        """
        await self._offset_store.persist(queue)
        self._offset_store.remove_offset(queue)
        if not self.needs_broker_locks:
            return True
        async with process_queue.consume_lock.within(self._config.consume_lock_wait_ms) as is_held:
            if is_held:
                await self._unlock_delay(queue, process_queue)
                return True
        process_queue.try_unlock_times += 1
        tries = process_queue.try_unlock_times
        _log.warning("group %s: %s is being consumed and cannot be given up yet (try %d)", self.group, queue, tries)
        return False

    async def _unlock_delay(self, queue: MessageQueue, process_queue: ProcessQueue) -> None:
        """Unlock now, or after a delay if messages are cached here (``unlockDelay``)."""
        await step("looks for cached messages before unlocking")
        if not process_queue.has_waiting_messages:
            await self.unlock(queue)
            return
        self._unlocks_to_come[queue] = None
        name = f"delayed unlock {queue.topic} {queue.broker_name} {queue.queue_id}"
        self.instance.background.spawn(self._unlock_later(queue), name)

    async def _unlock_later(self, queue: MessageQueue) -> None:
        await asyncio.sleep(self._config.unlock_delay_ms / 1_000)
        await step("checks whether the queue is ours again")
        self._unlocks_to_come.pop(queue, None)
        # RocketMQ unlocks nevertheless, and releases a queue that this client has acquired again meanwhile.
        if queue not in self.process_queue_table:
            await self.unlock(queue)

    async def unlock_all(self) -> None:
        """Release all locks. RocketMQ leaves locks that are kept for a while to expire."""
        await super().unlock_all()
        for queue in [queue for queue in self._unlocks_to_come if queue not in self.process_queue_table]:
            await self.unlock(queue)
        self._unlocks_to_come.clear()

    async def force_unlock(self, queue: MessageQueue) -> None:
        """Release one queue immediately, whether or not its listener runs, and let the next rebalance acquire it again.

        For lessons: a new process queue then exists next to a listener that still has messages of the old one. In
        RocketMQ this happens by ``removeProcessQueue``, which removes a queue even if the wait for its consume lock
        failed.
        """
        process_queue = self.process_queue_table.pop(queue, None)
        if process_queue is None:
            return
        process_queue.drop()
        await self._offset_store.persist(queue)
        self._offset_store.remove_offset(queue)
        await self.unlock(queue)
        self.instance.rebalance_immediately()

    def queues_changed(self) -> None:
        self.flow_control.share_among(len(self.process_queue_table))

    def remove_dirty_offset(self, queue: MessageQueue) -> None:
        self._offset_store.remove_offset(queue)

    async def compute_pull_from_where(self, queue: MessageQueue) -> int:
        """Return the group's progress; without one, the offset of ``consume_from_where``.

        ``consume_from_where`` only applies to a group that has never stored an offset for the queue. Even then the
        broker may answer 0 instead of "none", if the queue still has its very first message in memory.

        The start is stored before anything is consumed: the end of a queue moves, and the next owner would begin at a
        later one. RocketMQ stores nothing before the first progress, and skips messages that arrived in between.
        """
        offset = await self._offset_store.read_offset_from_store(queue)
        if offset is None:
            offset = await self._first_offset(queue)
            self._offset_store.update_offset(queue, offset, increase_only=False)
            await self._offset_store.persist(queue)
        return offset

    async def _first_offset(self, queue: MessageQueue) -> int:
        """Return the offset of ``consume_from_where`` for the queue now.

        A retry topic is read from its beginning, because its messages were sent back by this group. RocketMQ begins at
        its end with CONSUME_FROM_TIMESTAMP, and skips messages sent back before.
        """
        if is_retry_topic(queue.topic):
            return 0
        address, _ = self.instance.route_table.address_to_pull_from(queue.broker_name)
        match self._config.consume_from_where:
            case ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET:
                return 0
            case ConsumeFromWhere.CONSUME_FROM_TIMESTAMP:
                assert self._consume_timestamp_ms is not None, "set when this was made"
                return await self.instance.consumer_api.search_offset(address, queue, self._consume_timestamp_ms)
            case _:
                # The deprecated values also mean this one.
                return await self.instance.consumer_api.max_offset(address, queue)

    def dispatch_pull_requests(self, pull_requests: Sequence[PullRequest]) -> None:
        for pull_request in pull_requests:
            self._dispatch(pull_request)

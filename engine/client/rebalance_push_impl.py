"""Rebalance of a push consumer: where to begin, what to keep (RocketMQ: ``RebalancePushImpl``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.client.consumer_config import PushConsumerConfig
from engine.client.mq_client_instance import MQClientInstance
from engine.client.offset_store import OffsetStore
from engine.client.process_queue import ProcessQueue
from engine.client.pull_request import PullRequest
from engine.client.rebalance_impl import RebalanceImpl
from engine.protocol.enums import ConsumeFromWhere
from engine.protocol.message_queue import MessageQueue
from engine.protocol.names import is_retry_topic

#: CONSUME_FROM_TIMESTAMP without a timestamp: this long before the consumer was made.
DEFAULT_CONSUME_TIMESTAMP_AGE_MS = 30 * 60_000


class RebalancePushImpl(RebalanceImpl):
    """:param dispatch: hands a pull request to the pull message service."""

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
        self._offset_store = offset_store
        self._dispatch = dispatch
        self._consume_timestamp_ms = config.consume_timestamp_ms
        if self._consume_timestamp_ms is None:
            self._consume_timestamp_ms = instance.runtime.clock.now_ms() - DEFAULT_CONSUME_TIMESTAMP_AGE_MS

    def create_process_queue(self, queue: MessageQueue) -> ProcessQueue:
        """See :class:`RebalanceImpl`."""
        return ProcessQueue(
            self.instance.runtime.clock.now_ms,
            lock_max_live_time_ms=self._config.lock_max_live_time_ms,
            pull_max_idle_time_ms=self._config.pull_max_idle_time_ms,
        )

    async def remove_unnecessary_message_queue(self, queue: MessageQueue, process_queue: ProcessQueue) -> bool:
        """Store the progress for whoever gets the queue next. See :class:`RebalanceImpl`."""
        await self._offset_store.persist(queue)
        self._offset_store.remove_offset(queue)
        return True

    def remove_dirty_offset(self, queue: MessageQueue) -> None:
        """See :class:`RebalanceImpl`."""
        self._offset_store.remove_offset(queue)

    async def compute_pull_from_where(self, queue: MessageQueue) -> int:
        """The group's progress; without one, what ``consume_from_where`` says. See :class:`RebalanceImpl`.

        ``consume_from_where`` counts only for a group that has never stored an offset for the queue. And even then the
        broker may answer 0 instead of "none", when the queue still holds its very first message in memory.
        """
        offset = await self._offset_store.read_offset_from_store(queue)
        if offset is not None:
            return offset
        api = self.instance.consumer_api
        address, _ = self.instance.route_table.address_to_pull_from(queue.broker_name)
        match self._config.consume_from_where:
            case ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET:
                return 0
            case ConsumeFromWhere.CONSUME_FROM_TIMESTAMP:
                if is_retry_topic(queue.topic):
                    return await api.max_offset(address, queue)
                assert self._consume_timestamp_ms is not None, "set when this was made"
                return await api.search_offset(address, queue, self._consume_timestamp_ms)
            case _:
                # The deprecated values mean this one too. A retry topic is read from its beginning: what lies there
                # was given back by this very group.
                return 0 if is_retry_topic(queue.topic) else await api.max_offset(address, queue)

    def dispatch_pull_requests(self, pull_requests: Sequence[PullRequest]) -> None:
        """See :class:`RebalanceImpl`."""
        for pull_request in pull_requests:
            self._dispatch(pull_request)

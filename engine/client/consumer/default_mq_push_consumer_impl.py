"""The part of a push consumer that pulls its queues and feeds the listener (RocketMQ: ``DefaultMQPushConsumerImpl``).

To the user it looks like "push". In fact the consumer pulls repeatedly; a broker without new messages holds the request
for up to 15 s and answers as soon as a message arrives (long polling).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

from engine.client.consumer.consume_message_service import ConsumeMessageService
from engine.client.consumer.consumer_stats_manager import ConsumerStatsManager
from engine.client.consumer.offset_resets import ClientOffsetResets
from engine.client.consumer.pull_api_wrapper import PullApiWrapper
from engine.client.consumer.pull_result import PullResult, PullStatus
from engine.client.foundation.errors import MQBrokerError, MQClientError
from engine.client.instance.mq_client_instance import MQClientInstance
from engine.client.queues.consumer_config import PushConsumerConfig
from engine.client.queues.message_queue_lock import MessageQueueLock
from engine.client.queues.offset_store import OffsetStore
from engine.client.queues.pull_message_service import PullMessageService
from engine.client.queues.pull_request import PullRequest
from engine.client.queues.rebalance_push_impl import RebalancePushImpl
from engine.protocol.body.heartbeat_data import ConsumerData
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.body.subscription_data import SubscriptionData
from engine.protocol.enums import ConsumeType, ExpressionType, MessageModel
from engine.protocol.message.message import MessageExt
from engine.protocol.response_code import ResponseCode
from engine.runtime.step import step

_log = logging.getLogger("glassmq.client")

#: One of this many consecutive failed pulls of a queue is logged as a warning.
FAILURES_PER_WARNING = 60
#: One of this many pulls that flow control postpones is logged, per queue and reason.
FLOW_CONTROLS_PER_LINE = 1_000


class DefaultMQPushConsumerImpl:
    """An implementation of ``MQConsumerInner``.

    :ivar message_queue_lock: the local locks of an orderly consumer, one per queue.
    :ivar flow_control: decides when a queue is not pulled because too many of its messages wait here.
    :ivar pull_api: sends the pulls.
    :ivar dispatch_per_pull: every pull with messages submits a consume request, even while one is in progress. A switch
        for lessons.
    :ivar paused: no queue is pulled while this is set; only ``suspend`` and ``resume`` of the consumer change it.
    :ivar offset_resets: the resets that brokers have requested and that are still in progress.
    :ivar is_started: the brokers have received a first heartbeat, so that a rebalance makes sense.
    """

    def __init__(
        self,
        instance: MQClientInstance,
        group: str,
        config: PushConsumerConfig,
        offset_store: OffsetStore,
    ) -> None:
        self._instance = instance
        self._group = group
        self._config = config
        self.offset_store = offset_store
        self.stats = ConsumerStatsManager(instance.runtime.clock.now_ms())
        self.pull_message_service = PullMessageService(self.pull_message)
        self.rebalance = RebalancePushImpl(
            instance, group, config, offset_store, self.pull_message_service.execute_pull_request_immediately
        )
        self.flow_control = self.rebalance.flow_control
        self.pull_api = PullApiWrapper(instance, group)
        self.offset_resets = ClientOffsetResets(self.rebalance, offset_store)
        self.message_queue_lock = MessageQueueLock()
        self.dispatch_per_pull = False
        self.paused = False
        self.is_started = False
        #: Property of the reply of code 307 -> its value.
        self.reported: dict[str, Callable[[], str]] = {}
        self._consume_service: ConsumeMessageService[Any, Any] | None = None

    @property
    def consume_service(self) -> ConsumeMessageService[Any, Any]:
        """Return the service that calls the listener; the consumer sets it at its start."""
        assert self._consume_service is not None, "the consumer is started first"
        return self._consume_service

    @consume_service.setter
    def consume_service(self, service: ConsumeMessageService[Any, Any]) -> None:
        self._consume_service = service

    # --- MQConsumerInner -------------------------------------------------------------------------------------------

    @property
    def group(self) -> str:
        """Return the consumer group."""
        return self._group

    def subscribed_topics(self) -> Iterable[str]:
        return tuple(self.rebalance.subscriptions)

    def subscribe_queues_changed(self, topic: str, queues: tuple[MessageQueue, ...]) -> None:
        if topic in self.rebalance.subscriptions:
            self.rebalance.topic_subscribe_info[topic] = queues

    def consumer_data(self) -> ConsumerData:
        return ConsumerData(
            group_name=self._group,
            consume_type=ConsumeType.CONSUME_PASSIVELY,
            message_model=self._config.message_model,
            consume_from_where=self._config.consume_from_where,
            subscriptions=tuple(self.rebalance.subscriptions.values()),
        )

    def heartbeat_sent(self, consumer_data: ConsumerData) -> None:
        self.rebalance.subscriptions_at_brokers = {data.topic: data for data in consumer_data.subscriptions}

    async def do_rebalance(self) -> None:
        """Rebalance even while the consumer is suspended, unlike RocketMQ.

        There a suspended consumer keeps queues that belong to others, and a reset skips a queue that it does not take
        over again.
        """
        if self.is_started:
            await self.rebalance.do_rebalance()

    async def persist_consumer_offsets(self) -> None:
        await self.offset_store.persist_all(tuple(self.rebalance.process_queue_table))

    # --- pulling ---------------------------------------------------------------------------------------------------

    async def pull_message(self, request: PullRequest) -> None:
        """Start one pull, unless something prevents it; then try again a little later."""
        process_queue = request.process_queue
        await step("checks whether the queue was dropped before pulling")
        if process_queue.dropped:
            _log.info("group %s: %s is not ours any more, it is not pulled", self._group, request.message_queue)
            return
        process_queue.last_pull_timestamp = self._instance.runtime.clock.now_ms()
        delay_ms = self._delay_before_pull(request)
        rebalance = self.rebalance
        is_announced = self._config.pull_announced_version
        known = rebalance.subscriptions_at_brokers if is_announced else rebalance.subscriptions
        subscription = known.get(request.message_queue.topic)
        if delay_ms is None and subscription is None:
            delay_ms = self._instance.config.pull_time_delay_when_exception_ms
        if delay_ms is not None:
            self.pull_message_service.execute_pull_request_later(request, delay_ms)
            return
        assert subscription is not None, "a missing one is a reason to wait"
        self._instance.background.spawn(
            self._pull(request, subscription),
            f"pull {request.message_queue.topic} {request.message_queue.broker_name} {request.message_queue.queue_id}",
        )

    def _delay_before_pull(self, request: PullRequest) -> int | None:
        """Return how long to wait because of pausing, flow control, or a queue that is not locked; None: pull now."""
        config = self._config
        if self.paused:
            return config.pull_delay_when_suspended_ms
        if self._is_full(request):
            return config.pull_delay_when_cache_flow_control_ms
        if self.consume_service.is_orderly and not request.process_queue.locked:
            return self._instance.config.pull_time_delay_when_exception_ms
        return None

    def _is_full(self, request: PullRequest) -> bool:
        """Check flow control: pulling more messages than wait here would only fill memory."""
        process_queue = request.process_queue
        reason = self.flow_control.check(process_queue, is_orderly=self.consume_service.is_orderly)
        if reason is None:
            return False
        if process_queue.flow_control_times[reason.value] % FLOW_CONTROLS_PER_LINE == 1:
            _log.info(
                "group %s: %s is not pulled because of its %s: %d messages, %d bytes, span %d; again in %d ms",
                self._group,
                request.message_queue,
                reason,
                process_queue.msg_count,
                process_queue.msg_size,
                process_queue.max_span,
                self._config.pull_delay_when_cache_flow_control_ms,
            )
        return True

    async def _pull(self, request: PullRequest, subscription: SubscriptionData) -> None:
        """Pull once and pass the request on in every case: a lost request would mean a queue that is never consumed."""
        started_us = self._instance.runtime.clock.monotonic_us()
        if self.consume_service.is_orderly and not await self._begin_where_the_last_owner_ended(request):
            return
        await step("reads the offset to commit with the pull")
        try:
            result = await self.pull_api.pull(
                request.message_queue,
                subscription,
                request.next_offset,
                self._config.pull_batch_size,
                commit_offset=self._offset_to_commit(request.message_queue),
                suspend_ms=self._config.broker_suspend_max_time_ms,
                post_subscription=self._config.post_subscription_when_pull,
                timeout_ms=self._config.consumer_timeout_when_suspend_ms,
            )
        except asyncio.CancelledError:
            raise
        except Exception as error:
            self._pull_failed(request, error)
            return
        stats = self.stats.of_topic(request.message_queue.topic)
        stats.pulls += 1
        stats.pulled_messages += len(result.messages)
        stats.unwanted_messages += result.unwanted_count
        stats.unreadable_messages += len(result.unreadable)
        stats.pull_ms += (self._instance.runtime.clock.monotonic_us() - started_us) // 1000
        await self._take(request, result)

    async def _begin_where_the_last_owner_ended(self, request: PullRequest) -> bool:
        """Read the stored offset again, now that the queue is locked and no other member makes progress.

        Between the rebalance and the lock the former owner may have stored another one. If none is stored, the start
        determined at the rebalance is kept: RocketMQ determines it again, and with CONSUME_FROM_LAST_OFFSET skips
        messages that arrived in between. Returns False if it cannot be read; the pull is tried again.
        """
        if request.previously_locked:
            return True
        try:
            offset = await self.offset_store.read_offset_from_store(request.message_queue)
        except MQClientError as error:
            self._pull_failed(request, error)
            return False
        if offset is not None:
            if offset < request.next_offset:
                _log.info("group %s: %s is pulled from %d again", self._group, request.message_queue, offset)
            request.next_offset = offset
        request.previously_locked = True
        return True

    def _offset_to_commit(self, queue: MessageQueue) -> int | None:
        if self._config.message_model is not MessageModel.CLUSTERING:
            return None
        return self.offset_store.offset_in_memory(queue) or None

    def _pull_failed(self, request: PullRequest, error: Exception) -> None:
        delay_ms = self._instance.config.pull_time_delay_when_exception_ms
        if isinstance(error, MQBrokerError) and error.code == ResponseCode.FLOW_CONTROL:
            delay_ms = self._config.pull_delay_when_broker_flow_control_ms
        request.failures += 1
        if isinstance(error, MQClientError):
            # A broker that is down fails each of its queues every second: log it at the beginning, and occasionally
            # after that.
            level = logging.WARNING if request.failures % FAILURES_PER_WARNING == 1 else logging.DEBUG
            _log.log(level, "group %s: %s; try %d comes in %d ms", self._group, error, request.failures + 1, delay_ms)
        else:
            _log.error("group %s: pulling %s failed", self._group, request.message_queue, exc_info=error)
        self.pull_message_service.execute_pull_request_later(request, delay_ms)

    async def _take(self, request: PullRequest, result: PullResult) -> None:
        """Put the received messages into the process queue, and continue to pull after them."""
        request.next_offset = result.next_begin_offset
        request.failures = 0
        if result.status is PullStatus.OFFSET_ILLEGAL:
            await self._offset_moved(request, result)
            return
        messages: Sequence[MessageExt] = result.messages
        if result.unreadable:
            messages = sorted((*messages, *result.unreadable), key=attrgetter("queue_offset"))
        if messages:
            await step("puts messages into the process queue")
            dispatch_to_consume = request.process_queue.put_messages(messages) or self.dispatch_per_pull
            await self.consume_service.submit_consume_request(
                messages, request.process_queue, request.message_queue, dispatch_to_consume
            )
        elif result.status is not PullStatus.FOUND:
            await self._correct_offset_of_unwanted_messages(request)
        if self._config.pull_interval_ms and messages:
            self.pull_message_service.execute_pull_request_later(request, self._config.pull_interval_ms)
        else:
            self.pull_message_service.execute_pull_request_immediately(request)

    async def _correct_offset_of_unwanted_messages(self, request: PullRequest) -> None:
        """Count an empty range as progress: nothing waits here, and nothing up to the next offset matches.

        Not for a queue that was released while its pull was in flight, which may take 15 s: RocketMQ then overwrites
        the offset of a reset with an old one.
        """
        await step("checks whether messages wait")
        if request.process_queue.msg_count == 0 and not request.process_queue.dropped:
            self.offset_store.update_offset(request.message_queue, request.next_offset, increase_only=True)

    async def _offset_moved(self, request: PullRequest, result: PullResult) -> None:
        """Release the queue and begin at the broker's offset, because the broker does not have the requested one."""
        if request.process_queue.dropped:
            return
        _log.warning(
            "group %s: the offset of %s is outside of %d..%d; the queue restarts at %d in %d ms",
            self._group,
            request.message_queue,
            result.min_offset,
            result.max_offset,
            request.next_offset,
            self._config.offset_moved_delay_ms,
        )
        await step("marks the process queue dropped")
        request.process_queue.drop()
        # Running listeners get time to end, so that none stores an old offset over the new one.
        await asyncio.sleep(self._config.offset_moved_delay_ms / 1000)
        if self.rebalance.process_queue_table.get(request.message_queue) is not request.process_queue:
            return  # it has moved to another member meanwhile, or was acquired again
        self.offset_store.update_offset(request.message_queue, request.next_offset, increase_only=False)
        await self.offset_store.persist(request.message_queue)
        await self.rebalance.remove_process_queue(request.message_queue)
        self._instance.rebalance_immediately()  # as RocketMQ 5 does; 4.9 waits for the next round, up to 20 s

    # --- at the start ----------------------------------------------------------------------------------------------

    async def check_subscriptions_at_broker(self) -> None:
        """Have a broker compile every expression other than tags. Raises :class:`MQClientError`."""
        for topic, subscription in list(self.rebalance.subscriptions.items()):
            if subscription.expression_type == ExpressionType.TAG:
                continue
            for address in self._instance.route_table.brokers_of_topic(topic)[:1]:
                await self._instance.consumer_api.check_client_config(
                    address, self._instance.client_id, self._group, subscription
                )

"""Pulls the owned queues and feeds the listener (RocketMQ: ``DefaultMQPushConsumerImpl``).

"Push" is what it looks like to the user. In truth the consumer pulls, again and again; a broker without news holds the
request for up to 15 s and answers the moment a message comes (long polling).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

from engine.client.consumer.consume_message_service import ConsumeMessageService
from engine.client.consumer.consumer_stats_manager import ConsumerStatsManager
from engine.client.consumer.offset_resets import OffsetResets
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

#: One in so many failed pulls of a queue in a row is a warning in the log.
FAILURES_PER_WARNING = 60
#: One in so many pulls that flow control puts off is a line in the log, per queue and reason.
FLOW_CONTROLS_PER_LINE = 1_000


class DefaultMQPushConsumerImpl:
    """Implements ``MQConsumerInner``.

    :ivar message_queue_lock: the local locks of an orderly consumer, one per queue.
    :ivar flow_control: when a queue is not pulled because too much of it waits here.
    :ivar pull_api: sends the pulls.
    :ivar dispatch_per_pull: every pull that brings messages submits a consume request, even while one is under way. A
        switch for lessons.
    :ivar paused: no queue is pulled while this is set; by ``suspend`` and ``resume`` of the consumer, and nobody else.
    :ivar offset_resets: the resets that brokers have asked for and that are not over yet.
    :ivar is_started: the brokers have got a first heartbeat, so that a rebalance makes sense.
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
        self.offset_resets = OffsetResets(self.rebalance, offset_store)
        self.message_queue_lock = MessageQueueLock()
        self.dispatch_per_pull = False
        self.paused = False
        self.is_started = False
        #: Property of the answer to 307 -> its value.
        self.told: dict[str, Callable[[], str]] = {}
        self._consume_service: ConsumeMessageService[Any] | None = None

    @property
    def consume_service(self) -> ConsumeMessageService[Any]:
        """What calls the listener; set by the consumer at its start."""
        assert self._consume_service is not None, "the consumer is started first"
        return self._consume_service

    @consume_service.setter
    def consume_service(self, service: ConsumeMessageService[Any]) -> None:
        self._consume_service = service

    # --- MQConsumerInner -------------------------------------------------------------------------------------------

    @property
    def group(self) -> str:
        """The consumer group."""
        return self._group

    def subscribed_topics(self) -> Iterable[str]:
        """See ``MQConsumerInner``."""
        return tuple(self.rebalance.subscriptions)

    def subscribe_queues_changed(self, topic: str, queues: tuple[MessageQueue, ...]) -> None:
        """See ``MQConsumerInner``."""
        if topic in self.rebalance.subscriptions:
            self.rebalance.topic_subscribe_info[topic] = queues

    def consumer_data(self) -> ConsumerData:
        """See ``MQConsumerInner``."""
        return ConsumerData(
            group_name=self._group,
            consume_type=ConsumeType.CONSUME_PASSIVELY,
            message_model=self._config.message_model,
            consume_from_where=self._config.consume_from_where,
            subscriptions=tuple(self.rebalance.subscriptions.values()),
        )

    def heartbeat_sent(self, consumer_data: ConsumerData) -> None:
        """See ``MQConsumerInner``."""
        self.rebalance.subscriptions_at_brokers = {data.topic: data for data in consumer_data.subscriptions}

    async def do_rebalance(self) -> None:
        """See ``MQConsumerInner``.

        Also while the consumer is suspended, which RocketMQ leaves out: it holds queues then that belong to others, and
        a reset passes by a queue that it does not take over again.
        """
        if self.is_started:
            await self.rebalance.do_rebalance()

    async def persist_consumer_offsets(self) -> None:
        """See ``MQConsumerInner``."""
        await self.offset_store.persist_all(tuple(self.rebalance.process_queue_table))

    # --- pulling ---------------------------------------------------------------------------------------------------

    async def pull_message(self, request: PullRequest) -> None:
        """Begin one pull, unless something speaks against it; then try again a little later."""
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
        """How long to wait because of pausing, flow control, or a queue that is not locked; None: pull now."""
        config = self._config
        if self.paused:
            return config.pull_delay_when_suspended_ms
        if self._is_full(request):
            return config.pull_delay_when_cache_flow_control_ms
        if self.consume_service.is_orderly and not request.process_queue.locked:
            return self._instance.config.pull_time_delay_when_exception_ms
        return None

    def _is_full(self, request: PullRequest) -> bool:
        """Flow control: so much waits here that pulling more would only fill memory."""
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
        """Pull once and hand the request on, whatever happens: a lost request is a queue nobody consumes."""
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
        """Read the stored offset once more, now that the queue is locked and nobody else makes progress.

        Between the rebalance and the lock the former owner may have stored another one. Where none is stored, the
        start found at the rebalance stands: RocketMQ works it out again, and with CONSUME_FROM_LAST_OFFSET skips what
        came in between. Returns False when it cannot be read; the pull is tried again.
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
            # A broker that is down fails each of its queues every second: say so when it begins, and now and then.
            level = logging.WARNING if request.failures % FAILURES_PER_WARNING == 1 else logging.DEBUG
            _log.log(level, "group %s: %s; try %d comes in %d ms", self._group, error, request.failures + 1, delay_ms)
        else:
            _log.error("group %s: pulling %s failed", self._group, request.message_queue, exc_info=error)
        self.pull_message_service.execute_pull_request_later(request, delay_ms)

    async def _take(self, request: PullRequest, result: PullResult) -> None:
        """Put what came into the process queue, and go on pulling after it."""
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
        """Nothing waits here, and up to the next offset nothing is wanted: that is progress too.

        Not for a queue that was given up while its pull was on the way, which may be 15 s: RocketMQ then notes an old
        offset over that of a reset.
        """
        await step("checks whether messages wait")
        if request.process_queue.msg_count == 0 and not request.process_queue.dropped:
            self.offset_store.update_offset(request.message_queue, request.next_offset, increase_only=True)

    async def _offset_moved(self, request: PullRequest, result: PullResult) -> None:
        """The broker does not have our offset (any more): give the queue up and begin at what it says."""
        if request.process_queue.dropped:
            return
        _log.warning(
            "group %s: the offset of %s is outside of %d..%d; the queue begins anew at %d in %d ms",
            self._group,
            request.message_queue,
            result.min_offset,
            result.max_offset,
            request.next_offset,
            self._config.offset_moved_delay_ms,
        )
        await step("marks the process queue dropped")
        request.process_queue.drop()
        # Listeners that still run get the time to end, so that none notes an old offset over the new one.
        await asyncio.sleep(self._config.offset_moved_delay_ms / 1000)
        if self.rebalance.process_queue_table.get(request.message_queue) is not request.process_queue:
            return  # it has moved to another member meanwhile, or was taken over again
        self.offset_store.update_offset(request.message_queue, request.next_offset, increase_only=False)
        await self.offset_store.persist(request.message_queue)
        await self.rebalance.remove_process_queue(request.message_queue)
        self._instance.rebalance_immediately()  # as RocketMQ 5 does; 4.9 waits for the next round, up to 20 s

    # --- at the start ----------------------------------------------------------------------------------------------

    async def check_subscriptions_at_broker(self) -> None:
        """Have a broker compile every expression that is not a tag expression. Raises :class:`MQClientError`."""
        for topic, subscription in list(self.rebalance.subscriptions.items()):
            if subscription.expression_type == ExpressionType.TAG:
                continue
            for address in self._instance.route_table.brokers_of_topic(topic)[:1]:
                await self._instance.consumer_api.check_client_config(
                    address, self._instance.client_id, self._group, subscription
                )

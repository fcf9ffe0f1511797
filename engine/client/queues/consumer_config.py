"""Settings of consumers (RocketMQ: ``DefaultMQPushConsumer``, ``DefaultMQPullConsumer``, ``ProcessQueue``).

The defaults are those of version 4.9.8 unless said otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.client.allocation.allocate_message_queue_averagely import AllocateMessageQueueAveragely
from engine.client.allocation.allocate_message_queue_strategy import AllocateMessageQueueStrategy
from engine.client.foundation.errors import IllegalClientArgument
from engine.client.queues.process_queue import PULL_MAX_IDLE_TIME_MS, REBALANCE_LOCK_MAX_LIVE_TIME_MS
from engine.protocol.enums import ConsumeFromWhere, MessageModel
from engine.protocol.names import TRACE_TOPIC

MINUTE_MS = 60_000
#: DefaultMQPushConsumerImpl.getMaxReconsumeTimes: the meaning of -1.
DEFAULT_MAX_RECONSUME_TIMES = 16
#: ConsumeMessageOrderlyService.getMaxReconsumeTimes: the same for an orderly listener. In effect: forever.
UNLIMITED_RECONSUME_TIMES = 0x7FFF_FFFF
#: ``pullThresholdForTopic``, ``pullThresholdSizeForTopic``: only the limits per queue apply.
NO_LIMIT_PER_TOPIC = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class PushConsumerConfig:
    """Settings of a push consumer; durations in milliseconds.

    :param consume_timestamp_ms: for CONSUME_FROM_TIMESTAMP, ms since 1970; None: half an hour before the start.
    :param consume_thread_min: how many listener calls run at a time. ``update_core_pool_size`` changes it later.
    :param consume_thread_max: only a bound of that. RocketMQ's pool has an unbounded queue, so it never grows beyond
        ``consume_thread_min``: a larger ``consume_thread_max`` alone has no effect.
    :param consume_message_batch_max_size: most messages per listener call, 1 to 1024.
    :param pull_batch_size: most messages per pull, 1 to 1024; a broker sends at most 32 in any case.
    :param pull_threshold_for_queue: pulling a queue pauses while more messages of it wait here.
    :param pull_threshold_size_for_queue_mib: the same for the size of their bodies.
    :param pull_threshold_for_topic, pull_threshold_size_for_topic_mib: the same for all queues of this consumer
        together: each gets an equal share in place of the limits above; -1: only those count.
    :param consume_concurrently_max_span: the same for the distance between a queue's first and last waiting offset.
    :param post_subscription_when_pull: send the expression with each pull instead of with heartbeats only.
    :param pull_announced_version: pull with the subscriptions of the last heartbeat, which the brokers know. False:
        with the newest ones, as RocketMQ does: after a rebalance a pull that overtakes the heartbeat, or whose
        heartbeat was lost, is refused with code 25 and tried again a second later.
    :param max_reconsume_times: deliveries after the first before a message goes to the dead-letter topic; -1: 16, but
        without limit for an orderly listener: there the message blocks its queue until it is consumed.
    :param consume_timeout_ms: a message that a listener holds for longer is delivered again later.
    :param await_termination_when_shutdown_ms: how long a shutdown waits for running listeners. RocketMQ's default is 0,
        which loses their results: those messages are delivered again.
    :param enable_msg_trace: record every delivery in the trace topic (:mod:`engine.client.trace`).
    :param customized_trace_topic: the trace topic.

    Only for orderly listeners:

    :param suspend_current_queue_time_ms: how long a queue pauses after a message that could not be consumed.
    :param max_time_consume_continuously_ms: a worker leaves a queue after this time, so that others get their turn.
    :param consume_again_shortly_ms: how soon a worker returns to it then, or after a lock was acquired again.
    :param rebalance_lock_interval_ms: how often the broker locks of all queues are renewed (``lockAll``).
    :param lock_max_live_time_ms: how long a broker lock is trusted without renewal; less than the broker's lease.
    :param lock_timeout_ms: how long to wait for the broker's reply to a lock request.
    :param try_lock_delay_ms: how soon a worker that found the queue not locked tries to lock it.
    :param lock_refused_delay_ms: how long it leaves the queue alone if another client has the lock.
    :param consume_lock_wait_ms: how long a rebalance waits for a running listener before it releases a queue. If that
        is not enough, the next rebalance tries again.
    :param unlock_delay_ms: how long the broker lock of a released queue is kept while messages of it are cached here.
    """

    message_model: MessageModel = MessageModel.CLUSTERING
    allocate_strategy: AllocateMessageQueueStrategy = field(default_factory=AllocateMessageQueueAveragely)
    consume_from_where: ConsumeFromWhere = ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET
    consume_timestamp_ms: int | None = None
    consume_thread_min: int = 20
    consume_thread_max: int = 20
    consume_message_batch_max_size: int = 1
    pull_batch_size: int = 32
    pull_interval_ms: int = 0
    pull_threshold_for_queue: int = 1_000
    pull_threshold_size_for_queue_mib: int = 100
    pull_threshold_for_topic: int = NO_LIMIT_PER_TOPIC
    pull_threshold_size_for_topic_mib: int = NO_LIMIT_PER_TOPIC
    consume_concurrently_max_span: int = 2_000
    post_subscription_when_pull: bool = False
    pull_announced_version: bool = True
    max_reconsume_times: int = -1
    consume_timeout_ms: int = 15 * MINUTE_MS
    await_termination_when_shutdown_ms: int = 5_000
    broker_suspend_max_time_ms: int = 15_000  # DefaultMQPushConsumerImpl.BROKER_SUSPEND_MAX_TIME_MILLIS
    consumer_timeout_when_suspend_ms: int = 30_000  # CONSUMER_TIMEOUT_MILLIS_WHEN_SUSPEND
    pull_delay_when_cache_flow_control_ms: int = 50  # PULL_TIME_DELAY_MILLS_WHEN_CACHE_FLOW_CONTROL
    pull_delay_when_broker_flow_control_ms: int = 20  # PULL_TIME_DELAY_MILLS_WHEN_BROKER_FLOW_CONTROL
    pull_delay_when_suspended_ms: int = 1_000  # PULL_TIME_DELAY_MILLS_WHEN_SUSPEND
    offset_moved_delay_ms: int = 10_000  # onSuccess, OFFSET_ILLEGAL
    consume_again_delay_ms: int = 5_000  # ConsumeMessageConcurrentlyService.submitConsumeRequestLater
    pull_max_idle_time_ms: int = PULL_MAX_IDLE_TIME_MS
    enable_msg_trace: bool = False
    customized_trace_topic: str = TRACE_TOPIC
    suspend_current_queue_time_ms: int = 1_000
    max_time_consume_continuously_ms: int = MINUTE_MS  # rocketmq.client.maxTimeConsumeContinuously
    consume_again_shortly_ms: int = 10  # ConsumeMessageOrderlyService: submitConsumeRequestLater(..., 10)
    rebalance_lock_interval_ms: int = 20_000  # rocketmq.client.rebalance.lockInterval
    lock_max_live_time_ms: int = REBALANCE_LOCK_MAX_LIVE_TIME_MS
    lock_timeout_ms: int = 1_000  # RebalanceImpl.lock
    try_lock_delay_ms: int = 100  # ConsumeMessageOrderlyService.ConsumeRequest.run
    lock_refused_delay_ms: int = 3_000  # ConsumeMessageOrderlyService.tryLockLaterAndReconsume
    consume_lock_wait_ms: int = 1_000  # RebalancePushImpl.removeUnnecessaryMessageQueue
    unlock_delay_ms: int = 20_000  # rocketmq.client.unlockDelayTimeMills

    def __post_init__(self) -> None:
        for name, (low, high) in _BOUNDS.items():
            if not low <= getattr(self, name) <= high:
                raise IllegalClientArgument(f"{name} must be {low} to {high}, got {getattr(self, name)}")
        if self.consume_thread_min > self.consume_thread_max:
            raise IllegalClientArgument(
                f"consume_thread_min ({self.consume_thread_min}) is larger than consume_thread_max "
                f"({self.consume_thread_max}); set both"
            )
        for name in ("pull_threshold_for_topic", "pull_threshold_size_for_topic_mib"):
            if getattr(self, name) == 0:
                raise IllegalClientArgument(f"{name} must be -1 (no limit) or at least 1, got 0")

    @property
    def max_reconsume_times_or_default(self) -> int:
        """Return ``max_reconsume_times``, or 16 for -1."""
        return DEFAULT_MAX_RECONSUME_TIMES if self.max_reconsume_times == -1 else self.max_reconsume_times

    @property
    def max_reconsume_times_orderly(self) -> int:
        """Return ``max_reconsume_times``, or "without limit" for -1."""
        return UNLIMITED_RECONSUME_TIMES if self.max_reconsume_times == -1 else self.max_reconsume_times


#: DefaultMQPushConsumerImpl.checkConfig
_BOUNDS: dict[str, tuple[int, int]] = {
    "consume_thread_min": (1, 1_000),
    "consume_thread_max": (1, 1_000),
    "consume_message_batch_max_size": (1, 1_024),
    "pull_batch_size": (1, 1_024),
    "pull_interval_ms": (0, 65_535),
    "pull_threshold_for_queue": (1, 65_535),
    "pull_threshold_size_for_queue_mib": (1, 1_024),
    "pull_threshold_for_topic": (-1, 6_553_500),
    "pull_threshold_size_for_topic_mib": (-1, 102_400),
    "consume_concurrently_max_span": (1, 65_535),
    "max_reconsume_times": (-1, 1 << 31),
    "consume_timeout_ms": (1, 1 << 40),
    "await_termination_when_shutdown_ms": (0, 1 << 40),
    "suspend_current_queue_time_ms": (1, 1 << 40),
    "max_time_consume_continuously_ms": (1, 1 << 40),
    "rebalance_lock_interval_ms": (1, 1 << 40),
    "lock_max_live_time_ms": (1, 1 << 40),
    "lock_timeout_ms": (1, 1 << 40),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PullConsumerConfig:
    """Settings of a pull consumer (``DefaultMQPullConsumer``); durations in milliseconds."""

    message_model: MessageModel = MessageModel.CLUSTERING
    allocate_strategy: AllocateMessageQueueStrategy = field(default_factory=AllocateMessageQueueAveragely)
    broker_suspend_max_time_ms: int = 20_000
    consumer_timeout_when_suspend_ms: int = 30_000
    consumer_pull_timeout_ms: int = 10_000
    max_reconsume_times: int = DEFAULT_MAX_RECONSUME_TIMES

"""Flow control of a push consumer's pulls (RocketMQ: the first checks of ``pullMessage``).

Pulled messages are in the consumer's memory until its listener is done with them. Three limits bound that memory, and
the number of messages consumed twice after a crash. They are checked before each pull, in this order:

    count   more than ``pullThresholdForQueue`` messages of the queue wait here
    size    more than ``pullThresholdSizeForQueue`` whole MiB of bodies do
    span    more than ``consumeConcurrentlyMaxSpan`` is between the first and the last of them: one slow message
            holds the progress back while later ones are done. Not for an orderly listener, which takes one by one.

The result of a pull is added as a whole, so a queue may have up to ``pullBatchSize`` messages more than the limit. The
pull is tried again after 50 ms; the broker is not informed, and the remaining messages simply wait there.

``pullThresholdForTopic`` and ``pullThresholdSizeForTopic`` are limits of the whole consumer: each time its queues
change they are divided by the number of queues, and the share replaces the limit per queue. As in RocketMQ that is the
number of all queues that it owns, including those of other topics and of its retry topic.
"""

from __future__ import annotations

from enum import StrEnum

from engine.client.queues.consumer_config import NO_LIMIT_PER_TOPIC, PushConsumerConfig
from engine.client.queues.process_queue import ProcessQueue

_MIB = 1 << 20


class FlowControlReason(StrEnum):
    """The reason for which a queue is not pulled at present."""

    COUNT = "count"
    SIZE = "size"
    SPAN = "span"


class PullFlowControl:
    """The limits of one consumer, and how many times they held a pull back.

    :ivar threshold_for_queue, threshold_size_for_queue_mib: the current limits per queue.
    :ivar queue_flow_control_times: pulls postponed because of number or size (RocketMQ: ``queueFlowControlTimes``).
    :ivar queue_max_span_flow_control_times: pulls postponed because of the span (``queueMaxSpanFlowControlTimes``).
    """

    def __init__(self, config: PushConsumerConfig) -> None:
        self._config = config
        self.threshold_for_queue = config.pull_threshold_for_queue
        self.threshold_size_for_queue_mib = config.pull_threshold_size_for_queue_mib
        self.queue_flow_control_times = 0
        self.queue_max_span_flow_control_times = 0

    def check(self, process_queue: ProcessQueue, *, is_orderly: bool) -> FlowControlReason | None:
        """Return why the queue must not be pulled now; None if it may be pulled.

        Counts a postponed pull, here and in the process queue.
        """
        reason = self._reason(process_queue, is_orderly)
        if reason is not None:
            times = process_queue.flow_control_times
            times[reason.value] = times.get(reason.value, 0) + 1
            if reason is FlowControlReason.SPAN:
                self.queue_max_span_flow_control_times += 1
            else:
                self.queue_flow_control_times += 1
        process_queue.flow_control = None if reason is None else reason.value
        return reason

    def _reason(self, process_queue: ProcessQueue, is_orderly: bool) -> FlowControlReason | None:
        if process_queue.msg_count > self.threshold_for_queue:
            return FlowControlReason.COUNT
        if process_queue.msg_size // _MIB > self.threshold_size_for_queue_mib:
            return FlowControlReason.SIZE
        if not is_orderly and process_queue.max_span > self._config.consume_concurrently_max_span:
            return FlowControlReason.SPAN
        return None

    def share_among(self, queue_count: int) -> None:
        """Divide the limits per topic, because the consumer owns ``queue_count`` queues now (``messageQueueChanged``).

        Without any queue everything stays as it is.
        """
        if not queue_count:
            return
        config = self._config
        if config.pull_threshold_for_topic != NO_LIMIT_PER_TOPIC:
            self.threshold_for_queue = max(1, config.pull_threshold_for_topic // queue_count)
        if config.pull_threshold_size_for_topic_mib != NO_LIMIT_PER_TOPIC:
            self.threshold_size_for_queue_mib = max(1, config.pull_threshold_size_for_topic_mib // queue_count)

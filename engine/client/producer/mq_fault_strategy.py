"""The choice of a send's queue, avoiding brokers that were slow or failed (RocketMQ: ``MQFaultStrategy``)::

    a send took            its broker is avoided for
    less than 550 ms                0 s
    550 ms and more                30 s
    1 s                            60 s
    2 s                           120 s
    3 s                           180 s
    15 s, or it failed            600 s     (a failure counts as 30 s)

Off unless ``send_latency_fault_enable`` is set: then queues are simply used in rotation, and only a retry avoids the
broker of the previous attempt. The disadvantage of the switch: one slow reply, due to a garbage collection for example,
moves the load to the other brokers for half a minute or more. Sends whose queue is chosen by the caller are neither
recorded nor diverted.

Different from RocketMQ: for an asynchronous send only the reply is recorded, and a oneway send only if it cannot be
sent. There, passing a frame to the network also counts as a success after 0 ms, which makes the broker available again
immediately.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.client.instance.topic_publish_info import TopicPublishInfo
from engine.client.producer.latency_fault_tolerance import LatencyFaultTolerance
from engine.protocol.body.message_queue import MessageQueue
from engine.runtime.port import Clock

#: A send that took ``LATENCY_MAX_MS[i]`` or longer excludes its broker for ``NOT_AVAILABLE_DURATION_MS[i]``; the
#: greatest such i applies.
LATENCY_MAX_MS = (50, 100, 550, 1_000, 2_000, 3_000, 15_000)
NOT_AVAILABLE_DURATION_MS = (0, 0, 30_000, 60_000, 120_000, 180_000, 600_000)
#: MQFaultStrategy.updateFaultItem: the latency of a failure.
ISOLATION_LATENCY_MS = 30_000


def compute_not_available_duration_ms(
    latency_ms: int,
    latency_max_ms: Sequence[int] = LATENCY_MAX_MS,
    not_available_duration_ms: Sequence[int] = NOT_AVAILABLE_DURATION_MS,
) -> int:
    """Return how long to avoid a broker whose reply took ``latency_ms``."""
    steps = zip(reversed(latency_max_ms), reversed(not_available_duration_ms), strict=True)
    return next((duration_ms for limit_ms, duration_ms in steps if latency_ms >= limit_ms), 0)


class MQFaultStrategy:
    """The strategy of one producer.

    :param latency_max_ms: ascending; ``not_available_duration_ms`` has the exclusion time of each.
    """

    def __init__(
        self,
        clock: Clock,
        enabled: bool,
        latency_max_ms: Sequence[int] = LATENCY_MAX_MS,
        not_available_duration_ms: Sequence[int] = NOT_AVAILABLE_DURATION_MS,
    ) -> None:
        self.enabled = enabled
        self.tolerance = LatencyFaultTolerance(clock)
        self._latency_max_ms = tuple(latency_max_ms)
        self._not_available_duration_ms = tuple(not_available_duration_ms)

    def select_one_message_queue(self, info: TopicPublishInfo, last_broker_name: str | None) -> MessageQueue:
        """Return the queue of an attempt; ``last_broker_name`` is the broker of the failed one, used if this is off.

        On: the next queue whose broker is available. Otherwise a queue of a broker of the better half, and if
        that one does not serve the topic, the next queue.
        """
        if not self.enabled:
            return info.select_one_message_queue(last_broker_name)
        first = info.next_index()
        queues = info.message_queues
        for step in range(len(queues)):
            queue = queues[(first + step) % len(queues)]
            if self.tolerance.is_available(queue.broker_name):
                return queue
        not_best_broker = self.tolerance.pick_one_at_least()
        assert not_best_broker is not None, "a broker that is not available is known"
        of_broker = info.queues_of_broker(not_best_broker)
        if of_broker:
            return of_broker[info.next_index() % len(of_broker)]
        self.tolerance.remove(not_best_broker)
        return info.select_one_message_queue()

    def update_fault_item(self, broker_name: str, latency_ms: int, *, isolation: bool) -> None:
        """Record the end of an attempt with that broker. ``isolation``: it failed, however fast."""
        if self.enabled:
            counts_as_ms = ISOLATION_LATENCY_MS if isolation else latency_ms
            duration_ms = compute_not_available_duration_ms(
                counts_as_ms, self._latency_max_ms, self._not_available_duration_ms
            )
            self.tolerance.update_fault_item(broker_name, latency_ms, duration_ms)

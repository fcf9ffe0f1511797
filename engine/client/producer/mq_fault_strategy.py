"""Chooses the queue of a send, around brokers that were slow or failed (RocketMQ: ``MQFaultStrategy``)::

    a send took            its broker is avoided for
    less than 550 ms                0 s
    550 ms and more                30 s
    1 s                            60 s
    2 s                           120 s
    3 s                           180 s
    15 s, or it failed            600 s     (a failure counts as 30 s)

Off unless ``send_latency_fault_enable`` is set: then queues simply take turns, and only a retry avoids the broker of
the try before. The price of the switch: one slow answer, a garbage collection say, moves the load to the other brokers
for half a minute and more. Sends whose queue is chosen by the caller are neither judged nor diverted.

Different from RocketMQ: only the answer to an asynchronous send is judged, and a oneway send only when it cannot leave.
There, handing a frame to the network counts as a success after 0 ms as well, which frees the broker again at once.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.client.instance.topic_publish_info import TopicPublishInfo
from engine.client.producer.latency_fault_tolerance import LatencyFaultTolerance
from engine.protocol.body.message_queue import MessageQueue
from engine.runtime.port import Clock

#: A send that took ``LATENCY_MAX_MS[i]`` or longer keeps its broker out for ``NOT_AVAILABLE_DURATION_MS[i]``; the
#: greatest such i counts.
LATENCY_MAX_MS = (50, 100, 550, 1_000, 2_000, 3_000, 15_000)
NOT_AVAILABLE_DURATION_MS = (0, 0, 30_000, 60_000, 120_000, 180_000, 600_000)
#: MQFaultStrategy.updateFaultItem: what a failure counts as.
ISOLATION_LATENCY_MS = 30_000


def compute_not_available_duration_ms(
    latency_ms: int,
    latency_max_ms: Sequence[int] = LATENCY_MAX_MS,
    not_available_duration_ms: Sequence[int] = NOT_AVAILABLE_DURATION_MS,
) -> int:
    """For how long a broker is avoided whose answer took ``latency_ms``."""
    steps = zip(reversed(latency_max_ms), reversed(not_available_duration_ms), strict=True)
    return next((duration_ms for limit_ms, duration_ms in steps if latency_ms >= limit_ms), 0)


class MQFaultStrategy:
    """One per producer.

    :param latency_max_ms: ascending; beside it, in ``not_available_duration_ms``, what each costs.
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
        """The queue of a try; ``last_broker_name`` is where the try before failed, which counts when this is off.

        On: the next queue whose broker is available. If none is, a queue of a broker of the better half, and if that
        one does not serve the topic, whichever is next.
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
        """A try with that broker has ended. ``isolation``: it failed, however soon."""
        if self.enabled:
            counts_as_ms = ISOLATION_LATENCY_MS if isolation else latency_ms
            duration_ms = compute_not_available_duration_ms(
                counts_as_ms, self._latency_max_ms, self._not_available_duration_ms
            )
            self.tolerance.update_fault_item(broker_name, latency_ms, duration_ms)

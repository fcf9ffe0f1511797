"""The queues of a topic that a producer may send to, and whose turn it is (RocketMQ: ``TopicPublishInfo``)."""

from __future__ import annotations

from collections.abc import Sequence

from engine.protocol.message_queue import MessageQueue


class TopicPublishInfo:
    """Round robin over the writable queues of a topic.

    :param message_queues: at least one.
    :param first_index: where to begin; chosen at random so that many producers do not begin with the same queue.
    """

    __slots__ = ("_next_index", "message_queues")

    def __init__(self, message_queues: Sequence[MessageQueue], first_index: int) -> None:
        self.message_queues = tuple(message_queues)
        self._next_index = first_index

    def select_one_message_queue(self, avoid_broker_name: str | None = None) -> MessageQueue:
        """The next queue; when a try has just failed, the next one on another broker if there is any."""
        for _ in self.message_queues:
            queue = self._advance()
            if queue.broker_name != avoid_broker_name:
                return queue
        return self._advance()

    def _advance(self) -> MessageQueue:
        queue = self.message_queues[self._next_index % len(self.message_queues)]
        self._next_index += 1
        return queue

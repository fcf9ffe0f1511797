"""The queues of a topic that a producer may send to, in round-robin order (RocketMQ: ``TopicPublishInfo``)."""

from __future__ import annotations

from collections.abc import Sequence

from engine.protocol.body.message_queue import MessageQueue


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
        """Return the next queue; after a failed attempt, the next one on another broker if possible."""
        for _ in self.message_queues:
            queue = self._advance()
            if queue.broker_name != avoid_broker_name:
                return queue
        return self._advance()

    def next_index(self) -> int:
        """Return the next index, an ever increasing number, and advance it."""
        index = self._next_index
        self._next_index += 1
        return index

    def queues_of_broker(self, broker_name: str) -> list[MessageQueue]:
        """Return the broker's queues; empty if it does not serve the topic."""
        return [queue for queue in self.message_queues if queue.broker_name == broker_name]

    def _advance(self) -> MessageQueue:
        return self.message_queues[self.next_index() % len(self.message_queues)]

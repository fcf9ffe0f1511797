"""CONFIG: the user says which queues this member consumes (``AllocateMessageQueueByConfig``).

There is no check that the members' lists cover all queues, or that no queue is on two of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engine.protocol.body.message_queue import MessageQueue


class AllocateMessageQueueByConfig:
    """A strategy with a fixed list.

    :param message_queues: the queues that this member consumes, regardless of other members.
    """

    name = "CONFIG"

    def __init__(self, message_queues: Iterable[MessageQueue]) -> None:
        self.message_queues = tuple(message_queues)

    def allocate(
        self,
        consumer_group: str,
        client_id: str,
        message_queues: Sequence[MessageQueue],
        client_ids: Sequence[str],
    ) -> list[MessageQueue]:
        """Return the configured queues that exist.

        The list may name queues of several topics, and this is called once per topic. (RocketMQ returns the whole list
        each time and so creates queues of other topics twice.)
        """
        return [queue for queue in message_queues if queue in self.message_queues]

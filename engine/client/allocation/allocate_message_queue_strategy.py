"""How the queues of a topic are divided among the members of a group (``AllocateMessageQueueStrategy``).

Every member computes the division for itself, from the same two sorted lists. There is no coordinator: as long as
all see the same lists and use the same strategy, their answers fit together. While they see different lists (a
member has just joined, and not all know yet), two may believe to own one queue.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from engine.protocol.body.message_queue import MessageQueue


class AllocateMessageQueueStrategy(Protocol):
    """A division of queues. Implementations are pure: the same arguments give the same answer everywhere."""

    @property
    def name(self) -> str:
        """RocketMQ's name of the strategy, e.g. ``"AVG"``; for logs and the page."""
        ...

    def allocate(
        self,
        consumer_group: str,
        client_id: str,
        message_queues: Sequence[MessageQueue],
        client_ids: Sequence[str],
    ) -> list[MessageQueue]:
        """The queues that ``client_id`` shall consume.

        :param message_queues: all queues of one topic, sorted.
        :param client_ids: all members of the group, sorted. When ``client_id`` is not among them (the broker has
            not heard of it yet), it gets nothing.
        """
        ...

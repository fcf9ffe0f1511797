"""The interface of strategies that allocate a topic's queues to the members of a group
(``AllocateMessageQueueStrategy``).

Every member computes the allocation itself, from the same two sorted lists. There is no coordinator: as long as all
have the same lists and use the same strategy, their results are consistent. While they have different lists (a member
has just joined, and not all know yet), two may both believe that they own a queue.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from engine.protocol.body.message_queue import MessageQueue


class AllocateMessageQueueStrategy(Protocol):
    """An allocation of queues. Implementations are pure: the same arguments give the same result everywhere."""

    @property
    def name(self) -> str:
        """Return RocketMQ's name of the strategy, e.g. ``"AVG"``; for logs and the page."""
        ...

    def allocate(
        self,
        consumer_group: str,
        client_id: str,
        message_queues: Sequence[MessageQueue],
        client_ids: Sequence[str],
    ) -> list[MessageQueue]:
        """Return the queues that ``client_id`` is to consume.

        :param message_queues: all queues of one topic, sorted.
        :param client_ids: all members of the group, sorted. A ``client_id`` that is not among them (the broker does not
            know it yet) gets nothing.
        """
        ...

"""CONSISTENT_HASH: members and queues are points on a ring (``AllocateMessageQueueConsistentHash``).

Each member has several positions on the ring (its virtual nodes); a queue belongs to the first member at or after its
own position, clockwise. When a member leaves, only its own queues change owners, where AVG would move the borders of
nearly all blocks. The disadvantage: shares are uneven.

The ring is RocketMQ's bit for bit, so that Java members of the same group compute the same allocation: MD5, the first
four bytes as an unsigned number; member keys ``"<client id>-<n>"``; queue keys as Java prints a ``MessageQueue``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from engine.client.foundation.errors import IllegalClientArgument
from engine.client.foundation.red_black_tree import RedBlackTree
from engine.protocol.body.message_queue import MessageQueue

#: AllocateMessageQueueConsistentHash.virtualNodeCnt
DEFAULT_VIRTUAL_NODE_COUNT = 10


def place_on_ring(key: str) -> int:
    """Return the position of ``key`` on the ring, 0 to 2^32-1."""
    return int.from_bytes(hashlib.md5(key.encode(), usedforsecurity=False).digest()[:4], "big")


class AllocateMessageQueueConsistentHash:
    """A strategy that assigns queues to the next member on the hash ring.

    :param virtual_node_count: the number of positions of each member; more makes shares more even.
    """

    name = "CONSISTENT_HASH"

    def __init__(self, virtual_node_count: int = DEFAULT_VIRTUAL_NODE_COUNT) -> None:
        if virtual_node_count < 1:
            raise IllegalClientArgument(f"virtual_node_count must be at least 1, got {virtual_node_count}")
        self._virtual_node_count = virtual_node_count

    def allocate(
        self,
        consumer_group: str,
        client_id: str,
        message_queues: Sequence[MessageQueue],
        client_ids: Sequence[str],
    ) -> list[MessageQueue]:
        if client_id not in client_ids:
            return []
        ring: RedBlackTree[str] = RedBlackTree()
        for member in client_ids:
            for replica in range(self._virtual_node_count):
                ring.put(place_on_ring(f"{member}-{replica}"), member)
        return [queue for queue in message_queues if _owner(ring, queue) == client_id]


def _owner(ring: RedBlackTree[str], queue: MessageQueue) -> str | None:
    key = f"MessageQueue [topic={queue.topic}, brokerName={queue.broker_name}, queueId={queue.queue_id}]"
    next_member = ring.ceiling(place_on_ring(key))
    return ring.first_value() if next_member is None else next_member[1]

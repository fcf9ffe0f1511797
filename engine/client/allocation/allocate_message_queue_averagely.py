"""AVG, the default: each member gets one block of adjacent queues (``AllocateMessageQueueAveragely``).

With 8 queues and 3 members: ``[0 1 2] [3 4 5] [6 7]``; the first ``8 mod 3`` members get one queue more.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.protocol.body.message_queue import MessageQueue


class AllocateMessageQueueAveragely:
    """A strategy of contiguous blocks whose sizes differ by at most one."""

    name = "AVG"

    def allocate(
        self,
        consumer_group: str,
        client_id: str,
        message_queues: Sequence[MessageQueue],
        client_ids: Sequence[str],
    ) -> list[MessageQueue]:
        if client_id not in client_ids:
            return []
        index = client_ids.index(client_id)
        size, remainder = divmod(len(message_queues), len(client_ids))
        start = index * size + min(index, remainder)
        return list(message_queues[start : start + size + (index < remainder)])

"""AVG_BY_CIRCLE: the queues are assigned to the members in turn (``AllocateMessageQueueAveragelyByCircle``).

With 8 queues and 3 members: ``[0 3 6] [1 4 7] [2 5]``. Queues of one broker are adjacent in the sorted list, so this
distributes each broker's queues over the members where AVG would assign them to one.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.protocol.body.message_queue import MessageQueue


class AllocateMessageQueueAveragelyByCircle:
    """A strategy that assigns every n-th queue, beginning with the member's own index."""

    name = "AVG_BY_CIRCLE"

    def allocate(
        self,
        consumer_group: str,
        client_id: str,
        message_queues: Sequence[MessageQueue],
        client_ids: Sequence[str],
    ) -> list[MessageQueue]:
        if client_id not in client_ids:
            return []
        return list(message_queues[client_ids.index(client_id) :: len(client_ids)])

"""The offset resets in progress of a push consumer (RocketMQ: ``MQClientInstance.resetOffset``).

Every broker of a topic sends a reset of its own queues, and an operator may ask for the next one before that is over.
So each queue waits separately: the first reset drops it, and 10 s later it begins at the offset of the newest reset.
Nothing else is paused: other queues continue, and a suspended consumer stays suspended.

RocketMQ suspends the whole consumer, processes one reset after the other, and finally resumes even a consumer that its
user has suspended.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from engine.client.queues.offset_store import OffsetStore
from engine.client.queues.rebalance_impl import RebalanceImpl
from engine.protocol.body.message_queue import MessageQueue
from engine.runtime.step import step

_log = logging.getLogger("glassmq.client")

#: MQClientInstance.resetOffset: the time for running listeners to end before a queue begins again.
RESET_OFFSET_WAIT_MS = 10_000


class ClientOffsetResets:
    """The offset resets of one consumer.

    :ivar pending: queue -> its new offset. The call of :meth:`reset` that added a queue processes it; later calls only
        change its offset.
    """

    def __init__(self, rebalance: RebalanceImpl, offset_store: OffsetStore) -> None:
        self._rebalance = rebalance
        self._offset_store = offset_store
        self.pending: dict[MessageQueue, int] = {}

    async def reset(self, topic: str, offsets: Mapping[MessageQueue, int]) -> None:
        """Drop the queues of ``topic``, wait for their listeners to end, and restart the queues at ``offsets``."""
        wanted = {queue: offset for queue, offset in offsets.items() if queue.topic == topic}
        mine = [queue for queue in wanted if queue not in self.pending]
        self.pending.update(wanted)
        group, table = self._rebalance.group, self._rebalance.process_queue_table
        try:
            for queue in wanted:
                if queue in table:
                    await step("marks the process queue dropped")
                    self._drop(queue)
            _log.info("group %s: %d queues of %s are reset", group, len(wanted), topic)
            await asyncio.sleep(RESET_OFFSET_WAIT_MS / 1_000)
            while mine:
                queue = mine.pop()
                # Again: the queue may have been assigned to this member meanwhile, or have moved away and come back.
                self._drop(queue)
                offset = self.pending.pop(queue)
                _log.info("group %s: %s begins at offset %d", group, queue, offset)
                await self._rebalance.remove_process_queue(queue)
        finally:
            for queue in mine:
                del self.pending[queue]
        self._rebalance.instance.rebalance_immediately()

    def _drop(self, queue: MessageQueue) -> None:
        """Stop consuming a queue of this member, and set its new offset.

        Both happen together: no other offset is set for a dropped queue, and if it moves to another member before the
        wait is over, that member begins at the new offset, too.
        """
        process_queue, offset = self._rebalance.process_queue_table.get(queue), self.pending.get(queue)
        if process_queue is not None and offset is not None:
            process_queue.drop()
            process_queue.clear()
            self._offset_store.update_offset(queue, offset, increase_only=False)

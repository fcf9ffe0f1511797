"""The progress store of clustering consumers, at the brokers (RocketMQ: ``RemoteBrokerOffsetStore``)."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from engine.client.foundation.errors import MQClientError, OffsetNotFound
from engine.client.instance.mq_client_instance import MQClientInstance
from engine.client.queues.offset_table import ConsumerOffsetTable
from engine.protocol.body.message_queue import MessageQueue
from engine.runtime.step import step

_log = logging.getLogger("glassmq.client")


class RemoteBrokerOffsetStore(ConsumerOffsetTable):
    """Implements :class:`~engine.client.queues.offset_store.OffsetStore`.

    Progress is set in memory after each listener call and sent every few seconds: after a crash that much is consumed
    again.
    """

    def __init__(self, instance: MQClientInstance, group: str) -> None:
        super().__init__()
        self._instance = instance
        self._group = group

    async def load(self) -> None:
        """Do nothing: offsets are read when a queue is assigned."""

    async def read_offset_from_store(self, queue: MessageQueue) -> int | None:
        """Request the progress from the broker."""
        address = await self._address(queue)
        try:
            offset = await self._instance.consumer_api.query_consumer_offset(address, self._group, queue)
        except OffsetNotFound:
            return None
        self.update_offset(queue, offset, increase_only=False)
        return offset

    async def persist_all(self, queues: Iterable[MessageQueue]) -> None:
        """Send the progress to the brokers, oneway."""
        ours = dict.fromkeys(queues)
        for queue in list(self.offsets()):
            if queue in ours:
                await self.persist(queue)
            else:
                self.remove_offset(queue)

    async def persist(self, queue: MessageQueue) -> None:
        """Send the progress of one queue to its broker, oneway."""
        await step("reads the offset to persist")
        offset = self.offset_in_memory(queue)
        if offset is None:
            return
        try:
            address = await self._address(queue)
            await self._instance.consumer_api.update_consumer_offset(address, self._group, queue, offset)
        except MQClientError as error:
            _log.warning("offset %d of %s was not stored, the next round tries again: %s", offset, queue, error)

    async def _address(self, queue: MessageQueue) -> str:
        route_table = self._instance.route_table
        try:
            return route_table.address_to_pull_from(queue.broker_name)[0]
        except MQClientError:
            await self._instance.update_route(queue.topic)
            return route_table.address_to_pull_from(queue.broker_name)[0]

"""The broker of this process, reached as any other one, but without a connection: for an operator's requests.

They have the rights of their operator: neither access rules nor TLS apply.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from app.observation.dead_letter_view import retry_max_times
from app.remote.cluster_reader import ClusterReader, QueueEnds
from app.remote.remote_broker import PER_PULL, RemoteBroker
from engine.broker.broker import Broker
from engine.broker.foundation.store_lookups import dispatcher_done
from engine.name_server.name_server import NameServer
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.command.remoting_command import RemotingCommand
from engine.protocol.message.message import MessageExt
from engine.remoting.remoting_client import RemotingClient
from engine.runtime.port import Runtime


class OwnServers(RemotingClient):
    """A client that calls the servers of this process directly, and all others over the wire.

    :param own: returns the broker and the name server that run in this process now.
    """

    def __init__(self, runtime: Runtime, own: Callable[[], Iterable[Broker | NameServer]]) -> None:
        super().__init__(runtime, "operator")
        self._own = own

    async def call(self, address: str, command: RemotingCommand, timeout_ms: int) -> RemotingCommand:
        """Send a request as any client does."""
        server = next((one.server for one in self._own() if one.address == address), None)
        if server is None:
            return await super().call(address, command, timeout_ms)
        return await server.ask_unguarded(command, "127.0.0.1:0")


class OwnBroker(RemoteBroker):
    """The broker of this process: what was just stored is found too, and reading its queues is no delivery.

    What a request reads many times comes from the store: a page must not hold up the broker's clients.
    """

    def __init__(self, reader: ClusterReader, broker: Broker) -> None:
        super().__init__(reader, broker.address)
        self._broker = broker

    async def topics(self) -> list[str]:
        known, stored = self._broker.topic_config_manager.topic_config_table, self._broker.store.topics()
        return list(dict.fromkeys((*known, *stored)))

    async def topic_queues(self, topic: str) -> list[QueueEnds]:
        """Return also the queues that are only read any more."""
        store, config = self._broker.store, self._broker.topic_config_manager.select_topic_config(topic)
        return [
            QueueEnds(
                MessageQueue(topic, self._broker.config.broker_name, queue_id),
                max(0, store.min_offset(topic, queue_id)),
                store.max_offset(topic, queue_id),
                store.last_store_timestamp(topic, queue_id),
            )
            for queue_id in range(0 if config is None else config.queue_nums)
        ]

    async def can_write(self, topic: str, queue_id: int) -> bool:
        config = self._broker.topic_config_manager.select_topic_config(topic)
        return config is not None and queue_id < config.write_queue_nums

    async def place(self, queue: MessageQueue, offset: int) -> int | None:
        entries = self._broker.store.consume_queue_entries(queue.topic, queue.queue_id, offset, 1)
        return entries[0][0] if entries else None

    async def retry_max_times(self, group: str) -> int:
        return retry_max_times(self._broker, group)

    def now_ms(self) -> int:
        return self._broker.runtime.clock.now_ms()

    async def called(self, topic: str, name: str, limit: int) -> list[MessageExt]:
        await dispatcher_done(self._broker.store)
        return await super().called(topic, name, limit)

    async def read(self, topic: str, queue_id: int, first: int, end: int) -> list[MessageExt]:
        """Read the store: the statistics would count a pull."""
        store = self._broker.store
        await dispatcher_done(store)
        messages: list[MessageExt] = []
        for offset in range(max(first, store.min_offset(topic, queue_id)), end):
            message = store.message_in_queue(topic, queue_id, offset)
            if message is not None:
                messages.append(message)
            if offset % PER_PULL == 0:
                await asyncio.sleep(0)  # let the broker's clients run
        return messages

"""The shared half of a client: connections, routes, heartbeats, timers (RocketMQ: ``MQClientInstance``).

RocketMQ shares one instance among all clients of a process with the same client id. Since version 4.9 the default
client id is unique per producer and consumer, so in effect each has its own; here that is the only way.

Different from RocketMQ in one point: when the connection to a broker ends, or a new broker becomes known, the next
heartbeat goes out after one second instead of waiting for its turn. A broker that was restarted does not know its
consumers until they have sent one, and would refuse their pulls for up to 30 s.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from functools import partial
from typing import Protocol

from engine.client.callbacks.acl_client_rpc_hook import make_rpc_hook
from engine.client.foundation.client_config import ClientConfig, build_client_id
from engine.client.foundation.errors import DuplicateClient, MQBrokerError, MQClientError
from engine.client.foundation.service_state import ServiceLife
from engine.client.instance.client_route_table import ClientRouteTable, subscribe_queues
from engine.client.instance.consumer_api import ConsumerApi
from engine.client.instance.mq_client_api import MQClientApi
from engine.protocol.body.heartbeat_data import ConsumerData, HeartbeatData
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.body.topic_route_data import TopicRouteData
from engine.remoting.channel import Channel
from engine.remoting.remoting_client import RemotingClient
from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.port import Runtime

_log = logging.getLogger("glassmq.client")

#: First runs of the periodic work, MQClientInstance.startScheduledTask.
FIRST_ROUTE_POLL_AFTER_MS = 10
FIRST_HEARTBEAT_AFTER_MS = 1_000
FIRST_OFFSET_PERSIST_AFTER_MS = 10_000
#: The delay of the next heartbeat after a lost connection, or after a new broker became known.
EARLY_HEARTBEAT_AFTER_MS = 1_000


class MQProducerInner(Protocol):
    """The interface of a producer for the instance."""

    @property
    def group(self) -> str: ...

    def publish_topics(self) -> Iterable[str]:
        """Return the topics whose routes must be refreshed."""
        ...

    def route_changed(self, topic: str, route: TopicRouteData) -> None:
        """Handle a change of a topic's queues."""
        ...


class MQConsumerInner(Protocol):
    """The interface of a consumer for the instance."""

    @property
    def group(self) -> str: ...

    def subscribed_topics(self) -> Iterable[str]:
        """Return the topics whose routes must be refreshed."""
        ...

    def subscribe_queues_changed(self, topic: str, queues: tuple[MessageQueue, ...]) -> None:
        """Handle the topic's readable queues, sorted; called for each received route, changed or not."""
        ...

    def consumer_data(self) -> ConsumerData:
        """Return the consumer's part of a heartbeat."""
        ...

    def heartbeat_sent(self, consumer_data: ConsumerData) -> None:
        """Note that all reachable brokers have this part of a heartbeat now."""
        ...

    async def do_rebalance(self) -> None:
        """Allocate the queues again and apply the changes."""
        ...

    async def persist_consumer_offsets(self) -> None:
        """Store the progress of all queues."""
        ...


class MQClientInstance:
    """One client as brokers see it: at most one producer and one consumer with one client id.

    :param runtime: the node.
    :param config: the settings of the client.
    :param unique_client_id: passed to :func:`build_client_id`.
    """

    def __init__(self, runtime: Runtime, config: ClientConfig, *, unique_client_id: bool = True) -> None:
        self.runtime = runtime
        self.config = config
        self.client_id = build_client_id(runtime, config, unique=unique_client_id)
        hook = make_rpc_hook(config.access_key, config.secret_key, config.security_token)
        self.remoting_client = RemotingClient(runtime, self.client_id, request_hook=hook)
        self.api = MQClientApi(self.remoting_client, config.name_server_addresses, config.api_timeout_ms)
        self.consumer_api = ConsumerApi(self.api)
        self.route_table = ClientRouteTable(self.api)
        self.producer: MQProducerInner | None = None
        self.consumer: MQConsumerInner | None = None
        #: Protocol version of each broker address, from its heartbeat replies.
        self.broker_versions: dict[str, int] = {}
        self.background = BackgroundTasks(self.client_id)
        self._rebalance_wanted = asyncio.Event()
        self._heartbeat_wanted = asyncio.Event()
        self._heartbeats_have_begun = False
        self._is_stopped = False

    # --- life cycle ------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the periodic work. The producer and consumer are set before."""
        config = self.config
        self.remoting_client.on_connection_closed(self._note_connection_loss)
        self.background.every(
            config.poll_name_server_interval_ms, self.update_all_routes, "route poller", FIRST_ROUTE_POLL_AFTER_MS
        )
        self.background.spawn(self._heartbeat_loop(), "heartbeat")
        if self.consumer is not None:
            if config.poll_missing_route_interval_ms:
                interval_ms = config.poll_missing_route_interval_ms
                self.background.every(interval_ms, self._poll_missing_routes, "missing route poller")
            self.background.every(
                config.persist_consumer_offset_interval_ms,
                self.consumer.persist_consumer_offsets,
                "offset persister",
                FIRST_OFFSET_PERSIST_AFTER_MS,
            )
            self.background.spawn(self._rebalance_loop(), "rebalance service")

    async def stop_background(self) -> None:
        """Stop the periodic work; requests are still possible."""
        self._is_stopped = True
        await self.background.stop()

    def be_the_only(self, kind: str, group: str, life: ServiceLife) -> None:
        """Raise :class:`DuplicateClient` if a ``kind`` of ``group`` with this client id runs in this process.

        The id is taken until ``life`` ends (RocketMQ: ``registerConsumer``, ``registerProducer``). Brokers and the
        other members identify members by their ids: two with one id would take each other's queues.
        """
        names, name = self.runtime.process_names, f"{kind} {group} {self.client_id} {self.config.name_server_addresses}"
        if names.setdefault(name, self) is not self:
            raise DuplicateClient(
                f"a {kind} of group {group!r} with the client id {self.client_id} runs in this process already: shut "
                "it down, or give one of them another instance_name or group"
            )
        life.ends_with(partial(names.pop, name, None))

    def will_end(self, life: ServiceLife) -> None:
        """Have ``life`` stop the periodic work, leave the groups at every broker, and close the connections."""
        life.ends_with(self.remoting_client.shutdown)
        life.ends_with(self.unregister)
        life.ends_with(self.stop_background)

    async def unregister(self) -> None:
        """Leave the groups at every broker, with ``api_timeout_ms`` for all of them together.

        A broker that does not answer in time notices the closed connection.
        """
        producer_group = None if self.producer is None else self.producer.group
        consumer_group = None if self.consumer is None else self.consumer.group
        try:
            async with asyncio.timeout(self.config.api_timeout_ms / 1_000):
                for address in self.remoting_client.connected_addresses:
                    if address not in self.api.name_server_addresses:
                        await self._unregister_at(address, producer_group, consumer_group)
        except TimeoutError:
            _log.info("%s could not unregister at every broker in time", self.client_id)

    async def _unregister_at(self, address: str, producer_group: str | None, consumer_group: str | None) -> None:
        try:
            await self.api.unregister_client(address, self.client_id, producer_group, consumer_group)
        except MQClientError as error:
            _log.info("%s could not unregister at %s: %s", self.client_id, address, error)

    # --- routes ----------------------------------------------------------------------------------------------------

    async def update_all_routes(self) -> None:
        """Refresh the routes of all topics in use."""
        topics: dict[str, None] = {}
        if self.consumer is not None:
            topics.update(dict.fromkeys(self.consumer.subscribed_topics()))
        if self.producer is not None:
            topics.update(dict.fromkeys(self.producer.publish_topics()))
        for topic in topics:
            await self.try_update_route(topic)

    async def _poll_missing_routes(self) -> None:
        assert self.consumer is not None, "only consumers wait for topics"
        for topic in self.consumer.subscribed_topics():
            if not self.route_table.knows(topic):
                try:
                    await self.update_route(topic)
                except MQClientError as error:
                    _log.debug("%s", error)

    async def try_update_route(self, topic: str) -> bool:
        """Refresh one route; on failure log it and keep the old one. Return whether it succeeded."""
        try:
            await self.update_route(topic)
        except MQClientError as error:
            _log.info("%s", error)
            return False
        return True

    async def update_route(self, topic: str) -> TopicRouteData:
        """Request a route and notify the producer and the consumer. Raises :class:`MQClientError`.

        When a consumer receives a topic's first route, it sends a heartbeat to the brokers and rebalances.
        """
        is_new = not self.route_table.knows(topic)
        route = await self.route_table.fetch(topic)
        self._report(topic, route)
        if is_new and self.consumer is not None and self._heartbeats_have_begun:
            # RocketMQ leaves both to their next rounds, up to 30 s and 20 s later.
            if any(address not in self.broker_versions for address in self._addresses()):
                await self.send_heartbeat_to_all_brokers()
            self.rebalance_immediately()
        return route

    async def update_route_by_default_topic(self, topic: str, queue_nums: int) -> TopicRouteData:
        """Update the route as ``update_route`` does, for a topic that does not exist yet. The consumer is not
        notified.
        """
        route = await self.route_table.fetch_by_default_topic(topic, queue_nums)
        if self.producer is not None:
            self.producer.route_changed(topic, route)
        return route

    def _report(self, topic: str, route: TopicRouteData) -> None:
        if any(address not in self.broker_versions for address in self._addresses()):
            self._heartbeat_wanted.set()
        if self.producer is not None:
            self.producer.route_changed(topic, route)
        if self.consumer is not None:
            self.consumer.subscribe_queues_changed(topic, subscribe_queues(topic, route))

    # --- heartbeats ------------------------------------------------------------------------------------------------

    async def _heartbeat_loop(self) -> None:
        await asyncio.sleep(FIRST_HEARTBEAT_AFTER_MS / 1000)
        while True:
            self._heartbeat_wanted.clear()
            self.route_table.forget_offline_brokers()
            await self.send_heartbeat_to_all_brokers()
            try:
                async with asyncio.timeout(self.config.heartbeat_broker_interval_ms / 1000):
                    await self._heartbeat_wanted.wait()
            except TimeoutError:
                continue
            await asyncio.sleep(EARLY_HEARTBEAT_AFTER_MS / 1000)

    def _addresses(self) -> list[str]:
        """Return the destinations of heartbeats."""
        return self.route_table.all_addresses(masters_only=self.consumer is None)

    async def send_heartbeat_to_all_brokers(self) -> None:
        """Send a heartbeat to every known broker (only masters, if there is just a producer)."""
        consumers = () if self.consumer is None else (self.consumer.consumer_data(),)
        producer_groups = () if self.producer is None else (self.producer.group,)
        heartbeat = HeartbeatData(self.client_id, producer_groups, consumers)
        self._heartbeats_have_begun = True
        for address in self._addresses():
            try:
                self.broker_versions[address] = await self.api.send_heartbeat(address, heartbeat)
            except MQClientError as error:
                self.broker_versions.pop(address, None)
                # A broker that cannot be reached is tried again; one that refuses has a reason that must be logged.
                level = logging.WARNING if isinstance(error, MQBrokerError) else logging.INFO
                _log.log(level, "%s: %s", self.client_id, error)
        if self.consumer is not None and consumers:
            self.consumer.heartbeat_sent(consumers[0])

    def _note_connection_loss(self, address: str, channel: Channel) -> None:
        if not self._is_stopped and address not in self.api.name_server_addresses:
            self._heartbeat_wanted.set()

    # --- rebalance (RebalanceService) ------------------------------------------------------------------------------

    async def _rebalance_loop(self) -> None:
        consumer = self.consumer
        assert consumer is not None, "only consumers rebalance"
        loop = asyncio.get_running_loop()
        while True:
            if not self._rebalance_wanted.is_set():
                timer = loop.call_later(self.config.rebalance_interval_ms / 1000, self._rebalance_wanted.set)
                try:
                    await self._rebalance_wanted.wait()
                finally:
                    timer.cancel()
            self._rebalance_wanted.clear()
            try:
                await consumer.do_rebalance()
            except Exception:
                # A user's strategy may raise anything; the next round must still take place.
                _log.exception("rebalance of group %s failed; it will be tried again", consumer.group)

    def rebalance_immediately(self) -> None:
        """Have the next rebalance run immediately."""
        self._rebalance_wanted.set()

    async def find_consumer_ids(self, topic: str, group: str) -> tuple[str, ...] | None:
        """Return the group's members, as a broker of ``topic`` knows them; None if they cannot be determined.

        Every member has registered with every broker. RocketMQ asks a random one; here the others are asked if it does
        not answer.
        """
        for address in self.route_table.brokers_of_topic(topic):
            try:
                return await self.consumer_api.consumer_ids(address, group)
            except MQClientError as error:
                _log.info("%s", error)
        return None

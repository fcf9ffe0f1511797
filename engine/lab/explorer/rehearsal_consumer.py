"""A push consumer whose wire is short: all of :mod:`engine.client` above it is the real thing."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from engine.client.client_config import ClientConfig
from engine.client.client_route_table import ClientRouteTable
from engine.client.consumer_api import ConsumerApi
from engine.client.consumer_config import PushConsumerConfig
from engine.client.default_mq_push_consumer import DefaultMQPushConsumer
from engine.client.errors import MQBrokerError, OffsetNotFound
from engine.client.mq_client_api import MQClientApi
from engine.client.mq_client_instance import FIRST_OFFSET_PERSIST_AFTER_MS, MQClientInstance
from engine.client.pull_api_wrapper import PullApiWrapper
from engine.client.pull_result import PullResult
from engine.protocol.bodies import LockBatchRequestBody
from engine.protocol.heartbeat_data import HeartbeatData
from engine.protocol.message_queue import MessageQueue
from engine.protocol.response_code import ResponseCode
from engine.protocol.subscription_data import SubscriptionData
from engine.protocol.topic_route_data import TopicRouteData
from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.lab_runtime import LabRuntime

if TYPE_CHECKING:
    from engine.lab.explorer.rehearsal_broker import RehearsalBroker

_T = TypeVar("_T")
#: The settings of a consumer, by part.
Configs = tuple[ClientConfig, PushConsumerConfig]

#: Of no importance: heartbeats carry it back.
_BROKER_VERSION = 0


#: Connecting to the name server, asking for the routes of the topic and of the group's retry topic, connecting to the
#: broker.
START_ROUND_TRIPS = 4
#: What a client does again and again although it changes nothing here: routes are fixed, and who has registered stays.
_CHANGE_NOTHING = ("route poller", "heartbeat")
#: The first time that it stores the progress of all queues (see ``MQClientInstance.start``).
_PERSISTER = "offset persister"


class FewTasks(BackgroundTasks):
    """Starts only what can make a difference by ``end_us``: every other task would cost events in every schedule."""

    def __init__(self, name: str, now_us: int, end_us: int) -> None:
        super().__init__(name)
        ends_early = end_us < now_us + FIRST_OFFSET_PERSIST_AFTER_MS * 1_000
        self._left_out = (*_CHANGE_NOTHING, _PERSISTER) if ends_early else _CHANGE_NOTHING

    def spawn(self, coroutine: Coroutine[Any, Any, _T], name: str) -> asyncio.Task[_T]:
        """See the base. Nobody waits for what is left out."""
        if name not in self._left_out:
            return super().spawn(coroutine, name)
        coroutine.close()
        return cast("asyncio.Task[_T]", asyncio.current_task())


class RehearsalConsumer(DefaultMQPushConsumer):
    """The API objects are exchanged for ones that ask the rehearsal's broker directly."""

    def __init__(
        self,
        runtime: LabRuntime,
        group: str,
        broker: RehearsalBroker,
        routes: Mapping[str, TopicRouteData],
        settings: Mapping[str, Any],
        configs: dict[str, Configs],
    ) -> None:
        self._configs = configs
        self._node_name = runtime.node_name
        # Each round of asking for a retry topic that nobody needs here would cost events.
        super().__init__(runtime, group, broker.name_server, **{"poll_missing_route_interval_ms": 0, **settings})
        instance, name = self.instance, runtime.node_name
        instance.api = _Api(instance, broker, name, routes)
        instance.consumer_api = _ConsumerApi(instance.api, broker, name)
        instance.route_table = ClientRouteTable(instance.api)
        instance.background = FewTasks(name, runtime.clock.monotonic_us(), broker.end_us)
        self._impl.pull_api = _PullApi(instance, group, broker, name)
        broker.connect(runtime.node, instance)

    def _build_configs(
        self, name_server_addresses: str | tuple[str, ...] | list[str], settings: dict[str, Any]
    ) -> Configs:
        """The same for every schedule, so they are checked once. They cannot be changed."""
        configs = self._configs.get(self._node_name)
        if configs is None:
            configs = self._configs[self._node_name] = super()._build_configs(name_server_addresses, settings)
        return configs


class _Api(MQClientApi):
    def __init__(
        self, instance: MQClientInstance, broker: RehearsalBroker, name: str, routes: Mapping[str, TopicRouteData]
    ) -> None:
        super().__init__(instance.remoting_client, instance.config.name_server_addresses, 0)
        self._broker = broker
        self._name = name
        self._routes = routes
        self._is_new = True

    async def topic_route(self, topic: str) -> TopicRouteData:
        """See the base. The first question takes as long as all that a start has to wait for."""
        if self._is_new:
            self._is_new = False
            await asyncio.sleep(START_ROUND_TRIPS * self._broker.round_trip_s)
        route = self._routes.get(topic)
        if route is None:
            raise MQBrokerError(ResponseCode.TOPIC_NOT_EXIST, None, "name server", "tell a route")
        return route

    async def send_heartbeat(self, address: str, heartbeat: HeartbeatData) -> int:
        """See the base."""

        def answer() -> int:
            for consumer in heartbeat.consumers:
                self._broker.register(self._name, consumer.group_name)
            return _BROKER_VERSION

        return await self._broker.ask(self._name, answer)


class _ConsumerApi(ConsumerApi):
    def __init__(self, api: MQClientApi, broker: RehearsalBroker, name: str) -> None:
        super().__init__(api)
        self._broker = broker
        self._name = name

    async def consumer_ids(self, address: str, group: str) -> tuple[str, ...]:
        """See the base."""
        return await self._broker.ask(self._name, lambda: self._broker.members(group))

    async def query_consumer_offset(self, address: str, group: str, queue: MessageQueue) -> int:
        """See the base."""

        def answer() -> int:
            offset = self._broker.offset(group, queue)
            if offset is None:
                raise OffsetNotFound(ResponseCode.QUERY_NOT_FOUND, None, address, "tell an offset")
            return offset

        return await self._broker.ask(self._name, answer)

    async def update_consumer_offset(self, address: str, group: str, queue: MessageQueue, offset: int) -> None:
        """See the base."""
        self._broker.tell(self._name, lambda: self._broker.commit(group, queue, offset))

    async def max_offset(self, address: str, queue: MessageQueue) -> int:
        """See the base."""
        return await self._broker.ask(self._name, lambda: self._broker.max_offset(queue))

    async def lock_batch_mq(
        self, address: str, body: LockBatchRequestBody, timeout_ms: int
    ) -> tuple[MessageQueue, ...]:
        """See the base."""
        locks = self._broker.lock_manager
        return await self._broker.ask(
            self._name, lambda: locks.try_lock_batch(body.consumer_group, body.mq_set, body.client_id)
        )

    async def unlock_batch_mq(self, address: str, body: LockBatchRequestBody, timeout_ms: int | None) -> None:
        """See the base."""
        locks = self._broker.lock_manager

        def unlock() -> None:
            locks.unlock_batch(body.consumer_group, body.mq_set, body.client_id)

        if timeout_ms is None:
            self._broker.tell(self._name, unlock)
        else:
            await self._broker.ask(self._name, unlock)


class _PullApi(PullApiWrapper):
    def __init__(self, instance: MQClientInstance, group: str, broker: RehearsalBroker, name: str) -> None:
        super().__init__(instance, group)
        self._broker = broker
        self._name = name

    async def pull(
        self,
        queue: MessageQueue,
        subscription: SubscriptionData,
        offset: int,
        max_messages: int,
        *,
        commit_offset: int | None,
        suspend_ms: int | None,
        post_subscription: bool,
        timeout_ms: int,
    ) -> PullResult:
        """See the base. Nothing is filtered: the scenario's consumers want everything."""
        broker, name = self._broker, self._name
        if commit_offset is not None:
            committed = commit_offset
            broker.tell(name, lambda: broker.commit(self._group, queue, committed))
        return await broker.pull(name, queue, offset, max_messages, suspend_ms or 0)

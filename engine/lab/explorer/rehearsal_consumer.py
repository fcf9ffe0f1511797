"""A push consumer on a short wire: the engine's own, but for the client instance below it and the API objects.

Left out is what changes nothing in a rehearsal: routes are fixed, who has registered stays, nothing is given back to a
retry topic.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from engine.client.consumer.consume_message_orderly_service import ConsumeMessageOrderlyService
from engine.client.consumer.default_mq_push_consumer import DefaultMQPushConsumer
from engine.client.consumer.pull_api_wrapper import PullApiWrapper
from engine.client.consumer.pull_result import PullResult
from engine.client.foundation.client_config import ClientConfig, build_client_id
from engine.client.instance.client_route_table import ClientRouteTable
from engine.client.instance.consumer_api import ConsumerApi
from engine.client.instance.mq_client_instance import FIRST_OFFSET_PERSIST_AFTER_MS, MQClientInstance
from engine.client.queues.consumer_config import PushConsumerConfig
from engine.protocol.body.bodies import LockBatchRequestBody
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.body.subscription_data import SubscriptionData
from engine.protocol.names import retry_topic
from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.lab.lab_runtime import LabRuntime

if TYPE_CHECKING:
    from engine.lab.explorer.rehearsal_broker import RehearsalBroker
    from engine.protocol.message.message import MessageExt

_T = TypeVar("_T")
#: The settings of a consumer, by part.
Configs = tuple[ClientConfig, PushConsumerConfig]

#: Connecting to the name server, asking for the routes of the topic and of the group's retry topic, connecting to the
#: broker.
START_ROUND_TRIPS = 4


class RehearsalConsumer(DefaultMQPushConsumer):
    """:param configs: what schedules share: the settings of each node's consumer, once they are checked."""

    instance: RehearsalInstance

    def __init__(
        self,
        runtime: LabRuntime,
        group: str,
        broker: RehearsalBroker,
        settings: Mapping[str, Any],
        configs: dict[str, Configs],
    ) -> None:
        self._runtime = runtime
        self._broker = broker
        self._configs = configs
        super().__init__(runtime, group, broker.name_server, **settings)
        self._impl.pull_api = _PullApi(self.instance, group)

    def _build_configs(
        self, name_server_addresses: str | tuple[str, ...] | list[str], settings: dict[str, Any]
    ) -> Configs:
        """The same in every schedule, so they are made once. They cannot be changed."""
        name = self._runtime.node_name
        if name not in self._configs:
            client_config, config = super()._build_configs(name_server_addresses, settings)
            # The random part of the client's name is drawn here, not anew in every schedule.
            client_id = build_client_id(self._runtime, client_config, unique=True)
            client_config = replace(client_config, instance_name=client_id.partition("@")[2])
            self._configs[name] = client_config, config
        return self._configs[name]

    def _make_instance(self, runtime: object, config: ClientConfig) -> RehearsalInstance:
        return RehearsalInstance(self._runtime, config, self._broker)

    def _wire(self, listener: Callable[..., Any]) -> None:
        """See the base. Brokers do not call, and no message has had enough tries."""
        impl = self._impl
        impl.rebalance.subscriptions.pop(retry_topic(self.group), None)
        self.instance.consumer = impl
        impl.consume_service = ConsumeMessageOrderlyService(
            self._runtime,
            self.group,
            self.config,
            listener,
            impl.rebalance,
            impl.message_queue_lock,
            impl.offset_store,
            _never_exhausted,
            impl.stats,
            self._hooks,
        )


async def _never_exhausted(message: MessageExt) -> NoReturn:
    raise AssertionError(f"{message.message_id} is put aside, in a rehearsal without a limit of tries")


class RehearsalInstance(MQClientInstance):
    """Members and routes come from ``broker``.

    :ivar name: the node's.
    """

    def __init__(self, runtime: LabRuntime, config: ClientConfig, broker: RehearsalBroker) -> None:
        # Not the base's: most of what it makes are connections.
        self.runtime = runtime
        self.config = config
        self.client_id = build_client_id(runtime, config, unique=True)
        self.broker = broker
        self.name = runtime.node_name
        self.consumer_api = _ConsumerApi(broker, self.name)
        self.route_table = _RouteTable()
        self.producer = None
        self.consumer = None
        self.background = _Tasks(self.client_id)
        self._rebalance_wanted = asyncio.Event()
        broker.connect(runtime.node, self)

    def start(self) -> None:
        """See the base."""
        assert self.consumer is not None, "set by the consumer"
        if self.broker.end_us >= self.runtime.clock.monotonic_us() + FIRST_OFFSET_PERSIST_AFTER_MS * 1_000:
            self.background.every(
                self.config.persist_consumer_offset_interval_ms,
                self.consumer.persist_consumer_offsets,
                "offset persister",
                FIRST_OFFSET_PERSIST_AFTER_MS,
            )
        self.background.spawn(self._rebalance_loop(), "rebalance service")

    async def update_all_routes(self) -> None:
        """See the base. Takes as long as all that a start has to wait for."""
        assert self.consumer is not None, "set by the consumer"
        broker = self.broker
        await broker.reply(self.name, None, (START_ROUND_TRIPS - 1) * broker.round_trip_us)
        for topic in self.consumer.subscribed_topics():
            self.consumer.subscribe_queues_changed(topic, broker.queues[topic])

    async def send_heartbeat_to_all_brokers(self) -> None:
        """See the base."""
        assert self.consumer is not None, "set by the consumer"
        data = self.consumer.consumer_data()
        self.broker.register(self.name, data.group_name)
        await self.broker.reply(self.name, None)
        self.consumer.heartbeat_sent(data)

    async def find_consumer_ids(self, topic: str, group: str) -> tuple[str, ...]:
        """See the base."""
        return await self.broker.reply(self.name, self.broker.members(group))


class _Tasks(BackgroundTasks):
    """Nobody stops them and they let no exception out, so each end need not be an event."""

    def spawn(self, coroutine: Coroutine[Any, Any, _T], name: str) -> asyncio.Task[_T]:
        """See the base."""
        return asyncio.get_running_loop().create_task(coroutine, name=name)


class _RouteTable(ClientRouteTable):
    """There is one broker."""

    def __init__(self) -> None:
        """Nothing is asked for."""

    def master_address(self, broker_name: str) -> str:
        """See the base."""
        return broker_name

    def address_to_pull_from(self, broker_name: str, broker_id: int = 0) -> tuple[str, bool]:
        """See the base."""
        return broker_name, False


class _ConsumerApi(ConsumerApi):
    def __init__(self, broker: RehearsalBroker, name: str) -> None:
        # Not the base's: there is no connection.
        self._broker = broker
        self._name = name

    async def query_consumer_offset(self, address: str, group: str, queue: MessageQueue) -> int:
        """See the base."""
        return await self._broker.reply(self._name, self._broker.offset(group, queue))

    async def update_consumer_offset(self, address: str, group: str, queue: MessageQueue, offset: int) -> None:
        """See the base. Nobody waits for an answer."""
        self._broker.commit(group, queue, offset)

    async def max_offset(self, address: str, queue: MessageQueue) -> int:
        """See the base."""
        return await self._broker.reply(self._name, self._broker.max_offset(queue))

    async def lock_batch_mq(
        self, address: str, body: LockBatchRequestBody, timeout_ms: int
    ) -> tuple[MessageQueue, ...]:
        """See the base."""
        locked = self._broker.lock_manager.try_lock_batch(body.consumer_group, body.mq_set, body.client_id)
        return await self._broker.reply(self._name, locked)

    async def unlock_batch_mq(self, address: str, body: LockBatchRequestBody, timeout_ms: int | None) -> None:
        """See the base."""
        self._broker.lock_manager.unlock_batch(body.consumer_group, body.mq_set, body.client_id)
        if timeout_ms is not None:
            await self._broker.reply(self._name, None)


class _PullApi(PullApiWrapper):
    def __init__(self, instance: RehearsalInstance, group: str) -> None:
        super().__init__(instance, group)
        self._broker = instance.broker
        self._name = instance.name

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
        if commit_offset is not None:
            self._broker.commit(self._group, queue, commit_offset)
        return await self._broker.pull(self._name, queue, offset, max_messages, suspend_ms or 0)

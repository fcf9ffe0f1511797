"""The pull consumer, whose user pulls messages and manages the progress (RocketMQ: ``DefaultMQPullConsumer``)::

async with DefaultMQPullConsumer(group="audit", name_server_addresses="127.0.0.1:9876") as consumer:
    for queue in await consumer.fetch_subscribe_message_queues("Orders"):
        offset = await consumer.min_offset(queue)
        result = await consumer.pull(queue, "*", offset)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from engine.client.consumer.pull_api_wrapper import PullApiWrapper
from engine.client.consumer.pull_result import PullResult
from engine.client.foundation.client_settings import DEFAULT_NAME_SERVER_ADDRESS, build_configs, check_first_arguments
from engine.client.foundation.default_runtime import make_default_runtime
from engine.client.foundation.errors import IllegalClientArgument, MQClientError
from engine.client.foundation.service_context import ServiceContext
from engine.client.foundation.service_state import ServiceLife
from engine.client.instance.client_route_table import subscribe_queues
from engine.client.instance.mq_client_instance import MQClientInstance
from engine.client.queues.consumer_config import PullConsumerConfig
from engine.client.queues.local_file_offset_store import LocalFileOffsetStore
from engine.client.queues.offset_store import OffsetStore
from engine.client.queues.remote_broker_offset_store import RemoteBrokerOffsetStore
from engine.protocol.body.heartbeat_data import ConsumerData
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.body.subscription_data import SUBSCRIBE_ALL, SubscriptionData, build_subscription_data
from engine.protocol.enums import ConsumeFromWhere, ConsumeType, ExpressionType, MessageModel
from engine.protocol.errors import ProtocolError
from engine.runtime.port import Runtime

#: DefaultMQPullConsumer.pull without a number.
DEFAULT_MAX_MESSAGES = 32


class DefaultMQPullConsumer(ServiceContext):
    """A consumer without a listener. Queues are not allocated to members: the user decides what to pull.

    Simplified: RocketMQ's ``MessageQueueListener`` and ``fetchMessageQueuesInBalance`` are left out.

    :param runtime: the node it runs on; None creates a live one, closed at shutdown.
    :param group: the consumer group whose progress is read and stored.
    :param settings: fields of :class:`PullConsumerConfig` and
        :class:`~engine.client.foundation.client_config.ClientConfig`.
    """

    def __init__(
        self,
        runtime: Runtime | None = None,
        group: str = "",
        name_server_addresses: str | tuple[str, ...] | list[str] = DEFAULT_NAME_SERVER_ADDRESS,
        **settings: Any,
    ) -> None:
        check_first_arguments("DefaultMQPullConsumer", runtime, group, settings)
        client_config, self.config = build_configs(name_server_addresses, PullConsumerConfig, settings)
        broadcasting = self.config.message_model is MessageModel.BROADCASTING
        self._life = ServiceLife(f"pull consumer group {group}")
        if runtime is None:
            runtime = make_default_runtime(client_config, self._life, keeps_files=broadcasting)
        self._group = group
        self.instance = MQClientInstance(runtime, client_config, unique_client_id=not broadcasting)
        self._pull_api = PullApiWrapper(self.instance, group)
        self._subscriptions: dict[str, SubscriptionData] = {}
        self.offset_store: OffsetStore = (
            LocalFileOffsetStore(runtime.disk, self.instance.client_id, group)
            if broadcasting
            else RemoteBrokerOffsetStore(self.instance, group)
        )

    # --- life cycle ------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start the consumer. Raises if it was started before."""
        async with self._life.starting():
            self.instance.be_the_only("consumer", self._group, self._life)
            await self.offset_store.load()
            self.instance.consumer = self
            self.instance.will_end(self._life)
            self._life.ends_with(self.persist_consumer_offsets)
            self.instance.start()

    async def shutdown(self) -> None:
        """Store the current progress, leave the group, and close the connections."""
        await self._life.end()

    # --- MQConsumerInner -------------------------------------------------------------------------------------------

    @property
    def group(self) -> str:
        """Return the consumer group."""
        return self._group

    def subscribed_topics(self) -> Iterable[str]:
        """Return the topics that were pulled from."""
        return tuple(self._subscriptions)

    def subscribe_queues_changed(self, topic: str, queues: tuple[MessageQueue, ...]) -> None:
        """Do nothing: the user fetches queues."""

    def consumer_data(self) -> ConsumerData:
        """Return this consumer's part of a heartbeat."""
        return ConsumerData(
            group_name=self._group,
            consume_type=ConsumeType.CONSUME_ACTIVELY,
            message_model=self.config.message_model,
            consume_from_where=ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
            subscriptions=tuple(self._subscriptions.values()),
        )

    def heartbeat_sent(self, consumer_data: ConsumerData) -> None:
        """Do nothing: each pull carries its own subscription expression."""

    async def do_rebalance(self) -> None:
        """Do nothing: the user decides which consumer pulls which queue."""

    async def persist_consumer_offsets(self) -> None:
        """Store the current progress of all queues; also done every 5 s."""
        await self.offset_store.persist_all(tuple(self.offset_store.offsets()))

    # --- pulling ---------------------------------------------------------------------------------------------------

    async def fetch_subscribe_message_queues(self, topic: str) -> tuple[MessageQueue, ...]:
        """Return the readable queues of ``topic``. Raises :class:`~engine.client.foundation.errors.NoRoute`."""
        self._life.require_running()
        return subscribe_queues(topic, await self.instance.update_route(topic))

    async def pull(
        self,
        queue: MessageQueue,
        expression: str = SUBSCRIBE_ALL,
        offset: int = 0,
        max_messages: int = DEFAULT_MAX_MESSAGES,
        *,
        expression_type: ExpressionType = ExpressionType.TAG,
        timeout_ms: int | None = None,
    ) -> PullResult:
        """Pull up to ``max_messages`` from ``offset`` on; return immediately if there are no messages.

        Continue at ``result.next_begin_offset``. Raises :class:`~engine.client.foundation.errors.MQClientError`.
        """
        timeout_ms = self.config.consumer_pull_timeout_ms if timeout_ms is None else timeout_ms
        return await self._pull(queue, expression, expression_type, offset, max_messages, None, timeout_ms)

    async def pull_block_if_not_found(
        self,
        queue: MessageQueue,
        expression: str = SUBSCRIBE_ALL,
        offset: int = 0,
        max_messages: int = DEFAULT_MAX_MESSAGES,
        *,
        expression_type: ExpressionType = ExpressionType.TAG,
    ) -> PullResult:
        """Pull as ``pull`` does, but let the broker wait for a message, up to ``broker_suspend_max_time_ms``."""
        suspend_ms = self.config.broker_suspend_max_time_ms
        timeout_ms = self.config.consumer_timeout_when_suspend_ms
        return await self._pull(queue, expression, expression_type, offset, max_messages, suspend_ms, timeout_ms)

    async def _pull(
        self,
        queue: MessageQueue,
        expression: str,
        expression_type: ExpressionType,
        offset: int,
        max_messages: int,
        suspend_ms: int | None,
        timeout_ms: int,
    ) -> PullResult:
        self._life.require_running()
        if offset < 0:
            raise IllegalClientArgument(f"an offset is 0 or greater, got {offset}")
        if max_messages < 1:
            raise IllegalClientArgument(f"max_messages is 1 or greater, got {max_messages}")
        return await self._pull_api.pull(
            queue,
            self._subscription(queue.topic, expression, expression_type),
            offset,
            max_messages,
            commit_offset=None,
            suspend_ms=suspend_ms,
            post_subscription=True,
            timeout_ms=timeout_ms,
        )

    def _subscription(self, topic: str, expression: str, expression_type: ExpressionType) -> SubscriptionData:
        """Return the subscription of a pull; the heartbeat contains the last one of each topic."""
        known = self._subscriptions.get(topic)
        if known is not None and known.sub_string == expression and known.expression_type == expression_type:
            return known
        try:
            subscription = build_subscription_data(
                topic, expression, expression_type=expression_type, sub_version=self.instance.runtime.clock.now_ms()
            )
        except ProtocolError as error:
            raise IllegalClientArgument(str(error)) from error
        self._subscriptions[topic] = subscription
        return subscription

    # --- offsets ---------------------------------------------------------------------------------------------------

    def update_consume_offset(self, queue: MessageQueue, offset: int) -> None:
        """Set the progress: the offset of the next message to consume. Stored within 5 s and at shutdown."""
        self._life.require_running()
        self.offset_store.update_offset(queue, offset, increase_only=False)

    async def fetch_consume_offset(self, queue: MessageQueue, *, from_store: bool = True) -> int | None:
        """Return the stored progress, or the one in memory; None without any."""
        self._life.require_running()
        if not from_store:
            return self.offset_store.offset_in_memory(queue)
        return await self.offset_store.read_offset_from_store(queue)

    async def max_offset(self, queue: MessageQueue) -> int:
        """Return the offset that the next message of ``queue`` will get."""
        return await self.instance.consumer_api.max_offset(await self._address(queue), queue)

    async def min_offset(self, queue: MessageQueue) -> int:
        """Return the offset of the oldest message of ``queue``."""
        return await self.instance.consumer_api.min_offset(await self._address(queue), queue)

    async def search_offset(self, queue: MessageQueue, timestamp_ms: int) -> int:
        """Return the offset of the message of ``queue`` that was stored at ``timestamp_ms``.

        Without such a message, return the offset of the nearest one, which may be older.
        """
        return await self.instance.consumer_api.search_offset(await self._address(queue), queue, timestamp_ms)

    async def earliest_message_store_time(self, queue: MessageQueue) -> int:
        """Return when the oldest message of ``queue`` was stored, ms since 1970; -1 if it is empty."""
        return await self.instance.consumer_api.earliest_message_store_time(await self._address(queue), queue)

    async def _address(self, queue: MessageQueue) -> str:
        self._life.require_running()
        try:
            return self.instance.route_table.master_address(queue.broker_name)
        except MQClientError:
            await self.instance.update_route(queue.topic)
            return self.instance.route_table.master_address(queue.broker_name)

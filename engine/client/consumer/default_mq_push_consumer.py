"""The push consumer, which calls a listener with every message (RocketMQ: ``DefaultMQPushConsumer``)::

def listen(messages, context):
    for message in messages:
        print(message.body)
    return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

consumer = DefaultMQPushConsumer(group="orders", name_server_addresses="127.0.0.1:9876")
consumer.subscribe("Orders", "drink || food")
consumer.register_message_listener(listen)
async with consumer:
    await asyncio.sleep(3600)
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from engine.client.callbacks.consume_concurrently import MessageListenerConcurrently
from engine.client.callbacks.consume_message_hook import ConsumeMessageHook, ConsumeMessageHooks, DropListener
from engine.client.callbacks.consume_orderly import MessageListenerOrderly
from engine.client.consumer.client_remoting_processor import ClientRemotingProcessor
from engine.client.consumer.consume_message_concurrently_service import ConsumeMessageConcurrentlyService
from engine.client.consumer.consume_message_orderly_service import ConsumeMessageOrderlyService
from engine.client.consumer.consume_message_service import ConsumeMessageService, ConsumeParts
from engine.client.consumer.consumer_running_info import OFFSETS_FILE_PROPERTY, OFFSETS_WRITTEN
from engine.client.consumer.default_mq_push_consumer_impl import DefaultMQPushConsumerImpl
from engine.client.consumer.message_back_sender import MessageBackSender
from engine.client.consumer.orderly_switches import OrderlySwitches
from engine.client.foundation.client_config import ClientConfig
from engine.client.foundation.client_settings import DEFAULT_NAME_SERVER_ADDRESS, build_configs, check_first_arguments
from engine.client.foundation.default_runtime import make_default_runtime
from engine.client.foundation.errors import IllegalClientArgument
from engine.client.foundation.service_context import ServiceContext
from engine.client.foundation.service_state import ServiceLife, ServiceState
from engine.client.instance.mq_client_instance import MQClientInstance
from engine.client.producer.default_mq_producer import DefaultMQProducer, make_unique_id_generator
from engine.client.queues.consumer_config import PushConsumerConfig
from engine.client.queues.local_file_offset_store import LocalFileOffsetStore
from engine.client.queues.message_queue_lock import MessageQueueLock
from engine.client.queues.offset_store import OffsetStore
from engine.client.queues.process_queue import ProcessQueue
from engine.client.queues.pull_flow_control import PullFlowControl
from engine.client.queues.remote_broker_offset_store import RemoteBrokerOffsetStore
from engine.client.trace.async_trace_dispatcher import AsyncTraceDispatcher
from engine.client.trace.trace_hooks import ConsumeMessageTraceHook
from engine.client.trace.trace_service import TraceDispatcherType, make_trace_dispatcher
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.body.subscription_data import SUBSCRIBE_ALL, SubscriptionData, build_subscription_data
from engine.protocol.enums import ExpressionType, MessageModel
from engine.protocol.errors import ProtocolError
from engine.protocol.message.message import MessageExt
from engine.protocol.names import DEFAULT_CONSUMER_GROUP, retry_topic, validate_topic
from engine.runtime.port import Runtime

_log = logging.getLogger("glassmq.client")

#: A listener of either kind.
_AnyListener = Callable[[Sequence[MessageExt], Any], Any]


class DefaultMQPushConsumer(ServiceContext):
    """One member of a consumer group.

    All members of a group must subscribe to the same topics with the same expressions: the broker keeps one set per
    group, and a member with another set takes messages away from the others.

    :param runtime: the node it runs on; None creates a live one, closed at shutdown.
    :param group: the consumer group.
    :param name_server_addresses: ``"host:port;host:port"`` or a sequence of ``"host:port"``.
    :param settings: fields of :class:`PushConsumerConfig` and
        :class:`~engine.client.foundation.client_config.ClientConfig`.

    Raises :class:`IllegalClientArgument` for anything that is not allowed.
    """

    def __init__(
        self,
        runtime: Runtime | None = None,
        group: str = "",
        name_server_addresses: str | tuple[str, ...] | list[str] = DEFAULT_NAME_SERVER_ADDRESS,
        **settings: Any,
    ) -> None:
        check_first_arguments("DefaultMQPushConsumer", runtime, group, settings)
        if group == DEFAULT_CONSUMER_GROUP:
            raise IllegalClientArgument(f"{group!r} is not allowed as a consumer group; choose a name of your own")
        client_config, self.config = build_configs(name_server_addresses, PushConsumerConfig, settings)
        self._life = ServiceLife(f"consumer group {group}")
        if runtime is None:
            keeps_files = self.config.message_model is MessageModel.BROADCASTING
            runtime = make_default_runtime(client_config, self._life, keeps_files=keeps_files)
        self.group = group
        is_clustering = self.config.message_model is MessageModel.CLUSTERING
        self.instance = MQClientInstance(runtime, client_config, unique_client_id=is_clustering)
        offset_store = self._make_offset_store(runtime)
        self._impl = DefaultMQPushConsumerImpl(self.instance, group, self.config, offset_store)
        if isinstance(offset_store, LocalFileOffsetStore):
            self.report(OFFSETS_FILE_PROPERTY, lambda: offset_store.failure or OFFSETS_WRITTEN)
        self._listener: _AnyListener | None = None
        self._hooks = ConsumeMessageHooks()
        self.trace_dispatcher = self._make_trace_dispatcher(client_config)
        self.orderly_switches = OrderlySwitches(self._impl)

    def _make_offset_store(self, runtime: Runtime) -> OffsetStore:
        if self.config.message_model is MessageModel.BROADCASTING:
            return LocalFileOffsetStore(runtime.disk, self.instance.client_id, self.group)
        return RemoteBrokerOffsetStore(self.instance, self.group)

    def _make_trace_dispatcher(self, client_config: ClientConfig) -> AsyncTraceDispatcher | None:
        if not self.config.enable_msg_trace:
            return None
        runtime, topic = self.instance.runtime, self.config.customized_trace_topic
        kind = TraceDispatcherType.CONSUME
        dispatcher = make_trace_dispatcher(DefaultMQProducer, runtime, client_config, self.group, kind, topic)
        self._hooks.add(ConsumeMessageTraceHook(dispatcher, runtime.clock, make_unique_id_generator(runtime)))
        return dispatcher

    @property
    def runtime(self) -> Runtime:
        """Return the runtime of the consumer's node: its clock, random numbers, and threads for blocking calls."""
        return self.instance.runtime

    # --- before the start ------------------------------------------------------------------------------------------

    def subscribe(
        self, topic: str, expression: str = SUBSCRIBE_ALL, expression_type: ExpressionType = ExpressionType.TAG
    ) -> None:
        """Subscribe to ``topic``: to all messages, to ``"TagA || TagB"``, or to those that match an SQL92 condition.

        May be called while the consumer runs: the change takes effect immediately. Raises
        :class:`IllegalClientArgument`.
        """
        try:
            validate_topic(topic)
            subscription = build_subscription_data(
                topic, expression, expression_type=expression_type, sub_version=self.instance.runtime.clock.now_ms()
            )
        except ProtocolError as error:
            raise IllegalClientArgument(str(error)) from error
        self._impl.rebalance.subscriptions[topic] = subscription
        self._announce_subscriptions()

    def unsubscribe(self, topic: str) -> None:
        """Unsubscribe from ``topic``."""
        self._impl.rebalance.subscriptions.pop(topic, None)
        self._announce_subscriptions()

    def register_message_listener(self, listener: MessageListenerConcurrently) -> None:
        """Register ``listener(messages, context)``, a plain or a coroutine function.

        Several calls run at a time, each with up to ``consume_message_batch_max_size`` messages of one queue. A plain
        function runs in its own thread and may block.
        """
        self._register(listener, is_orderly=False)

    def register_message_listener_orderly(self, listener: MessageListenerOrderly) -> None:
        """Register ``listener(messages, context)`` for one message of a queue after the other, in order.

        Several queues are consumed at a time, each by one call. The listener returns a
        :class:`~engine.client.callbacks.consume_orderly.ConsumeOrderlyStatus`. A message that cannot be consumed blocks
        its queue until it can, or until ``max_reconsume_times`` is reached.
        """
        self._register(listener, is_orderly=True)

    def _register(self, listener: _AnyListener, *, is_orderly: bool) -> None:
        if not callable(listener):
            raise IllegalClientArgument(f"a listener is a function (messages, context), got {listener!r}")
        if self._life.state is not ServiceState.CREATE_JUST:
            raise IllegalClientArgument("register the listener before start()")
        self._listener = listener
        self._impl.rebalance.is_orderly = is_orderly

    def register_consume_message_hook(self, hook: ConsumeMessageHook) -> None:
        """Register ``hook`` to be called before and after every listener call."""
        self._hooks.add(hook)

    def register_drop_listener(self, listener: DropListener) -> None:
        """Register ``listener(queue, message)`` for failed broadcast messages, which are not delivered again."""
        self._hooks.add_drop_listener(listener)

    def report(self, name: str, value: Callable[[], str]) -> None:
        """Report ``value()`` as property ``name`` in the running info (307)."""
        self._impl.reported[name] = value

    # --- life cycle ------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Join the group and start to consume.

        A topic without a route, or a name server that is down, is not an error: the request is repeated until it
        succeeds. Raises :class:`IllegalClientArgument` without a listener, and
        :class:`~engine.client.foundation.errors.MQClientError` when a broker refuses an expression.
        """
        if self._listener is None:
            raise IllegalClientArgument("no listener: call register_message_listener(...) before start()")
        async with self._life.starting():
            self.instance.be_the_only("consumer", self.group, self._life)
            if self.config.message_model is MessageModel.CLUSTERING:
                retry = retry_topic(self.group)
                now_ms = self.instance.runtime.clock.now_ms()
                self._impl.rebalance.subscriptions.setdefault(retry, SubscriptionData(retry, sub_version=now_ms))
            await self._impl.offset_store.load()
            if self.trace_dispatcher is not None:
                self._life.ends_with(self.trace_dispatcher.shutdown)
                await self.trace_dispatcher.start()
            self._begin(self._listener)
            await self.instance.update_all_routes()
            await self._impl.check_subscriptions_at_broker()
            await self.instance.send_heartbeat_to_all_brokers()
        self._impl.is_started = True
        self.instance.rebalance_immediately()

    def _begin(self, listener: _AnyListener) -> None:
        """Start all parts. A shutdown stops them in the reverse order of this method."""
        self._wire(listener)
        self.instance.will_end(self._life)
        self._life.ends_with(self._leave_queues)
        await_ms = self.config.await_termination_when_shutdown_ms
        self._life.ends_with(partial(self._impl.consume_service.shutdown, await_ms))
        self._life.ends_with(self.instance.stop_background)
        self._impl.consume_service.start()
        self.instance.start()
        self._impl.pull_message_service.start(self.instance.background)

    def _wire(self, listener: _AnyListener) -> None:
        """Connect the parts that only exist after the start."""
        config, impl = self.config, self._impl
        is_orderly = impl.rebalance.is_orderly
        limit = config.max_reconsume_times_orderly if is_orderly else config.max_reconsume_times_or_default
        back_sender = MessageBackSender(self.instance, self.group, limit)
        self.instance.producer = back_sender.inner_producer
        self.instance.consumer = impl
        rebalance, offset_store, runtime = impl.rebalance, impl.offset_store, self.instance.runtime
        parts = ConsumeParts(runtime, self.group, config, listener, rebalance, offset_store, impl.stats, self._hooks)
        impl.consume_service = (
            ConsumeMessageOrderlyService(parts, impl.message_queue_lock, back_sender.send_exhausted)
            if is_orderly
            else ConsumeMessageConcurrentlyService(parts, back_sender.send_back)
        )
        ClientRemotingProcessor(self.instance, impl, config).register()

    async def shutdown(self) -> None:
        """Stop pulling, wait for running listeners, store the progress, leave the group, close connections."""
        await self._life.end()

    async def _leave_queues(self) -> None:
        try:
            await self._impl.persist_consumer_offsets()
            if self._impl.rebalance.needs_broker_locks:
                # RocketMQ unlocks first, so the next owner of a queue may begin at an older offset.
                await self._impl.rebalance.unlock_all()
        finally:
            self._impl.rebalance.drop_all()

    # --- operation -------------------------------------------------------------------------------------------------

    def suspend(self) -> None:
        """Stop pulling until ``resume`` is called. Messages pulled before are still consumed."""
        self._impl.paused = True

    def resume(self) -> None:
        """End a suspension: pulls start again within a second."""
        self._impl.paused = False
        self.instance.rebalance_immediately()

    @property
    def is_suspended(self) -> bool:
        """Return whether pulling is suspended."""
        return self._impl.paused

    def update_core_pool_size(self, count: int) -> bool:
        """Set the number of parallel listener calls, at least 1 and less than ``consume_thread_max``.

        Other numbers have no effect and return False (RocketMQ does not report it). Running calls are not interrupted.
        RocketMQ also checks once a minute whether a backlog needs more workers (``adjustThreadPool``); the method that
        it would call is empty in 4.9.8, so that is left out. Raises :class:`IllegalClientArgument` before the start.
        """
        if not self._life.is_running:
            raise IllegalClientArgument("update_core_pool_size needs a running consumer")
        return self._impl.consume_service.update_core_pool_size(count)

    @property
    def process_queues(self) -> dict[MessageQueue, ProcessQueue]:
        """Return the queues that this member owns at present, with their waiting messages, for reading only."""
        return self._impl.rebalance.process_queue_table

    def unwanted_messages(self, topic: str) -> int:
        """Return how many messages of ``topic`` were dropped because their tag only shares a subscribed tag's hash
        code.
        """
        return self._impl.stats.of_topic(topic).unwanted_messages

    @property
    def flow_control(self) -> PullFlowControl:
        """Return the flow control, which decides when a queue is not pulled because too many messages wait here."""
        return self._impl.flow_control

    @property
    def is_orderly(self) -> bool:
        """Return whether an orderly listener is registered."""
        return self._impl.rebalance.is_orderly

    @property
    def message_queue_lock(self) -> MessageQueueLock:
        """Return the local locks of an orderly consumer, one per queue, for reading only."""
        return self._impl.message_queue_lock

    @property
    def consume_service(self) -> ConsumeMessageService[Any, Any]:
        """Return the service that calls the listener, for reading only, once the consumer is started."""
        return self._impl.consume_service

    async def force_unlock(self, queue: MessageQueue) -> None:
        """Release a queue immediately, whether or not its listener runs. For lessons
        (``RebalancePushImpl.force_unlock``).
        """
        await self._impl.rebalance.force_unlock(queue)

    @property
    def offset_store(self) -> OffsetStore:
        """Return the store of this member's progress."""
        return self._impl.offset_store

    def _announce_subscriptions(self) -> None:
        """Send a change of subscriptions to the brokers while the consumer runs, or is about to."""
        if self._life.is_running or self._life.is_starting:
            self.instance.background.spawn(self._subscriptions_changed(), "subscription change")

    async def _subscriptions_changed(self) -> None:
        await self.instance.update_all_routes()
        await self.instance.send_heartbeat_to_all_brokers()
        self.instance.rebalance_immediately()

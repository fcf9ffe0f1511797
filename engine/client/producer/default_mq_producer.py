"""The producer (RocketMQ: ``DefaultMQProducer``)::

async with DefaultMQProducer(group="orders", name_server_addresses="127.0.0.1:9876") as producer:
    result = await producer.send(Message("Orders", b"one coffee", tags="drink", keys="order-1"))
    print(result.status, result.message_queue, result.queue_offset)
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from collections.abc import Awaitable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from engine.client.callbacks.message_queue_selector import MessageQueueSelector
from engine.client.callbacks.send_message_hook import SendMessageHook
from engine.client.callbacks.send_result import SendResult
from engine.client.foundation.client_config import ClientConfig
from engine.client.foundation.client_settings import DEFAULT_NAME_SERVER_ADDRESS, build_configs, check_first_arguments
from engine.client.foundation.default_runtime import make_default_runtime
from engine.client.foundation.errors import IllegalClientArgument, MQClientError
from engine.client.foundation.service_context import ServiceContext
from engine.client.foundation.service_state import ServiceLife
from engine.client.instance.mq_client_instance import MQClientInstance
from engine.client.producer.async_send_permits import AsyncSendPermits
from engine.client.producer.async_sender import AsyncSender, SendCallback
from engine.client.producer.default_mq_producer_impl import DefaultMQProducerImpl
from engine.client.producer.latency_fault_tolerance import FaultItem
from engine.client.producer.message_batch import MessageBatch, check_batch_messages, check_batch_size
from engine.client.producer.message_numbering import MessageNumbering
from engine.client.producer.message_validator import check_message
from engine.client.producer.producer_config import ProducerConfig
from engine.client.producer.requester import RequestCallback, Requester, SendRequest
from engine.client.producer.send_kernel import Outgoing, outgoing_message
from engine.client.trace.async_trace_dispatcher import AsyncTraceDispatcher
from engine.client.trace.trace_hooks import EndTransactionTraceHook, SendMessageTraceHook
from engine.client.trace.trace_service import TraceDispatcherType, make_trace_dispatcher
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.message.batch_codec import encode_batch
from engine.protocol.message.message import Message, MessageExt
from engine.protocol.message.message_id import UniqueIdGenerator
from engine.protocol.message.message_properties import PROPERTY_UNIQUE_KEY
from engine.protocol.names import AUTO_CREATE_TOPIC_KEY_TOPIC, DEFAULT_PRODUCER_GROUP
from engine.runtime.port import Runtime

_log = logging.getLogger("glassmq.client")

#: How often ``create_topic`` checks whether the name servers know the topic.
CREATE_TOPIC_POLL_MS = 100

_Result = TypeVar("_Result")


def make_unique_id_generator(runtime: Runtime) -> UniqueIdGenerator:
    """Create a generator whose ids differ from those of every other client, including ones in this process."""
    identity = runtime.identity
    instance_hash = identity.instance_hash ^ runtime.random_for("unique message ids").getrandbits(32)
    return UniqueIdGenerator(identity.host_ip, identity.process_id, instance_hash, runtime.clock.now_ms)


class DefaultMQProducer(ServiceContext):
    """A producer of one group.

    :param runtime: the node it runs on; None creates a live one, closed at shutdown.
    :param group: the producer group.
    :param name_server_addresses: ``"host:port;host:port"`` or a sequence of ``"host:port"``.
    :param settings: fields of :class:`ProducerConfig` and
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
        check_first_arguments("DefaultMQProducer", runtime, group, settings)
        if group == DEFAULT_PRODUCER_GROUP:
            raise IllegalClientArgument(f"{group!r} is not allowed as a producer group; choose a name of your own")
        client_config, self.config = build_configs(name_server_addresses, ProducerConfig, settings)
        self._life = ServiceLife(f"producer group {group}")
        if runtime is None:
            runtime = make_default_runtime(client_config, self._life, keeps_files=False)
        self.group = group
        self.instance = MQClientInstance(runtime, client_config)
        self._impl = DefaultMQProducerImpl(self.instance, group, self.config)
        self._unique_ids = make_unique_id_generator(runtime)
        #: Numbers messages; None unless ``number_messages`` is set.
        self.numbering = MessageNumbering(f"{group}@{self._unique_ids.next()}") if self.config.number_messages else None
        self.trace_dispatcher = self._make_trace_dispatcher(client_config)
        self.permits = AsyncSendPermits(
            self.config.async_sends_in_flight_max,
            self.config.async_sends_waiting_max,
            self.config.async_sends_in_flight_max_bytes,
            self.config.async_sends_waiting_max_bytes,
        )
        self._async_sender = AsyncSender(runtime, self.permits)
        self.requester = Requester(self.instance, self._impl.publish_info, self.config.requests_waiting_max)

    def _make_trace_dispatcher(self, client_config: ClientConfig) -> AsyncTraceDispatcher | None:
        if not self.config.enable_msg_trace:
            return None
        runtime, topic = self.instance.runtime, self.config.customized_trace_topic
        kind = TraceDispatcherType.PRODUCE
        dispatcher = make_trace_dispatcher(DefaultMQProducer, runtime, client_config, self.group, kind, topic)
        hooks = self._impl.kernel.hooks
        hooks.add(SendMessageTraceHook(dispatcher, runtime.clock))
        hooks.add_end_transaction(EndTransactionTraceHook(dispatcher, runtime.clock))
        return dispatcher

    # --- life cycle ------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start the producer. Needs no name server yet: a send reports what is missing. Raises if it was started
        before.
        """
        async with self._life.starting():
            self.instance.be_the_only("producer", self.group, self._life)
            if self.trace_dispatcher is not None:
                self._life.ends_with(self.trace_dispatcher.shutdown)
            self.instance.producer = self._impl
            self.instance.will_end(self._life)
            self._life.ends_with(self._finish_sends)
            self.instance.start()
            if self.trace_dispatcher is not None:
                await self.trace_dispatcher.start()

    async def shutdown(self) -> None:
        """Wait for asynchronous sends (at most ``send_msg_timeout_ms``), leave the group, and close the connections.

        The callback of a send that has not ended then gets :class:`~engine.client.foundation.errors.ClientNotRunning`,
        and so do requests that wait for their replies.
        """
        await self._life.end()

    async def _finish_sends(self) -> None:
        self.requester.fail_all()
        timeout_ms = self.config.send_msg_timeout_ms
        await self._async_sender.finish(timeout_ms)
        try:
            async with asyncio.timeout(timeout_ms / 1_000):
                await self.requester.finish()
        except TimeoutError:
            _log.warning("producer group %s: requests did not end in time and were given up", self.group)
        await self._send_ledgers()

    async def _send_ledgers(self) -> None:
        """Report how many numbers were assigned, so that losses of the last ones are visible."""
        topic = self.config.numbering_ledger_topic
        if self.numbering is None or not topic:
            return
        for ledger in self.numbering.ledgers():
            message = Message(topic, ledger.encode(), keys=ledger.producer_id)
            self._give_unique_id(message)
            try:
                await self._impl.send(outgoing_message(message, self.config), self.config.send_msg_timeout_ms)
            except MQClientError as error:
                _log.warning("nobody will know how many messages %s numbered: %s", ledger.producer_id, error)

    def register_send_message_hook(self, hook: SendMessageHook) -> None:
        """Register ``hook`` to be called before and after every send attempt."""
        self._impl.kernel.hooks.add(hook)

    # --- sending ---------------------------------------------------------------------------------------------------

    async def send(
        self,
        message: Message,
        queue: MessageQueue | None = None,
        selector: MessageQueueSelector | None = None,
        selector_argument: object = None,
        timeout_ms: int | None = None,
    ) -> SendResult:
        """Send and wait for the broker's reply.

        Without ``queue`` and ``selector`` queues are used in rotation, and a failed attempt is repeated at another
        broker; with one of them there is only one attempt, because another queue would be wrong.

        The message gets a unique id (property ``UNIQ_KEY``) unless it has one. Raises
        :class:`~engine.client.foundation.errors.MQClientError`, whose ``outcome_is_known`` says whether the message may
        be stored nevertheless.
        """
        outgoing = self._prepare(message)
        chosen = await self._choose(message, queue, selector, selector_argument)
        return await self._send((message,), outgoing, chosen, timeout_ms)

    def send_async(
        self,
        message: Message,
        callback: SendCallback,
        queue: MessageQueue | None = None,
        selector: MessageQueueSelector | None = None,
        selector_argument: object = None,
        timeout_ms: int | None = None,
    ) -> Awaitable[None]:
        """Start a send; ``callback(result, error)`` is called once with a result or an error.

        It is also called for a send that a shutdown cancels. A coroutine function runs in the event loop; a plain one
        in a thread, in parallel with others.

        Await the returned object to wait while ``async_sends_in_flight_max`` sends are in progress; it does not wait
        for the result. A send without a permit until ``timeout_ms`` is over ends with
        :class:`~engine.client.foundation.errors.RequestFailed`. Raises
        :class:`~engine.client.foundation.errors.TooManyPendingSends` if far more were started.
        """
        outgoing = self._prepare(message)
        timeout_ms = self.config.send_msg_timeout_ms if timeout_ms is None else timeout_ms

        async def send_within(left_ms: int) -> SendResult:
            chosen = await self._choose(message, queue, selector, selector_argument)
            return await self._numbered((message,), self._impl.send_async(outgoing, chosen, left_ms))

        return self._async_sender.begin(send_within, callback, len(outgoing.body), timeout_ms)

    async def send_oneway(
        self,
        message: Message,
        queue: MessageQueue | None = None,
        selector: MessageQueueSelector | None = None,
        selector_argument: object = None,
    ) -> None:
        """Send without a reply. Raises only if the request cannot even be sent."""
        outgoing = self._prepare(message)
        chosen = await self._choose(message, queue, selector, selector_argument)
        await self._numbered((message,), self._impl.send_oneway(outgoing, chosen))

    async def send_batch(
        self, messages: Sequence[Message], queue: MessageQueue | None = None, timeout_ms: int | None = None
    ) -> SendResult:
        """Send many messages of one topic in one request; they are stored consecutively in one queue.

        The total size is at most ``max_message_size`` bytes: split longer lists with
        :class:`~engine.client.producer.list_splitter.ListSplitter`. Batches are not compressed.
        """
        if queue is not None and messages:
            _check_queue(messages[0].topic, queue)
        return await self._send(messages, self._prepare_batch(messages), queue, timeout_ms)

    async def request(
        self,
        message: Message,
        timeout_ms: int | None = None,
        queue: MessageQueue | None = None,
        selector: MessageQueueSelector | None = None,
        selector_argument: object = None,
    ) -> MessageExt:
        """Send ``message`` and wait for a consumer's reply to it (:mod:`engine.client.producer.requester`).

        ``timeout_ms`` (default ``send_msg_timeout_ms``) covers the request and the reply. Raises
        :class:`~engine.client.foundation.errors.RequestTimedOut` when no reply came, and what :meth:`send` raises.
        """
        timeout_ms = self.config.send_msg_timeout_ms if timeout_ms is None else timeout_ms
        correlation_id, send = self._prepare_request(message, timeout_ms, queue, selector, selector_argument)
        return await self.requester.request(correlation_id, message.topic, send, timeout_ms)

    def request_async(
        self,
        message: Message,
        callback: RequestCallback,
        timeout_ms: int | None = None,
        queue: MessageQueue | None = None,
        selector: MessageQueueSelector | None = None,
        selector_argument: object = None,
    ) -> None:
        """Start a request; ``callback(reply, error)`` is called once, with a reply or an error."""
        timeout_ms = self.config.send_msg_timeout_ms if timeout_ms is None else timeout_ms
        correlation_id, send = self._prepare_request(message, timeout_ms, queue, selector, selector_argument)
        self.requester.request_async(correlation_id, message.topic, send, callback, timeout_ms)

    # --- queries and creation --------------------------------------------------------------------------------------

    @property
    def fault_items(self) -> Mapping[str, FaultItem]:
        """Return the faults of brokers by name, for reading only; empty without ``send_latency_fault_enable``."""
        return self._impl.fault_strategy.tolerance.fault_items

    async def fetch_publish_message_queues(self, topic: str) -> tuple[MessageQueue, ...]:
        """Return the queues of ``topic`` that can be sent to. Raises
        :class:`~engine.client.foundation.errors.NoRoute`.
        """
        self._life.require_running()
        return (await self._impl.publish_info(topic)).message_queues

    async def create_topic(self, topic: str, queue_nums: int = 4) -> None:
        """Create ``topic``, or change its number of queues, on every broker that creates topics on demand.

        Returns once a name server reports the new number, or after ``api_timeout_ms``: brokers register by themselves.
        """
        self._life.require_running()
        route = await self.instance.route_table.fetch(AUTO_CREATE_TOPIC_KEY_TOPIC)
        for data in sorted(route.broker_datas, key=lambda data: data.broker_name):
            await self.instance.api.create_topic(
                self.instance.route_table.master_address(data.broker_name), topic, queue_nums
            )
        for _ in range(self.instance.config.api_timeout_ms // CREATE_TOPIC_POLL_MS):
            if await self.instance.try_update_route(topic):
                known = self.instance.route_table.routes[topic].queue_datas
                if len(known) == len(route.broker_datas) and {data.write_queue_nums for data in known} == {queue_nums}:
                    return
            await asyncio.sleep(CREATE_TOPIC_POLL_MS / 1000)
        _log.warning("topic %s is created, but the name server does not list all its queues yet", topic)

    # --- internals -------------------------------------------------------------------------------------------------

    async def _send(
        self, messages: Sequence[Message], outgoing: Outgoing, queue: MessageQueue | None, timeout_ms: int | None
    ) -> SendResult:
        timeout_ms = self.config.send_msg_timeout_ms if timeout_ms is None else timeout_ms
        if queue is None:
            return await self._numbered(messages, self._impl.send(outgoing, timeout_ms))
        return await self._numbered(messages, self._impl.send_to(outgoing, queue, timeout_ms))

    def _prepare(self, message: Message, own_properties: Collection[str] = ()) -> Outgoing:
        self._life.require_running()
        check_message(message, self.config.max_message_size, own_properties)
        self._give_unique_id(message)
        return outgoing_message(message, self.config)

    def _prepare_request(
        self,
        message: Message,
        timeout_ms: int,
        queue: MessageQueue | None,
        selector: MessageQueueSelector | None,
        selector_argument: object,
    ) -> tuple[str, SendRequest]:
        self._life.require_running()
        correlation_id = self.requester.mark(message, timeout_ms)
        # The same message may be sent as the next request before this one has been sent.
        outgoing = self._prepare(message)
        properties = dict(outgoing.properties)
        outgoing = dataclasses.replace(outgoing, properties=properties)

        async def send_within(left_ms: int) -> SendResult:
            chosen = await self._choose(message, queue, selector, selector_argument)
            sending = self._impl.send_async(outgoing, chosen, left_ms)
            if self.numbering is None:
                return await sending
            return await self.numbering.note(topic, self.numbering.number(topic, [properties]), sending)

        topic = message.topic
        return correlation_id, send_within

    def _prepare_batch(self, messages: Sequence[Message]) -> Outgoing:
        self._life.require_running()
        batch = MessageBatch(messages)
        check_batch_messages(batch.messages, self.config.max_message_size)
        for message in batch.messages:
            self._give_unique_id(message)
        # The numbers are in the body of the request.
        numbers = self._number(batch.messages)
        body = encode_batch(batch.messages)
        try:
            check_batch_size(len(body), len(batch.messages), self.config.max_message_size)
        except IllegalClientArgument:
            if self.numbering is not None:
                self.numbering.is_not_stored(batch.topic, numbers)
            raise
        return Outgoing(batch.topic, body, 0, 0, batch.properties, batch.unique_id, is_batch=True)

    def _number(self, messages: Sequence[Message]) -> list[int]:
        if self.numbering is None:
            return []
        return self.numbering.number(messages[0].topic, [message.properties for message in messages])

    async def _numbered(self, messages: Sequence[Message], sending: Awaitable[_Result]) -> _Result:
        """Number ``messages``, if enabled, then await ``sending``."""
        if self.numbering is None:
            return await sending
        return await self.numbering.note(messages[0].topic, self._number(messages), sending)

    def _give_unique_id(self, message: Message) -> None:
        if PROPERTY_UNIQUE_KEY not in message.properties:
            message.properties[PROPERTY_UNIQUE_KEY] = self._unique_ids.next()

    async def _choose(
        self,
        message: Message,
        queue: MessageQueue | None,
        selector: MessageQueueSelector | None,
        selector_argument: object,
    ) -> MessageQueue | None:
        if selector is not None:
            if queue is not None:
                raise IllegalClientArgument("give a queue or a selector, not both")
            return await self._impl.select(message, selector, selector_argument)
        if queue is not None:
            _check_queue(message.topic, queue)
        return queue


def _check_queue(topic: str, queue: MessageQueue) -> None:
    if queue.topic != topic:
        raise IllegalClientArgument(f"the message has topic {topic!r}, the queue {queue} belongs to {queue.topic!r}")

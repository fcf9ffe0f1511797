"""The sender of a producer's traffic in a scenario, with counts of the outcomes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator, Sequence
from typing import TypedDict

from engine.client.callbacks.message_queue_selector import (
    MessageQueueSelector,
    SelectMessageQueueByConsistentHash,
    select_message_queue_by_hash,
)
from engine.client.callbacks.send_message_hook import SendMessageContext
from engine.client.callbacks.send_result import SendResult
from engine.client.foundation.errors import MQClientError, RequestFailed, RequestTimedOut
from engine.client.producer.default_mq_producer import DefaultMQProducer
from engine.client.producer.transaction_mq_producer import TransactionMQProducer
from engine.lab.nodes.history import RequestReturned, SendInvoked, SendReturned
from engine.lab.nodes.node_banks import NodePayingBank
from engine.lab.nodes.scenario_node import ScenarioNode
from engine.lab.scenario.traffic_spec import IDENTIFIER, SendMode, TrafficSpec
from engine.lab.work.identifiers import IdentifierMaker
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.message.message import Message
from engine.protocol.message.message_properties import PROPERTY_KEYS


class _Choice(TypedDict, total=False):
    """Arguments that all forms of sending have in common."""

    selector: MessageQueueSelector
    selector_argument: object


class TrafficSender:
    """The application of a producer's node: outlives its crashes, as its database would.

    :ivar sent: how many messages it began to send; each ends in one of ``acknowledged``, ``refused`` (certainly not
        stored) and ``unknown`` (possibly stored), unless the process crashes before.
    :ivar in_flight: key -> virtual time in us at which the send began; a request stays here until its reply has come.
    :ivar replied: requests that were answered; ``not_replied``: those that were not in time.
    """

    hook_name = "lab"
    #: Maker of the running process.
    identifiers: IdentifierMaker

    def __init__(self, role: ScenarioNode, traffic: Sequence[TrafficSpec], node_bank: NodePayingBank | None) -> None:
        self._role = role
        self._node_bank = node_bank
        self._traffic = traffic
        self.sent = self.acknowledged = self.refused = self.unknown = 0
        self.replied = self.not_replied = 0
        self.in_flight: dict[str, int] = {}
        #: Keys of requests that no broker has answered yet.
        self._requests_sent: dict[str, None] = {}
        #: Next message of each traffic: after a crash the application continues with the following one.
        self._next_numbers = [0] * len(self._traffic)
        self._consistent_hash = SelectMessageQueueByConsistentHash()

    @property
    def is_done(self) -> bool:
        """Return whether all traffic was sent and every send has ended."""
        if self.in_flight:
            return False
        return all(done >= traffic.count for done, traffic in zip(self._next_numbers, self._traffic, strict=True))

    def start(self, producer: DefaultMQProducer) -> list[asyncio.Task[None]]:
        """Start one task per traffic; the caller that stops the process cancels them."""
        if any(traffic.mode is SendMode.REQUEST for traffic in self._traffic):
            producer.register_send_message_hook(self)
        return [
            asyncio.create_task(self._send_all(producer, index, traffic), name=f"sends {traffic.topic}")
            for index, traffic in enumerate(self._traffic)
        ]

    def half_message_stored(self, key: str) -> None:
        """Note the end of the send; the local transaction begins."""
        self.in_flight.pop(key, None)

    def forget(self) -> None:
        """Reset the state that ends with the process."""
        self.in_flight.clear()
        self._requests_sent.clear()

    async def _send_all(self, producer: DefaultMQProducer, index: int, traffic: TrafficSpec) -> None:
        await self._role.until(traffic.start_ms)
        while self._next_numbers[index] < traffic.count:
            begun_us = self._role.world.now_us
            number = self._next_numbers[index]
            count = min(traffic.batch, traffic.count - number)
            self._next_numbers[index] = number + count
            if traffic.batch == 1:
                await self._pay_or_send(producer, traffic, number)
            else:
                await self._send_batch(producer, traffic, range(number, number + count))
            if self._next_numbers[index] < traffic.count:
                await self._role.pause_between(begun_us, traffic.every_ms)

    async def _pay_or_send(self, producer: DefaultMQProducer, traffic: TrafficSpec, number: int) -> None:
        key = traffic.fill_in(traffic.key, self._role.name, number)
        if self._node_bank is None:
            await self._send(producer, traffic, number, key, traffic.body_of(self._role.name, number))
            return
        transfer, bank = self._node_bank.transfer(key), self._node_bank.bank
        assert bank is not None, "it sends while its process runs"
        await bank.pay(transfer, lambda: self._send(producer, traffic, number, key, transfer.body))

    async def _send(
        self, producer: DefaultMQProducer, traffic: TrafficSpec, number: int, key: str, body: bytes
    ) -> SendResult | None:
        """Send; return the result, or None if it was not acknowledged."""
        message = await self._message(traffic, number, key, body)
        self._begin((key,), traffic.topic)
        match traffic.mode:
            case SendMode.ASYNC:
                await self._send_async(producer, traffic, message, number)
            case SendMode.ONEWAY:
                await self._send_oneway(producer, traffic, message, number)
            case SendMode.REQUEST:
                request = self._request(producer, traffic, message, number)
                if traffic.back_pressure:
                    await request
                else:
                    self._role.spawn(request, f"request {key}")
            case SendMode.SYNC:
                sending = self._send_message(producer, traffic, message, number)
                return await self._outcome((key,), traffic.topic, sending)
        return None

    async def _send_async(
        self, producer: DefaultMQProducer, traffic: TrafficSpec, message: Message, number: int
    ) -> None:
        """Send asynchronously; the callback notes the outcome. A well-behaved application waits until there is room for
        the next one.
        """
        (key,) = message.keys

        def ended(result: SendResult | None, error: Exception | None) -> None:
            assert error is None or isinstance(error, MQClientError), "the lab's selectors raise nothing else"
            self._returned((key,), traffic.topic, result, error)

        try:
            accepted = producer.send_async(message, ended, **self._choice(traffic, number))
        except MQClientError as error:
            ended(None, error)
            return
        if traffic.back_pressure:
            await accepted

    async def _send_oneway(
        self, producer: DefaultMQProducer, traffic: TrafficSpec, message: Message, number: int
    ) -> None:
        """Send one-way: the outcome is never known."""
        (key,) = message.keys
        error: MQClientError = RequestFailed("oneway: nobody answers", outcome_is_known=False)
        try:
            await producer.send_oneway(message, **self._choice(traffic, number))
        except MQClientError as problem:
            error = problem
        self._returned((key,), traffic.topic, None, error)

    async def _request(self, producer: DefaultMQProducer, traffic: TrafficSpec, message: Message, number: int) -> None:
        """Send a request: the hook notes the broker's answer to the send, and the outcome of the request is noted
        here.
        """
        (key,) = message.keys
        self._requests_sent[key] = None
        status, detail = "replied", ""
        try:
            reply = await producer.request(message, **self._choice(traffic, number))
        except RequestTimedOut as error:
            status, detail = "no-reply", str(error)
            self.not_replied += 1
            self._request_unsent(key, traffic.topic, error)
        except MQClientError as error:
            status, detail = "failed", str(error)
            self._request_unsent(key, traffic.topic, error)
        else:
            detail = reply.body.decode()
            self.replied += 1
        self.in_flight.pop(key, None)
        returned = RequestReturned(*self._role.here_and_now, key, status, traffic.topic, detail)
        self._role.world.history.requests_returned.append(returned)

    def _request_unsent(self, key: str, topic: str, error: MQClientError) -> None:
        if key in self._requests_sent:
            del self._requests_sent[key]
            self._returned((key,), topic, None, error)

    def send_message_before(self, context: SendMessageContext) -> None: ...

    def send_message_after(self, context: SendMessageContext) -> None:
        """Note that a broker has accepted a request; its reply comes later, or never."""
        key = context.properties.get(PROPERTY_KEYS, "")
        if context.result is not None and key in self._requests_sent:
            del self._requests_sent[key]
            since_us = self.in_flight[key]
            self._returned((key,), context.topic, context.result, None)
            self.in_flight[key] = since_us

    async def _send_batch(self, producer: DefaultMQProducer, traffic: TrafficSpec, numbers: range) -> None:
        name = self._role.name
        keys = tuple([traffic.fill_in(traffic.key, name, number) for number in numbers])
        messages = [
            await self._message(traffic, number, key, traffic.body_of(name, number))
            for number, key in zip(numbers, keys, strict=True)
        ]
        self._begin(keys, traffic.topic)
        await self._outcome(keys, traffic.topic, self._send_messages(producer, traffic, messages, numbers.start))

    async def _message(self, traffic: TrafficSpec, number: int, key: str, body: bytes) -> Message:
        tags = traffic.tags
        tag = traffic.fill_in(tags[number % len(tags)], self._role.name, number) if tags else None
        properties = traffic.properties_of(self._role.name, number)
        for name, value in properties.items():
            if IDENTIFIER in value:
                properties[name] = value.replace(IDENTIFIER, str(await self.identifiers.next_id()))
        return Message(traffic.topic, body, tags=tag, keys=key, properties=properties, delay_level=traffic.delay_level)

    def _begin(self, keys: tuple[str, ...], topic: str) -> None:
        """Note that messages with these keys are being sent, in one request."""
        world, batch = self._role.world, _batch_of(keys)
        for key in keys:
            begun = SendInvoked(*self._role.here_and_now, key, topic, batch)
            world.history.sends_invoked.append(begun)
            self.in_flight[key] = world.now_us
        self.sent += len(keys)

    async def _outcome(self, keys: tuple[str, ...], topic: str, sending: Awaitable[SendResult]) -> SendResult | None:
        """Note the outcome of one request; return None if it was not acknowledged."""
        result, failure = None, None
        try:
            result = await sending
        except MQClientError as error:
            failure = error
        self._returned(keys, topic, result, failure)
        return result

    def _returned(
        self, keys: tuple[str, ...], topic: str, result: SendResult | None, error: MQClientError | None
    ) -> None:
        """Note the end of one request: with a ``result``, or with an ``error``."""
        if error is None:
            assert result is not None, "a send ends in one of two ways"
            status, detail = "ok", result.status.value
            self.acknowledged += len(keys)
        else:
            status, detail = "refused" if error.outcome_is_known else "unknown", str(error)
            if error.outcome_is_known:
                self.refused += len(keys)
            else:
                self.unknown += len(keys)
        batch = _batch_of(keys)
        for key, place in zip(keys, _places(result, len(keys)), strict=True):
            self.in_flight.pop(key, None)
            returned = (*self._role.here_and_now, key, status, topic, *place, detail, batch)
            self._role.world.history.sends_returned.append(SendReturned(*returned))

    async def _send_message(
        self, producer: DefaultMQProducer, traffic: TrafficSpec, message: Message, number: int
    ) -> SendResult:
        if isinstance(producer, TransactionMQProducer):
            return (await producer.send_message_in_transaction(message, number)).send_result
        return await producer.send(message, **self._choice(traffic, number))

    def _choice(self, traffic: TrafficSpec, number: int) -> _Choice:
        """Return how the producer is to choose the queue."""
        if traffic.queue is None:
            return {}
        selector, argument = self._selector(traffic, traffic.queue, number)
        return {"selector": selector, "selector_argument": argument}

    async def _send_messages(
        self, producer: DefaultMQProducer, traffic: TrafficSpec, messages: Sequence[Message], number: int
    ) -> SendResult:
        if traffic.queue is None:
            return await producer.send_batch(messages)
        queues = await producer.fetch_publish_message_queues(traffic.topic)
        wanted = number // traffic.batch if traffic.queue == "{n}" else int(traffic.queue)
        return await producer.send_batch(messages, queue=_nth_queue(queues, messages[0], wanted))

    def _selector(self, traffic: TrafficSpec, queue: int | str, number: int) -> tuple[MessageQueueSelector, object]:
        match queue:
            case "by-hash":
                return select_message_queue_by_hash, traffic.business_key(number)
            case "by-consistent-hash":
                return self._consistent_hash, traffic.business_key(number)
            case "{n}":
                return _nth_queue, number
            case _:
                return _nth_queue, int(queue)


def _nth_queue(queues: Sequence[MessageQueue], message: Message, argument: object) -> MessageQueue:
    assert isinstance(argument, int)
    return queues[argument % len(queues)]


def _batch_of(keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the batch as the history stores it."""
    return keys if len(keys) > 1 else ()


def _places(result: SendResult | None, count: int) -> Iterator[tuple[int, int, str, str]]:
    """Yield queue, offset, id and broker of each message of a request: one after the other in one queue."""
    if result is None:
        yield from [(-1, -1, "", "")] * count
        return
    ids = result.offset_message_id.split(",")
    assert len(ids) == count, "a broker tells the id of every message of a batch"
    queue = result.message_queue
    for index, message_id in enumerate(ids):
        yield queue.queue_id, result.queue_offset + index, message_id, queue.broker_name

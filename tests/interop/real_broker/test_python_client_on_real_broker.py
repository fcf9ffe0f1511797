"""GlassMQ's own Python client against a real RocketMQ broker: the wire protocol is all that they share."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from itertools import count
from typing import Any

import pytest

from engine.client.callbacks.consume_concurrently import ConsumeConcurrentlyStatus
from engine.client.callbacks.send_result import SendResult, SendStatus
from engine.client.consumer.default_mq_pull_consumer import DefaultMQPullConsumer
from engine.client.consumer.default_mq_push_consumer import DefaultMQPushConsumer
from engine.client.consumer.pull_result import PullStatus
from engine.client.producer.default_mq_producer import DefaultMQProducer
from engine.client.producer.reply_message import create_reply_message
from engine.protocol.enums import ConsumeFromWhere
from engine.protocol.message.message import Message, MessageExt
from tests.interop.harness.clients import Clients, sent, wait_for_bodies
from tests.interop.harness.cluster import Cluster
from tests.interop.harness.wire import max_offsets

pytestmark = pytest.mark.interop_java

Unique = partial[str]
MESSAGES = 1000
QUEUES = 8
_DEADLINE_S = 60.0


@pytest.fixture
def cluster(real_cluster: Cluster) -> Cluster:
    """Takes the place of the broker under test: here the client is under test, and the broker is the real one."""
    return real_cluster


def _texts(number_of: int = MESSAGES) -> list[str]:
    return [f"message-{number}" for number in range(number_of)]


def _messages(topic: str, number_of: int = MESSAGES) -> list[Message]:
    return [Message(topic, text.encode(), tags="TagA", keys=f"key-{text}") for text in _texts(number_of)]


@asynccontextmanager
async def _producer(cluster: Cluster, group: str) -> AsyncIterator[DefaultMQProducer]:
    async with DefaultMQProducer(group=group, name_server_addresses=cluster.name_server) as producer:
        yield producer


async def _send(producer: DefaultMQProducer, mode: str, topic: str) -> list[SendResult]:
    """Send 1,000 messages in one of the four ways; return what was acknowledged."""
    messages = _messages(topic)
    if mode == "sync":
        return [await producer.send(message) for message in messages]
    if mode == "batch":
        return [await producer.send_batch(messages[first : first + 50]) for first in range(0, MESSAGES, 50)]
    if mode == "oneway":
        for message in messages:
            await producer.send_oneway(message)
        return []
    results: list[SendResult] = []
    failures: list[Exception] = []
    all_answered = asyncio.Event()

    def answered(result: SendResult | None, error: Exception | None) -> None:
        if result is not None:
            results.append(result)
        if error is not None:
            failures.append(error)
        if len(results) + len(failures) == MESSAGES:
            all_answered.set()

    for message in messages:
        await producer.send_async(message, answered)
    async with asyncio.timeout(_DEADLINE_S):
        await all_answered.wait()
    assert not failures
    return results


class Collector:
    """A listener that remembers what came and from which queue.

    A coroutine function, so it runs in the event loop: a plain one would run in a thread, where it may not set an
    ``asyncio.Event``.
    """

    def __init__(self) -> None:
        self.received: list[MessageExt] = []
        self._news = asyncio.Event()

    async def __call__(self, messages: Sequence[MessageExt], _context: object) -> ConsumeConcurrentlyStatus:
        self.received += messages
        self._news.set()
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    async def next_news(self) -> None:
        await self._news.wait()
        self._news.clear()

    def texts(self) -> list[str]:
        return [message.body.decode() for message in self.received]


async def _collect(collectors: list[Collector], expected: set[str]) -> list[MessageExt]:
    """Wait until every expected text came to one of the collectors; return all that came, duplicates included."""
    async with asyncio.timeout(_DEADLINE_S):
        while not expected <= {text for collector in collectors for text in collector.texts()}:
            waiting = [asyncio.create_task(collector.next_news()) for collector in collectors]
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in waiting:
                task.cancel()
    return [message for collector in collectors for message in collector.received]


async def _settle(producer: DefaultMQProducer, topic: str, collectors: list[Collector]) -> None:
    """Send one message to every queue, round after round, until each member received half of a round.

    Until then a queue may change hands before its first commit, and its messages rightly come twice.
    """
    async with asyncio.timeout(_DEADLINE_S):
        for number in count():
            texts = {f"settle-{number}-{queue}" for queue in range(QUEUES)}
            for queue in await producer.fetch_publish_message_queues(topic):
                await producer.send(Message(topic, f"settle-{number}-{queue.queue_id}".encode()), queue=queue)
            await _collect(collectors, texts)
            if all(len(texts & set(collector.texts())) == QUEUES // 2 for collector in collectors):
                break
    for collector in collectors:
        collector.received.clear()


def _consumer(cluster: Cluster, group: str, topic: str, name: str, listener: Collector) -> DefaultMQPushConsumer:
    consumer = DefaultMQPushConsumer(group=group, name_server_addresses=cluster.name_server, instance_name=name)
    consumer.subscribe(topic, "*")
    consumer.register_message_listener(listener)
    return consumer


@pytest.mark.parametrize("mode", ["sync", "async", "oneway", "batch"])
def test_two_push_consumers_of_a_group_receive_every_message_once(cluster: Cluster, unique: Unique, mode: str) -> None:
    topic, group = cluster.create_topic(unique("PySend"), QUEUES), unique("cg")

    async def scenario() -> None:
        collectors = [Collector(), Collector()]
        consumers = [
            _consumer(cluster, group, topic, f"member-{number}", collector)
            for number, collector in enumerate(collectors)
        ]
        for consumer in consumers:
            await consumer.start()
        try:
            async with _producer(cluster, unique("pg")) as producer:
                await _settle(producer, topic, collectors)
                before = sum(max_offsets(cluster.broker, topic, QUEUES))
                results = await _send(producer, mode, topic)
                received = await _collect(collectors, set(_texts()))
        finally:
            for consumer in consumers:
                await consumer.shutdown()
        assert {result.status for result in results} <= {SendStatus.SEND_OK}
        assert Counter(message.body.decode() for message in received) == Counter(_texts())
        assert {message.tags for message in received} == {"TagA"}
        assert all(collector.received for collector in collectors)
        assert sum(max_offsets(cluster.broker, topic, QUEUES)) == before + MESSAGES

    asyncio.run(scenario())


def test_a_pull_consumer_reads_every_queue_to_its_end(cluster: Cluster, unique: Unique) -> None:
    topic = cluster.create_topic(unique("PyPull"), QUEUES)

    async def scenario() -> list[str]:
        async with _producer(cluster, unique("pg")) as producer:
            await _send(producer, "sync", topic)
        consumer = DefaultMQPullConsumer(group=unique("cg"), name_server_addresses=cluster.name_server)
        await consumer.start()
        try:
            texts = []
            for queue in await consumer.fetch_subscribe_message_queues(topic):
                offset = await consumer.min_offset(queue)
                end = await consumer.max_offset(queue)
                while offset < end:
                    result = await consumer.pull(queue, "*", offset, 32)
                    assert result.status is PullStatus.FOUND
                    texts += [message.body.decode() for message in result.messages]
                    offset = result.next_begin_offset
            return texts
        finally:
            await consumer.shutdown()

    assert sorted(asyncio.run(scenario())) == sorted(_texts())


def test_a_compressed_body_of_20_kb_comes_back_whole(cluster: Cluster, unique: Unique) -> None:
    topic = cluster.create_topic(unique("PyLarge"), 1)
    body = b"x" * 20_000

    async def scenario() -> list[MessageExt]:
        collector = Collector()
        consumer = _consumer(cluster, unique("cg"), topic, "only", collector)
        await consumer.start()
        try:
            async with _producer(cluster, unique("pg")) as producer:
                await producer.send(Message(topic, body))
                return await _collect([collector], {"x" * 20_000})
        finally:
            await consumer.shutdown()

    received = asyncio.run(scenario())
    assert [message.body for message in received] == [body]


def test_the_java_client_reads_what_the_python_client_sent(cluster: Cluster, clients: Clients, unique: Unique) -> None:
    topic = cluster.create_topic(unique("PyToJava"), 4)

    async def scenario() -> None:
        async with _producer(cluster, unique("pg")) as producer:
            for message in _messages(topic, 100):
                message.properties["number"] = "1"
                await producer.send(message)

    asyncio.run(scenario())
    consumer = clients.java_driver("push", unique("cg"), topic)
    wait_for_bodies(_texts(100), consumer)


def test_the_python_client_reads_what_the_java_client_sent(cluster: Cluster, clients: Clients, unique: Unique) -> None:
    topic = cluster.create_topic(unique("JavaToPy"), 4)
    sender = clients.java_driver("batch", unique("pg"), topic, 100)
    sender.wait_for_success()
    assert {event["status"] for event in sent(sender)} == {0}

    async def scenario() -> list[MessageExt]:
        collector = Collector()
        consumer = _consumer(cluster, unique("cg"), topic, "only", collector)
        await consumer.start()
        try:
            return await _collect([collector], set(_texts(100)))
        finally:
            await consumer.shutdown()

    assert Counter(message.body.decode() for message in asyncio.run(scenario())) == Counter(_texts(100))


def test_a_request_and_its_reply_pass_a_real_broker_and_mqadmin_reads_the_trace(
    cluster: Cluster, clients: Clients, unique: Unique
) -> None:
    topic = cluster.create_topic(unique("PyCall"), 4)

    async def scenario() -> str:
        replier = DefaultMQProducer(group=unique("clerks"), name_server_addresses=cluster.name_server)
        traced: dict[str, Any] = {"name_server_addresses": cluster.name_server, "enable_msg_trace": True}
        requester = DefaultMQProducer(group=unique("customers"), **traced)
        consumer = DefaultMQPushConsumer(
            group=unique("clerks"), consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET, **traced
        )

        async def listen(messages: Sequence[MessageExt], context: object) -> ConsumeConcurrentlyStatus:
            for message in messages:
                await replier.send(create_reply_message(message, b"answer to " + message.body))
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

        consumer.subscribe(topic)
        consumer.register_message_listener(listen)
        async with replier, requester, consumer:
            question = Message(topic, b"what?", keys="question")
            reply = await requester.request(question, timeout_ms=30_000)
            assert reply.body == b"answer to what?"
            assert reply.born_host
        assert requester.trace_dispatcher is not None
        assert consumer.trace_dispatcher is not None
        assert (requester.trace_dispatcher.sent, consumer.trace_dispatcher.sent) == (1, 2)
        assert question.unique_id is not None
        return question.unique_id

    message_id = asyncio.run(scenario())
    output = clients.mqadmin("queryMsgTraceById", "-i", message_id).wait_for_success(_DEADLINE_S)
    assert re.search(r"^Pub +customers\w* .* success", output, re.MULTILINE), output
    assert re.search(r"^Sub +clerks\w* .* success", output, re.MULTILINE), output

"""Our own client in a process of its own: senders of some streams and consumers of others, until SIGTERM.

python -m tests.soak.glass_client NAME_SERVER --send NAME,NAME --consume NAME,NAME

Reports one line of JSON per event on standard output, as the drivers of the other clients do. SIGUSR1 ends the senders.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any

from engine.client.callbacks.consume_concurrently import ConsumeConcurrentlyStatus
from engine.client.callbacks.consume_orderly import ConsumeOrderlyStatus
from engine.client.callbacks.message_queue_selector import select_message_queue_by_hash
from engine.client.callbacks.send_result import SendStatus
from engine.client.callbacks.transaction_listener import LocalTransactionState
from engine.client.consumer.default_mq_push_consumer import DefaultMQPushConsumer
from engine.client.foundation.errors import MQClientError
from engine.client.producer.default_mq_producer import DefaultMQProducer
from engine.client.producer.transaction_mq_producer import TransactionMQProducer
from engine.protocol.enums import ConsumeFromWhere
from engine.protocol.message.message import Message, MessageExt
from tests.soak.reporting import report
from tests.soak.streams import FLOOD, STREAMS, Stream

#: Seconds between two sends of a stream: a message must be under way at every moment, without filling the machine.
_PACE_S = 0.02
_BATCH_PACE_S = 0.2
_BATCH_SIZE = 16
_SENDERS_OF_A_CONCURRENT_STREAM = 4
#: After a send that failed; a broker that is away fails them at once.
_PAUSE_S = 0.2
_REFUSES_EVERY = 10

_BY_NAME = {stream.name: stream for stream in (*STREAMS, FLOOD)}


def message_of(stream: Stream, number: int) -> Message:
    """Message ``number``; its size goes with its number."""
    body = f"{stream.name}-{number}-".encode().ljust(60 + number * 37 % 900, b"x")
    return Message(stream.topic, body, keys=f"key-{number}", properties={"number": str(number)})


class LocalTransactions:
    """Every fifth is rolled back, every fifth is not known until the broker asks, the rest is committed."""

    def __init__(self) -> None:
        self._executed: set[int] = set()

    def execute_local_transaction(self, message: Message, _: object) -> LocalTransactionState:
        number = int(message.properties["number"])
        if number % 5 == 0:
            return LocalTransactionState.ROLLBACK_MESSAGE
        self._executed.add(number)
        return LocalTransactionState.UNKNOW if number % 5 == 1 else LocalTransactionState.COMMIT_MESSAGE

    def check_local_transaction(self, message: MessageExt) -> LocalTransactionState:
        """Whose half message was stored, but not acknowledged, was not begun."""
        executed = int(message.properties["number"]) in self._executed
        return LocalTransactionState.COMMIT_MESSAGE if executed else LocalTransactionState.ROLLBACK_MESSAGE


class Senders:
    """Sends numbered messages of some streams until it is stopped."""

    def __init__(self, name_server: str) -> None:
        self._name_server = name_server
        self.ended = asyncio.Event()

    async def run(self, stream: Stream) -> None:
        """All of one stream."""
        where = (None, f"{stream.group}_sender", self._name_server)
        numbers = count()
        if stream.kind == "transactions":
            async with TransactionMQProducer(*where, transaction_listener=LocalTransactions()) as producer:
                await self._repeat(stream, lambda: self._send_half(producer, stream, next(numbers)))
                await asyncio.Event().wait()  # the broker's questions are answered to the end
        async with DefaultMQProducer(*where) as producer:
            sends: dict[str, Callable[[], Awaitable[bool]]] = {
                "orderly": lambda: self._send_by_key(producer, stream, next(numbers)),
                "batches": lambda: self._send_batch(producer, stream, numbers),
            }
            send = sends.get(stream.kind, lambda: self._send(producer, stream, next(numbers)))
            tasks = _SENDERS_OF_A_CONCURRENT_STREAM if stream.kind == "concurrent" else 1
            pace_s = _BATCH_PACE_S if stream.kind == "batches" else _PACE_S * tasks
            await asyncio.gather(*(self._repeat(stream, send, pace_s) for _ in range(tasks)))

    async def _repeat(self, stream: Stream, send: Callable[[], Awaitable[bool]], pace_s: float = _PACE_S) -> None:
        while not self.ended.is_set():
            succeeded = await send()
            await asyncio.sleep(pace_s if succeeded else _PAUSE_S)

    async def _send(self, producer: DefaultMQProducer, stream: Stream, number: int, **where: Any) -> bool:
        work = producer.send(message_of(stream, number), **where)
        return await self._reported(stream, [number], work)

    async def _send_by_key(self, producer: DefaultMQProducer, stream: Stream, number: int) -> bool:
        chosen = {"selector": select_message_queue_by_hash, "selector_argument": number % 100}
        return await self._send(producer, stream, number, **chosen)

    async def _send_batch(self, producer: DefaultMQProducer, stream: Stream, numbers: count[int]) -> bool:
        members = [next(numbers) for _ in range(_BATCH_SIZE)]
        work = producer.send_batch([message_of(stream, number) for number in members])
        return await self._reported(stream, members, work)

    async def _send_half(self, producer: TransactionMQProducer, stream: Stream, number: int) -> bool:
        message = message_of(stream, number)
        begun = time.monotonic()
        try:
            result = await producer.send_message_in_transaction(message)
        except MQClientError as error:
            report(event="failed", stream=stream.name, number=number, error=type(error).__name__)
            return False
        rolled_back = result.local_transaction_state is LocalTransactionState.ROLLBACK_MESSAGE
        status = 0 if result.send_result.status is SendStatus.SEND_OK else 1
        passed = _ms_since(begun)
        report(event="sent", stream=stream.name, number=number, status=status, ms=passed, rolled_back=rolled_back)
        return True

    async def _reported(self, stream: Stream, numbers: list[int], work: Awaitable[Any]) -> bool:
        begun = time.monotonic()
        try:
            result = await work
        except MQClientError as error:
            for number in numbers:
                report(event="failed", stream=stream.name, number=number, error=type(error).__name__)
            return False
        status = 0 if result.status is SendStatus.SEND_OK else 1
        passed = _ms_since(begun)
        for number in numbers:
            report(event="sent", stream=stream.name, number=number, status=status, ms=passed)
        return True


def _ms_since(begun: float) -> float:
    return round((time.monotonic() - begun) * 1000, 2)


def consumer_of(stream: Stream, name_server: str) -> DefaultMQPushConsumer:
    """A consumer that reports what it gets; that of ``retries`` refuses every tenth message the first time."""
    consumer = DefaultMQPushConsumer(
        group=stream.group,
        name_server_addresses=name_server,
        consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
    )

    def noted(message: Any) -> bool:
        number = int(message.properties["number"])
        refused = stream.kind == "retries" and number % _REFUSES_EVERY == 0 and message.reconsume_times == 0
        place = {"queue": message.queue_id, "offset": message.queue_offset}
        report(event="message", stream=stream.name, number=number, **place, refused=refused)
        return not refused

    def concurrently(messages: Any, _: object) -> ConsumeConcurrentlyStatus:
        succeeded = [noted(message) for message in messages]
        return (
            ConsumeConcurrentlyStatus.CONSUME_SUCCESS if all(succeeded) else ConsumeConcurrentlyStatus.RECONSUME_LATER
        )

    def orderly(messages: Any, _: object) -> ConsumeOrderlyStatus:
        for message in messages:
            noted(message)
        return ConsumeOrderlyStatus.SUCCESS

    consumer.subscribe(stream.topic, "*")
    if stream.kind == "orderly":
        consumer.register_message_listener_orderly(orderly)
    else:
        consumer.register_message_listener(concurrently)
    return consumer


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("name_server")
    parser.add_argument("--send", default="")
    parser.add_argument("--consume", default="")
    options = parser.parse_args()
    senders, ended = Senders(options.name_server), asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    loop.add_signal_handler(signal.SIGUSR1, senders.ended.set)
    consumers = [consumer_of(_BY_NAME[name], options.name_server) for name in options.consume.split(",") if name]
    for consumer in consumers:
        await consumer.start()
    tasks = [asyncio.create_task(senders.run(_BY_NAME[name])) for name in options.send.split(",") if name]
    report(event="ready")
    waiting = asyncio.create_task(ended.wait())
    await asyncio.wait([waiting, *tasks], return_when=asyncio.FIRST_EXCEPTION if tasks else asyncio.ALL_COMPLETED)
    for task in tasks:
        if task.done():
            task.result()  # a sender that broke says so
    await waiting
    os._exit(0)  # a broker that is gone already would keep an orderly end waiting


asyncio.run(main())

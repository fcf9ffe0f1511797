"""Producer and consumers over real sockets, as a user writes them: no runtime given, listeners that block."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from engine.client import (
    ConsumeConcurrentlyContext,
    ConsumeConcurrentlyStatus,
    ConsumeFromWhere,
    ConsumeOrderlyContext,
    ConsumeOrderlyStatus,
    DefaultMQProducer,
    DefaultMQPullConsumer,
    DefaultMQPushConsumer,
    Message,
    MessageExt,
    MessageModel,
    NameServerUnreachable,
    PullStatus,
)
from tests.support.live.live_cluster import live_cluster, until


def test_a_users_program_sends_and_consumes_over_real_sockets(tmp_path: Path):
    heard: list[bytes] = []

    def listen(messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext) -> ConsumeConcurrentlyStatus:
        time.sleep(0.02)  # a listener may block
        heard.extend(message.body for message in messages)
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    async def program() -> None:
        async with live_cluster(tmp_path) as address:
            consumer = DefaultMQPushConsumer(
                group="readers",
                name_server_addresses=address,
                consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
            )
            consumer.subscribe("Orders")
            consumer.register_message_listener(listen)
            async with (
                DefaultMQProducer(group="writers", name_server_addresses=address) as producer,
                consumer,
                DefaultMQPullConsumer(group="audit", name_server_addresses=address) as audit,
            ):
                for number in range(40):
                    await producer.send(Message("Orders", b"%d" % number))
                await until(lambda: len(heard) == 40)
                read = 0
                for queue in await audit.fetch_subscribe_message_queues("Orders"):
                    result = await audit.pull(queue, "*", await audit.min_offset(queue))
                    assert result.status is PullStatus.FOUND
                    read += len(result.messages)
                assert read == 40

    asyncio.run(program())
    assert sorted(map(int, heard)) == list(range(40))


def test_a_broadcasting_consumer_without_a_runtime_keeps_its_offsets_in_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    heard: list[bytes] = []

    async def listen(messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext) -> ConsumeConcurrentlyStatus:
        heard.extend(message.body for message in messages)
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    async def program() -> None:
        async with live_cluster(tmp_path / "data") as address:
            async with DefaultMQProducer(group="writers", name_server_addresses=address) as producer:
                await producer.send(Message("News", b"today"))
            consumer = DefaultMQPushConsumer(
                group="readers",
                name_server_addresses=address,
                message_model=MessageModel.BROADCASTING,
                consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
            )
            consumer.subscribe("News")
            consumer.register_message_listener(listen)
            async with consumer:
                await until(lambda: heard)

    asyncio.run(program())
    (file,) = (tmp_path / "home" / ".rocketmq_offsets").glob("*@DEFAULT/readers/offsets.json")
    assert b'"topic":"News"' in file.read_bytes()


def test_a_name_server_that_is_not_there_is_named():
    async def program() -> None:
        async with DefaultMQProducer(group="writers", name_server_addresses="127.0.0.1:9") as producer:
            await producer.send(Message("Orders", b"x"))

    with pytest.raises(NameServerUnreachable, match=r"name servers 127\.0\.0\.1:9 answers"):
        asyncio.run(program())


def test_two_orderly_consumers_with_blocking_listeners_keep_every_queue_in_order(tmp_path: Path):
    heard: list[tuple[int, int]] = []
    busy: dict[int, int] = {}
    overlaps: list[int] = []

    def listen(messages: Sequence[MessageExt], context: ConsumeOrderlyContext) -> ConsumeOrderlyStatus:
        queue_id = context.message_queue.queue_id
        busy[queue_id] = busy.get(queue_id, 0) + 1
        if busy[queue_id] > 1:
            overlaps.append(queue_id)
        time.sleep(0.002)
        heard.extend((queue_id, message.queue_offset) for message in messages)
        busy[queue_id] -= 1
        return ConsumeOrderlyStatus.SUCCESS

    async def program() -> None:
        async with live_cluster(tmp_path) as address, DefaultMQProducer(None, "p", address) as producer:
            await producer.create_topic("T", queue_nums=4)
            consumers = []
            for _ in range(2):
                consumer = DefaultMQPushConsumer(
                    None,
                    "g",
                    address,
                    consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
                    rebalance_interval_ms=200,
                    unlock_delay_ms=100,
                )
                consumer.subscribe("T")
                consumer.register_message_listener_orderly(listen)
                await consumer.start()
                consumers.append(consumer)
                for number in range(100):
                    await producer.send(Message("T", b"%d" % number))
            await until(lambda: len(set(heard)) == 200)
            await until(lambda: all(len(one.process_queues) >= 2 for one in consumers))
            for consumer in consumers:
                await consumer.shutdown()

    asyncio.run(program())
    assert overlaps == []
    for queue_id in range(4):
        offsets = [offset for each, offset in heard if each == queue_id]
        assert list(dict.fromkeys(offsets)) == sorted(set(offsets)), "first deliveries in order"

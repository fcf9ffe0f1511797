"""An idempotent consumer as a user writes it: real sockets, a real database, and a process that dies."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from engine.client import (
    ConsumeConcurrentlyContext,
    ConsumeFromWhere,
    DefaultMQProducer,
    DefaultMQPushConsumer,
    Message,
    MessageExt,
)
from engine.idempotence.foundation.business_key import first_of_keys
from engine.idempotence.foundation.record import RecordState
from engine.idempotence.foundation.sql_port import SqlTransaction
from engine.idempotence.idempotent_listener import IdempotentListener
from engine.idempotence.stores.store_address import OpenStore, open_store
from engine.idempotence.strategies.message_table import MessageTable
from engine.idempotence.strategies.state_table import StateTable
from tests.support.live.live_cluster import live_cluster, until


def new_consumer(address: str, **options: Any) -> DefaultMQPushConsumer:
    consumer = DefaultMQPushConsumer(
        group="shop",
        name_server_addresses=address,
        consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
        consume_message_batch_max_size=4,
        **options,
    )
    consumer.subscribe("Orders")
    return consumer


async def send_twice(address: str, count: int) -> None:
    """Each order twice, by a person who did not trust the first: with a unique id each."""
    async with DefaultMQProducer(group="web", name_server_addresses=address) as producer:
        for _ in range(2):
            for number in range(count):
                await producer.send(Message("Orders", b"order %d" % number, keys=f"order-{number}"))


async def add_order(message: MessageExt, transaction: SqlTransaction | None) -> None:
    assert transaction is not None
    await transaction.execute("INSERT INTO orders (no) VALUES (:no)", {"no": message.body.decode()})


async def open_shop(stack: AsyncExitStack, folder: Path) -> OpenStore:
    store = await stack.enter_async_context(open_store(f"sqlite:{folder}/orders.db"))
    await store.require_database().execute("CREATE TABLE IF NOT EXISTS orders (no VARCHAR(40) NOT NULL)")
    return store


async def orders(store: OpenStore) -> list[object]:
    rows = (await store.require_database().execute("SELECT no FROM orders ORDER BY no")).rows
    return [row["no"] for row in rows]


@pytest.mark.parametrize("orderly", [False, True])
def test_orders_that_were_sent_twice_are_placed_once(tmp_path: Path, orderly: bool):
    async def program() -> None:
        async with AsyncExitStack() as stack:
            address = await stack.enter_async_context(live_cluster(tmp_path / "broker"))
            store = await open_shop(stack, tmp_path)
            await send_twice(address, 10)
            consumer = new_consumer(address)
            table = MessageTable(store.require_database())
            guard = IdempotentListener(consumer.runtime, add_order, table, "shop", first_of_keys)
            await guard.prepare()
            guard.register(consumer, orderly=orderly)
            async with consumer:
                await until(lambda: guard.counters.first + guard.counters.swallowed == 20)
            assert await orders(store) == [f"order {number}" for number in range(10)]
            assert guard.counters.first == 10

    asyncio.run(program())


def test_a_consumer_that_dies_between_work_and_acknowledgement_has_done_it_once(tmp_path: Path):
    async def program() -> None:
        async with AsyncExitStack() as stack:
            address = await stack.enter_async_context(live_cluster(tmp_path / "broker"))
            store = await open_shop(stack, tmp_path)
            await send_twice(address, 1)
            dying = new_consumer(address)
            first = IdempotentListener(
                dying.runtime, add_order, MessageTable(store.require_database()), "shop", first_of_keys
            )
            await first.prepare()

            async def die_before_the_answer(
                messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext
            ) -> None:
                await first.concurrently(messages, context)
                worker = asyncio.current_task()
                assert worker is not None
                worker.cancel()
                await asyncio.sleep(0)

            dying.register_message_listener(die_before_the_answer)
            async with dying:
                await until(lambda: first.counters.first + first.counters.swallowed == 2)
            next_one = new_consumer(address)
            guard = IdempotentListener(
                next_one.runtime, add_order, MessageTable(store.require_database()), "shop", first_of_keys
            )
            guard.register(next_one)
            async with next_one:
                await until(lambda: guard.counters.swallowed == 2)
            assert guard.counters.first == 0
            assert await orders(store) == ["order 0"]

    asyncio.run(program())


def test_work_that_blocks_runs_beside_the_loop_and_is_done_once(tmp_path: Path):
    done: list[bytes] = []

    def deliver(message: MessageExt, _transaction: object) -> None:
        time.sleep(0.05)  # work may block
        assert threading.current_thread() is not threading.main_thread()
        done.append(message.body)

    async def program() -> None:
        async with AsyncExitStack() as stack:
            address = await stack.enter_async_context(live_cluster(tmp_path / "broker"))
            store = await stack.enter_async_context(open_store(f"sqlite:{tmp_path}/records.db"))
            await send_twice(address, 8)
            consumer = new_consumer(address)
            strategy = StateTable(store.records, consumer.runtime.clock)
            guard = IdempotentListener(consumer.runtime, deliver, strategy, "shop", first_of_keys)
            await guard.prepare()
            guard.register(consumer, orderly=True)
            async with consumer:
                await until(lambda: guard.counters.first + guard.counters.swallowed >= 16)
            assert sorted(done) == [b"order %d" % number for number in range(8)]

    asyncio.run(program())


def test_a_thread_that_a_shutdown_leaves_behind_is_alone_at_its_work(tmp_path: Path):
    begun: list[bytes] = []
    may_end = threading.Event()

    def deliver(message: MessageExt, _transaction: object) -> None:
        begun.append(message.body)
        may_end.wait(60)

    async def program() -> None:
        async with AsyncExitStack() as stack:
            stack.callback(may_end.set)
            address = await stack.enter_async_context(live_cluster(tmp_path / "broker"))
            store = await stack.enter_async_context(open_store(f"sqlite:{tmp_path}/records.db"))
            await store.records.prepare()
            await send_twice(address, 1)

            def new_guard() -> tuple[DefaultMQPushConsumer, IdempotentListener]:
                consumer = new_consumer(address, await_termination_when_shutdown_ms=0)
                strategy = StateTable(store.records, consumer.runtime.clock)
                guard = IdempotentListener(consumer.runtime, deliver, strategy, "shop", first_of_keys)
                guard.register(consumer)
                return consumer, guard

            first, _ = new_guard()
            async with first:
                await until(lambda: begun)
            second, guard = new_guard()
            async with second:
                await until(lambda: guard.counters.bounced or len(begun) > 1)
            assert len(begun) == 1

    asyncio.run(program())


def test_a_program_that_takes_sigterm_for_a_cancellation_ends_its_work_and_its_record(tmp_path: Path):
    begun: list[bytes] = []
    may_end = threading.Event()
    states: list[str] = []

    def deliver(message: MessageExt, _transaction: object) -> None:
        begun.append(message.body)
        may_end.wait(60)

    async def program() -> None:
        main = asyncio.current_task()
        assert main is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, main.cancel)
        async with AsyncExitStack() as stack:
            stack.callback(may_end.set)
            address = await stack.enter_async_context(live_cluster(tmp_path / "broker"))
            store = await stack.enter_async_context(open_store(f"sqlite:{tmp_path}/records.db"))
            await send_twice(address, 1)
            consumer = new_consumer(address)
            strategy = StateTable(store.records, consumer.runtime.clock)
            guard = IdempotentListener(consumer.runtime, deliver, strategy, "shop", first_of_keys)
            await guard.prepare()
            guard.register(consumer)
            try:
                async with consumer:
                    await until(lambda: begun)
                    os.kill(os.getpid(), signal.SIGTERM)
                    asyncio.get_running_loop().call_later(0.1, may_end.set)
                    await asyncio.Event().wait()
            finally:
                states.extend(record.state for record in await store.records.newest("shop", 9))

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(program())
    assert states == [RecordState.CONSUMED]

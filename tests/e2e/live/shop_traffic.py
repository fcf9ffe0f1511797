"""A small shop on a real broker: what makes the page lively for a look at it and for its picture.

    .venv/bin/python -m tests.e2e.live.shop_traffic --name-server 127.0.0.1:9876

Two producers write orders, payments and shipments. Two members of ``billing`` share the orders and fail one now and
then, so that it comes back through the retry topic; ``ledger`` keeps up with the payments; ``reports`` reads orders and
shipments too slowly and lags. Nothing happens to ``vouchers`` after its first messages.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import signal
from collections.abc import Sequence
from contextlib import suppress

from engine.client import (
    ConsumeConcurrentlyContext,
    ConsumeConcurrentlyStatus,
    ConsumeFromWhere,
    DefaultMQProducer,
    DefaultMQPushConsumer,
    Message,
    MessageExt,
    MQClientError,
)

#: Producer group -> its topics with messages per second.
PRODUCERS = {"shop-web": {"orders": 11.0, "payments": 6.0}, "warehouse": {"shipments": 3.0}}
TAGS = {"orders": ("created", "paid"), "payments": ("card", "invoice"), "shipments": ("packed",), "vouchers": ("gift",)}
#: Group, topics, seconds for a message, share of messages that fail the first time.
Member = tuple[str, tuple[str, ...], float, float]
MEMBERS: tuple[Member, ...] = (
    ("billing", ("orders",), 0.004, 0.02),
    ("billing", ("orders",), 0.004, 0.02),
    ("ledger", ("payments",), 0.003, 0.0),
    ("reports", ("orders", "shipments"), 0.45, 0.0),
)
PRODUCTS = ("lamp", "chair", "kettle", "bicycle bell", "teapot 茶壶", "umbrella 雨伞", "atlas", "notebook 笔记本")


def order(number: int, topic: str, chance: random.Random) -> Message:
    """Message ``number`` of ``topic``: a line of JSON, as shops send them."""
    facts = {"order": number, "item": chance.choice(PRODUCTS), "total": round(chance.uniform(4, 240), 2)}
    body = json.dumps(facts, ensure_ascii=False).encode()
    return Message(topic, body, tags=chance.choice(TAGS[topic]), keys=f"order-{number}")


async def produce(name_server: str, group: str, rates: dict[str, float], start_with: dict[str, int]) -> None:
    """Send the first messages at once, then at ``rates`` (messages per second) until cancelled."""
    chance = random.Random(group)
    async with DefaultMQProducer(None, group, name_server) as producer:
        for topic, count in start_with.items():
            for number in range(count):
                await producer.send(order(number, topic, chance))

        async def keep_sending(topic: str, per_second: float) -> None:
            number = start_with.get(topic, 0)
            while True:
                with suppress(MQClientError):  # a broker that is away for a moment; the shop goes on
                    await producer.send(order(number, topic, chance))
                number += 1
                await asyncio.sleep(chance.expovariate(per_second))

        async with asyncio.TaskGroup() as sending:
            for topic, per_second in rates.items():
                sending.create_task(keep_sending(topic, per_second))


async def consume(name_server: str, group: str, topics: Sequence[str], seconds: float, failing: float) -> None:
    """Be a member of ``group`` until cancelled."""
    chance = random.Random(group)

    async def listener(
        messages: Sequence[MessageExt], _context: ConsumeConcurrentlyContext
    ) -> ConsumeConcurrentlyStatus:
        await asyncio.sleep(seconds)
        if messages[0].reconsume_times == 0 and chance.random() < failing:
            return ConsumeConcurrentlyStatus.RECONSUME_LATER
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    consumer = DefaultMQPushConsumer(
        None,
        group,
        name_server,
        consume_thread_min=1,
        consume_thread_max=1,
        consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
    )
    for topic in topics:
        consumer.subscribe(topic)
    consumer.register_message_listener(listener)
    await consumer.start()
    try:
        await asyncio.Event().wait()
    finally:
        await consumer.shutdown()


async def run_shop(name_server: str, members: tuple[Member, ...] = MEMBERS) -> None:
    """Trade until cancelled."""
    first = {"shop-web": {"orders": 320, "payments": 140, "vouchers": 24}, "warehouse": {"shipments": 60}}
    async with asyncio.TaskGroup() as shop:
        for group, rates in PRODUCERS.items():
            shop.create_task(produce(name_server, group, rates, first[group]))
        for member in members:
            shop.create_task(consume(name_server, *member))


async def run_until_stopped(name_server: str) -> None:
    """Trade until Ctrl-C or SIGTERM."""
    shop = asyncio.ensure_future(run_shop(name_server))
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, shop.cancel)
    await asyncio.gather(shop, return_exceptions=True)
    if not shop.cancelled() and (error := shop.exception()):
        raise error


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name-server", default="127.0.0.1:9876")
    asyncio.run(run_until_stopped(parser.parse_args().name_server))


if __name__ == "__main__":
    main()

"""A broker of Kafka for tests, over the port."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from engine.kafka.broker.kafka_broker import KafkaBroker
from engine.kafka.broker.kafka_broker_config import KafkaBrokerConfig
from engine.runtime.live.live_runtime import LiveRuntime
from engine.runtime.port import Runtime

TOPIC = "Orders"


@asynccontextmanager
async def running_broker(runtime: Runtime, config: KafkaBrokerConfig | None = None) -> AsyncIterator[KafkaBroker]:
    """On a free port, with one partition of :data:`TOPIC` unless ``config`` says otherwise; stopped in order."""
    broker = KafkaBroker(runtime, config or KafkaBrokerConfig({TOPIC: 1}))
    await broker.start("127.0.0.1", 0)
    try:
        yield broker
    finally:
        await broker.shutdown()


def address_of(broker: KafkaBroker) -> str:
    """Where clients find it."""
    return "{}:{}".format(*broker.handlers.address)


def with_live_broker(folder: Path, topics: Mapping[str, int], work: Callable[[str], None]) -> None:
    """Run ``work``, which blocks, with the address of a broker on TCP that has stopped when this returns."""

    async def run() -> None:
        runtime = LiveRuntime("kafka", folder)
        async with running_broker(runtime, KafkaBrokerConfig(topics)) as broker:
            await asyncio.to_thread(work, address_of(broker))
        await runtime.close()

    asyncio.run(run())

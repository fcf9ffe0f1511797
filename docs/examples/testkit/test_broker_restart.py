"""A broker that restarts in the middle of a batch.

Caught: a producer that gives up after its retries. The rest of the batch would never be sent, and nobody would know.
"""

import asyncio

from engine.client import DefaultMQProducer, Message, MQClientError
from engine.testkit import GlassMQ

BATCH = [f"order-{number}" for number in range(20)]


class Export:
    """The service under test: it sends each order until the broker has it."""

    def __init__(self, name_server: str) -> None:
        self.producer = DefaultMQProducer(None, "shop", name_server)
        self.sent: list[str] = []
        self.failures = 0

    async def run(self, keys: list[str]) -> None:
        """Send all orders."""
        for key in keys:
            while key not in self.sent:
                try:
                    await self.producer.send(Message("orders", b"10", keys=key))
                    self.sent.append(key)
                except MQClientError:
                    self.failures += 1
                    await asyncio.sleep(0.05)


def test_a_batch_is_complete_although_the_broker_restarts(glassmq: GlassMQ) -> None:
    async def run() -> None:
        export = Export(glassmq.name_server_address)
        async with export.producer:
            with glassmq.faults.hold("SEND_MESSAGE_V2", key="order-7", times=1) as eighth:
                batch = asyncio.create_task(export.run(BATCH))
                await eighth
                with glassmq.faults.crash():  # the end of the block starts the broker again
                    while not export.failures:
                        await asyncio.sleep(0.01)
            await batch

    asyncio.run(run())
    for key in BATCH:
        glassmq.assert_sent("orders", key=key)

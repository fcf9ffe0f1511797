"""Sixteen retries and a dead letter, in a fraction of a second.

Caught: a listener that swallows errors. The broken order would count as consumed, and be gone without a trace.
"""

import asyncio
from collections.abc import Sequence

from engine.client import (
    ConsumeConcurrentlyContext,
    ConsumeConcurrentlyStatus,
    ConsumeFromWhere,
    DefaultMQProducer,
    DefaultMQPushConsumer,
    Message,
    MessageExt,
)
from engine.testkit import GlassMQ


class Billing:
    """The service under test: it bills orders, and wants those again that it cannot read."""

    def __init__(self) -> None:
        self.billed: list[int] = []
        self.attempts = 0

    async def consume(
        self, messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext
    ) -> ConsumeConcurrentlyStatus:
        """Bill one order."""
        try:
            self.billed.append(int(messages[0].body))
        except ValueError:
            self.attempts += 1
            return ConsumeConcurrentlyStatus.RECONSUME_LATER
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS


def test_an_order_that_cannot_be_read_ends_as_a_dead_letter(glassmq: GlassMQ) -> None:
    billing = Billing()

    async def run() -> None:
        glassmq.create_topic("orders")
        consumer = DefaultMQPushConsumer(
            None,
            "billing",
            glassmq.name_server_address,
            consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
        )
        consumer.subscribe("orders")
        consumer.register_message_listener(billing.consume)
        async with consumer, DefaultMQProducer(None, "shop", glassmq.name_server_address) as producer:
            await producer.send(Message("orders", b"ten", keys="broken"))
            await producer.send(Message("orders", b"10", keys="sound"))
            await asyncio.to_thread(glassmq.wait_for, "SCHEDULE_TOPIC_XXXX")  # the first failure waits for its retry
            await asyncio.to_thread(glassmq.advance, hours=5, settle=10)
            await asyncio.to_thread(glassmq.assert_dead_letter, "billing", key="broken", count=1)

    asyncio.run(run())
    assert billing.attempts == 17
    assert billing.billed == [10]

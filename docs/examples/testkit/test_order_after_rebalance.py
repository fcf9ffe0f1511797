"""Order after a rebalance: a second consumer joins while the first one works.

Caught: a listener for concurrent consumption where the order matters, or one that hands its messages to threads. The
steps of an order would be worked on side by side, or by both consumers.
"""

import asyncio
from collections.abc import Sequence

from engine.client import (
    ConsumeFromWhere,
    ConsumeOrderlyContext,
    ConsumeOrderlyStatus,
    DefaultMQProducer,
    DefaultMQPushConsumer,
    Message,
    MessageExt,
    select_message_queue_by_hash,
)
from engine.testkit import GlassMQ

ORDERS, STEPS = ("17", "18", "19"), 20


class Warehouse:
    """The service under test: it notes the steps of each order."""

    def __init__(self) -> None:
        self.steps: dict[str, list[int]] = {order: [] for order in ORDERS}

    async def consume(self, messages: Sequence[MessageExt], context: ConsumeOrderlyContext) -> ConsumeOrderlyStatus:
        """Work on one step; another consumer may run meanwhile."""
        await asyncio.sleep(0.005)
        self.note(messages[0])
        return ConsumeOrderlyStatus.SUCCESS

    def note(self, message: MessageExt) -> None:
        """Note one step."""
        self.steps[message.keys[0]].append(int(message.body))

    def member(self, name_server: str) -> DefaultMQPushConsumer:
        """Return one more consumer of the service."""
        consumer = DefaultMQPushConsumer(
            None,
            "warehouse",
            name_server,
            consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
            persist_consumer_offset_interval_ms=100,
            rebalance_interval_ms=200,
            unlock_delay_ms=100,
        )
        consumer.subscribe("steps")
        consumer.register_message_listener_orderly(self.consume)
        return consumer


def test_the_steps_of_an_order_stay_in_order_when_a_consumer_joins(glassmq: GlassMQ) -> None:
    warehouse = Warehouse()

    async def run() -> None:
        async with DefaultMQProducer(None, "shop", glassmq.name_server_address) as producer:
            for step in range(STEPS):
                for order in ORDERS:
                    message = Message("steps", b"%d" % step, keys=order)
                    await producer.send(message, selector=select_message_queue_by_hash, selector_argument=order)
        async with warehouse.member(glassmq.name_server_address):
            async with asyncio.timeout(60):
                while not warehouse.steps["17"]:  # the first one has begun
                    await asyncio.sleep(0.01)
            async with warehouse.member(glassmq.name_server_address):
                await asyncio.to_thread(glassmq.assert_consumed, "warehouse", "steps", timeout=60)

    asyncio.run(run())
    # Steps may come again when a queue changes hands; none may overtake another one.
    first_times = {order: list(dict.fromkeys(steps)) for order, steps in warehouse.steps.items()}
    assert first_times == {order: [*range(STEPS)] for order in ORDERS}

"""A service in a process of its own: it bills orders, each once, into a file.

``python billing_service.py NAME_SERVER LEDGER [die]``; with ``die`` its process ends in the listener: after the work,
before the confirmation.
"""

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from engine.client import (
    ConsumeConcurrentlyContext,
    ConsumeConcurrentlyStatus,
    ConsumeFromWhere,
    DefaultMQPushConsumer,
    MessageExt,
)


async def main(name_server: str, ledger: Path, dies: bool) -> None:
    """Consume until the process ends."""

    def bill(messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext) -> ConsumeConcurrentlyStatus:
        billed = ledger.read_text().split() if ledger.exists() else []
        with ledger.open("a") as file:
            file.writelines(f"{message.keys[0]}\n" for message in messages if message.keys[0] not in billed)
        if dies:
            os._exit(1)
        return ConsumeConcurrentlyStatus.CONSUME_SUCCESS

    consumer = DefaultMQPushConsumer(
        None,
        "billing",
        name_server,
        consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
        persist_consumer_offset_interval_ms=100,
    )
    consumer.subscribe("orders")
    consumer.register_message_listener(bill)
    async with consumer:
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), dies="die" in sys.argv))

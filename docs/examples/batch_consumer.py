"""Consume up to ten messages per call of the listener.

``python batch_consumer.py [NAME_SERVER]`` runs until Ctrl-C; the article's ``BatchConsumer``. It consumes the topic of
``batch_producer.py``; the article's subscribes to ``someTopicA``, where nothing is sent.
"""

import asyncio
import contextlib
import sys
from collections.abc import Sequence

from engine.client import (
    ConsumeConcurrentlyContext,
    ConsumeConcurrentlyStatus,
    ConsumeFromWhere,
    DefaultMQPushConsumer,
    MessageExt,
)


async def listen(messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext) -> ConsumeConcurrentlyStatus:
    """Print what came."""
    print("a call with", len(messages), "messages, from", messages[0].body.decode(), "to", messages[-1].body.decode())
    return ConsumeConcurrentlyStatus.CONSUME_SUCCESS


async def main(name_server: str = "127.0.0.1:9876") -> None:
    """Consume, from the first message of the topic."""
    consumer = DefaultMQPushConsumer(
        group="cg",
        name_server_addresses=name_server,
        consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
        consume_message_batch_max_size=10,
        pull_batch_size=40,
    )
    consumer.subscribe("someTopic", "*")
    consumer.register_message_listener(listen)
    async with consumer:
        print("Consumer started")
        await asyncio.Event().wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(*sys.argv[1:]))

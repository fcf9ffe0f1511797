"""Print the messages that have one of two tags.

``python filter_by_tag_consumer.py [NAME_SERVER]`` runs until Ctrl-C; the article's ``FilterByTagConsumer``.
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
    for message in messages:
        print(message.body.decode(), message.tags)
    return ConsumeConcurrentlyStatus.CONSUME_SUCCESS


async def main(name_server: str = "127.0.0.1:9876") -> None:
    """Consume, from the first message of the topic."""
    consumer = DefaultMQPushConsumer(
        group="pg",
        name_server_addresses=name_server,
        consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
    )
    consumer.subscribe("myTopic", "myTagA || myTagB")
    consumer.register_message_listener(listen)
    async with consumer:
        print("Consumer started")
        await asyncio.Event().wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(*sys.argv[1:]))

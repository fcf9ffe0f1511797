"""Print the messages whose property ``age`` is at most six.

``python filter_by_sql_consumer.py [NAME_SERVER]`` runs until Ctrl-C; the article's ``FilterBySQLConsumer``. The broker
needs ``--broker-setting enablePropertyFilter=true``. The group is not that of ``filter_by_tag_consumer.py``: all
members of a group must subscribe to the same topics with the same filters.
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
    ExpressionType,
    MessageExt,
)


async def listen(messages: Sequence[MessageExt], context: ConsumeConcurrentlyContext) -> ConsumeConcurrentlyStatus:
    """Print what came."""
    for message in messages:
        print(message.body.decode(), "age", message.properties["age"])
    return ConsumeConcurrentlyStatus.CONSUME_SUCCESS


async def main(name_server: str = "127.0.0.1:9876") -> None:
    """Consume, from the first message of the topic."""
    consumer = DefaultMQPushConsumer(
        group="pg_sql",
        name_server_addresses=name_server,
        consume_from_where=ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET,
    )
    consumer.subscribe("myTopic", "age between 0 and 6", ExpressionType.SQL92)
    consumer.register_message_listener(listen)
    async with consumer:
        print("Consumer started")
        await asyncio.Event().wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(*sys.argv[1:]))

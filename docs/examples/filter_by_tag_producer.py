"""Send ten messages with three tags in turn.

``python filter_by_tag_producer.py [NAME_SERVER]``: the article's ``FilterByTagProducer``.
"""

import asyncio
import sys

from engine.client import DefaultMQProducer, Message

TAGS = ("myTagA", "myTagB", "myTagC")


async def main(name_server: str = "127.0.0.1:9876") -> None:
    """Send all of them."""
    async with DefaultMQProducer(group="pg", name_server_addresses=name_server) as producer:
        for number in range(10):
            message = Message("myTopic", b"Hi,%d" % number, tags=TAGS[number % len(TAGS)])
            print((await producer.send(message)).status, message.tags)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

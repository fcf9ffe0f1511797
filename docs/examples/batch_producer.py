"""Send a hundred messages in batches that no limit refuses.

``python batch_producer.py [NAME_SERVER]``: the article's ``BatchProducer``, with ``ListSplitter`` for its
``MessageListSplitter``.
"""

import asyncio
import sys

from engine.client import DefaultMQProducer, ListSplitter, Message


async def main(name_server: str = "127.0.0.1:9876") -> None:
    """Send all of them."""
    messages = [Message("someTopic", b"Hi,%d" % number, tags="someTag") for number in range(100)]
    async with DefaultMQProducer(group="pg", name_server_addresses=name_server) as producer:
        for batch in ListSplitter(messages):
            result = await producer.send_batch(batch)
            print("a batch of", len(batch), "messages:", result.status)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

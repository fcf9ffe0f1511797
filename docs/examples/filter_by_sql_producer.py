"""Send ten messages whose property ``age`` is zero to nine.

``python filter_by_sql_producer.py [NAME_SERVER]``: the article's ``FilterBySQLProducer``.
"""

import asyncio
import sys

from engine.client import DefaultMQProducer, Message


async def main(name_server: str = "127.0.0.1:9876") -> None:
    """Send all of them."""
    async with DefaultMQProducer(group="pg", name_server_addresses=name_server) as producer:
        for age in range(10):
            message = Message("myTopic", b"Hi,%d" % age, tags="myTag", properties={"age": str(age)})
            print((await producer.send(message)).status, "age", age)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

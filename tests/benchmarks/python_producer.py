"""Sends as fast as it can through GlassMQ's own client, for machines without Java. Prints a line per window.

python python_producer.py NAME_SERVER TOPIC SENDERS BODY_BYTES BATCH_SIZE WINDOW_SECONDS
"""

from __future__ import annotations

import asyncio
import json
import sys
import time

from engine.client.foundation.errors import MQClientError
from engine.client.producer.default_mq_producer import DefaultMQProducer
from engine.protocol.message.message import Message


class Load:
    """Some senders that share a producer and count what was acknowledged."""

    def __init__(self, producer: DefaultMQProducer, topic: str, body: bytes, batch_size: int) -> None:
        self._producer = producer
        self._topic = topic
        self._body = body
        self._batch_size = batch_size
        self.acknowledged = 0
        self.failed = 0

    async def send_forever(self) -> None:
        while True:
            messages = [Message(self._topic, self._body) for _ in range(self._batch_size)]
            try:
                if self._batch_size == 1:
                    await self._producer.send(messages[0])
                else:
                    await self._producer.send_batch(messages)
                self.acknowledged += self._batch_size
            except MQClientError:
                self.failed += 1


async def main(name_server: str, topic: str, senders: int, body_bytes: int, batch_size: int, window_s: int) -> None:
    async with DefaultMQProducer(group="load_producer", name_server_addresses=name_server) as producer:
        load = Load(producer, topic, b"x" * body_bytes, batch_size)
        async with asyncio.TaskGroup() as group:
            for _ in range(senders):
                group.create_task(load.send_forever())
            while True:
                started, before = time.monotonic(), load.acknowledged
                await asyncio.sleep(window_s)
                rate = (load.acknowledged - before) / (time.monotonic() - started)
                line = {"event": "window", "messages_per_second": round(rate), "failed": load.failed}
                print(json.dumps(line), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:7])))

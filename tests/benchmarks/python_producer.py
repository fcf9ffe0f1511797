"""Sends as fast as it can through GlassMQ's own client, for machines without Java; prints what LoadClient.java prints.

python python_producer.py NAME_SERVER TOPIC SENDERS BODY_BYTES BATCH_SIZE WARM_UP_SECONDS WINDOW_SECONDS
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Sequence

from engine.client.foundation.errors import MQClientError
from engine.client.producer.default_mq_producer import DefaultMQProducer
from engine.protocol.message.message import Message


class Load:
    """Some senders that share a producer and count what was acknowledged; both counts are of messages."""

    def __init__(self, producer: DefaultMQProducer, topic: str, body: bytes, batch_size: int) -> None:
        self._producer = producer
        self._topic = topic
        self._body = body
        self._batch_size = batch_size
        self.acknowledged = 0
        self.failed = 0
        self.is_ended = False

    async def send_until_ended(self) -> None:
        while not self.is_ended:
            messages = [Message(self._topic, self._body) for _ in range(self._batch_size)]
            try:
                if self._batch_size == 1:
                    await self._producer.send(messages[0])
                else:
                    await self._producer.send_batch(messages)
                self.acknowledged += self._batch_size
            except MQClientError:
                self.failed += self._batch_size


async def main(arguments: Sequence[str]) -> None:
    """Warm up, measure, end."""
    name_server, topic = arguments[:2]
    senders, body_bytes, batch_size = map(int, arguments[2:5])
    warm_up_s, window_s = map(float, arguments[5:7])
    async with DefaultMQProducer(
        group="load_producer", name_server_addresses=name_server, retry_times_when_send_failed=0
    ) as producer:
        load = Load(producer, topic, b"x" * body_bytes, batch_size)
        async with asyncio.TaskGroup() as group:
            for _ in range(senders):
                group.create_task(load.send_until_ended())
            await asyncio.sleep(warm_up_s)
            started, before = time.monotonic(), load.acknowledged
            _print("begin")
            await asyncio.sleep(window_s)
            _print("end", messages=load.acknowledged - before, seconds=time.monotonic() - started)
            load.is_ended = True
        _print("result", acknowledged=load.acknowledged, failed=load.failed)


def _print(event: str, **fields: float) -> None:
    print(json.dumps({"event": event, **fields}), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))

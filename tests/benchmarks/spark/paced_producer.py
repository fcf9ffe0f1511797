"""Sends at a steady rate through GlassMQ's own client until it is stopped.

python -m tests.benchmarks.spark.paced_producer NAME_SERVER TOPIC MESSAGES_PER_SECOND BODY_BYTES
"""

from __future__ import annotations

import asyncio
import sys
import time

from engine.client.producer.default_mq_producer import DefaultMQProducer
from engine.protocol.message.message import Message

_BATCHES_PER_SECOND = 100


async def main(name_server: str, topic: str, rate: int, body_bytes: int) -> None:
    """One batch every 10 ms, the queues taking turns. Prints a line when it has begun."""
    async with DefaultMQProducer(group="paced_producer", name_server_addresses=name_server) as producer:
        begun, sent = time.monotonic(), 0
        while True:
            await producer.send_batch(
                [Message(topic, b"x" * body_bytes) for _ in range(max(1, rate // _BATCHES_PER_SECOND))]
            )
            sent += 1
            if sent == 1:
                print("sending", flush=True)
            await asyncio.sleep(max(0.0, begun + sent / _BATCHES_PER_SECOND - time.monotonic()))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))

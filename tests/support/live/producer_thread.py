"""A producer that stays connected during the test, in a thread and an event loop of its own."""

from __future__ import annotations

import asyncio
import threading

from engine.client import DefaultMQProducer

#: Nobody who holds a frame in a test is hurried.
_TIMEOUT_MS = 120_000


class ProducerThread:
    """Use it in a ``with``."""

    def __init__(self, name_servers, group):
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._name_servers, self._group = name_servers, group

    def __enter__(self):
        self._thread.start()
        self._call(self._start())
        return self

    async def _start(self):
        self._producer = DefaultMQProducer(None, self._group, self._name_servers, send_msg_timeout_ms=_TIMEOUT_MS)
        await self._producer.start()

    def __exit__(self, *_):
        self._call(self._producer.shutdown())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)
        self._loop.close()

    def _call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(_TIMEOUT_MS / 1_000)

    def send(self, message):
        """Send, and wait for the answer."""
        return self._call(self._producer.send(message))

    def send_oneway(self, message):
        """Send, and wait for nothing."""
        return self._call(self._producer.send_oneway(message))

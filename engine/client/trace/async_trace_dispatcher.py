"""The dispatcher that collects trace records and sends them in batches (RocketMQ: ``AsyncTraceDispatcher``)::

    hook ── append ──> queue of 1,024 notes ── worker ──> segment ── 0.5 s old, or 118,000 bytes ──> trace topic
                │
                └─ full: the note is dropped, and counted

Tracing never delays the traced client and never makes it fail: if the trace topic cannot be reached, records are lost.
A separate inner producer sends them, which is not traced itself.

RocketMQ 4.9.8 also has a batch size of 100 records, which is unused. Different from it: a segment is measured in bytes,
not in characters, and so are its keys; in RocketMQ, some 1,000 short records, or keys in Chinese, can make a message
that is too large to send.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable
from typing import Any, Protocol

from engine.client.callbacks.send_result import SendResult
from engine.client.foundation.errors import MQClientError
from engine.client.trace.trace_context import TraceContext
from engine.client.trace.trace_data_encoder import encode_trace_context, trace_keys
from engine.protocol.message.message import Message
from engine.protocol.message.message_properties import PROPERTIES_MAX_BYTES
from engine.runtime.background_tasks import BackgroundTasks
from engine.runtime.port import Clock

_log = logging.getLogger("glassmq.client")

#: AsyncTraceDispatcher: traceContextQueue, waitTimeThresholdMil, maxMsgSize, and how far a segment stays below it.
CONTEXT_QUEUE_MAX = 1_024
WAIT_TIME_THRESHOLD_MS = 500
TRACE_MESSAGE_MAX_BYTES = 128_000
SEGMENT_MAX_BYTES = TRACE_MESSAGE_MAX_BYTES - 10_000
#: The timeout of one trace message, and how many may be in flight: as many as RocketMQ's executor has threads.
TRACE_SEND_TIMEOUT_MS = 5_000
TRACE_SENDS_IN_FLIGHT_MAX = 20
#: The maximum size of a segment's keys, which share the properties with a few others of the producer.
_KEYS_MAX_BYTES = PROPERTIES_MAX_BYTES - 1_000


class TraceProducer(Protocol):
    """The interface of the inner producer."""

    async def start(self) -> None: ...

    async def shutdown(self) -> None: ...

    def send_async(self, message: Message, callback: Any, *, timeout_ms: int) -> Awaitable[None]: ...


class _Segment:
    """Trace records that go into one message (``TraceDataSegment``)."""

    def __init__(self) -> None:
        self.records: list[bytes] = []
        self.keys: dict[str, None] = {}
        self.size = 0
        self.keys_size = 0
        self.first_us = 0

    def has_room(self, record: bytes) -> bool:
        fits = self.size + len(record) <= SEGMENT_MAX_BYTES and self.keys_size <= _KEYS_MAX_BYTES // 2
        return fits or not self.records

    def add(self, record: bytes, keys: list[str], now_us: int) -> None:
        if not self.records:
            self.first_us = now_us
        self.records.append(record)
        self.size += len(record)
        for key in keys:
            size = len(key.encode()) + 1
            # A word that does not fit is not indexed; the record itself can be found by the others.
            if key not in self.keys and self.keys_size + size <= _KEYS_MAX_BYTES:
                self.keys[key] = None
                self.keys_size += size


class AsyncTraceDispatcher:
    """A dispatcher for the trace records of one client.

    :param producer: the inner producer, not started.
    :param topic: the trace topic.
    :ivar appended: records accepted so far; ``discarded``: those refused because too many waited.
    :ivar sent: records that a broker has; ``lost``: those whose message was not acknowledged.
    """

    def __init__(self, clock: Clock, producer: TraceProducer, topic: str) -> None:
        self.topic = topic
        self.appended = self.discarded = self.sent = self.lost = 0
        self._clock = clock
        self._producer = producer
        self._contexts: deque[TraceContext] = deque()
        self._arrived = asyncio.Event()
        self._segment = _Segment()
        self._background = BackgroundTasks("trace dispatcher")

    async def start(self) -> None:
        """Start the dispatcher."""
        await self._producer.start()
        self._background.spawn(self._work(), "trace worker")

    def append(self, context: TraceContext) -> bool:
        """Add a record; return False if it is dropped."""
        if len(self._contexts) >= CONTEXT_QUEUE_MAX:
            self.discarded += 1
            _log.info("%d trace records wait: another one is dropped, %d in total", CONTEXT_QUEUE_MAX, self.discarded)
            return False
        self.appended += 1
        self._contexts.append(context)
        self._arrived.set()
        return True

    async def shutdown(self) -> None:
        """Send the remaining records, wait for the replies, and end."""
        try:
            await self._background.stop()
            await self._fill_segments()
            await self._send_segment()
        finally:
            await self._producer.shutdown()

    async def _work(self) -> None:
        while True:
            await self._wait()
            self._arrived.clear()
            await self._fill_segments()
            if self._segment.records and self._age_ms() >= WAIT_TIME_THRESHOLD_MS:
                await self._send_segment()

    async def _wait(self) -> None:
        """Wait until there is a record, or the segment is old enough."""
        if not self._segment.records:
            await self._arrived.wait()
            return
        try:
            async with asyncio.timeout((WAIT_TIME_THRESHOLD_MS - self._age_ms()) / 1_000):
                await self._arrived.wait()
        except TimeoutError:
            pass

    def _age_ms(self) -> int:
        return (self._clock.monotonic_us() - self._segment.first_us) // 1_000

    async def _fill_segments(self) -> None:
        while self._contexts:
            context = self._contexts.popleft()
            record = encode_trace_context(context).encode()
            if not self._segment.has_room(record):
                await self._send_segment()
            self._segment.add(record, trace_keys(context), self._clock.monotonic_us())
            if self._segment.size >= SEGMENT_MAX_BYTES:
                await self._send_segment()

    async def _send_segment(self) -> None:
        """Pass the segment to the inner producer, as soon as that has room."""
        segment, self._segment = self._segment, _Segment()
        if not segment.records:
            return
        count = len(segment.records)

        def ended(result: SendResult | None, error: Exception | None) -> None:
            if error is None:
                self.sent += count
            else:
                self.lost += count
                _log.warning("%d trace records are lost: %s", count, error)

        message = Message(self.topic, b"".join(segment.records), keys=tuple(segment.keys))
        try:
            await self._producer.send_async(message, ended, timeout_ms=TRACE_SEND_TIMEOUT_MS)
        except MQClientError as error:
            ended(None, error)

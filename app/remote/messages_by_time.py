"""Reads the messages of a topic that were stored within a span of time, page by page, the newest first.

RocketMQ: ``searchOffset`` of ``mqadmin``, and the dashboard's query by topic and time.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from app.remote.remote_broker import RemoteBroker
from engine.protocol.body import question
from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.message.message import MessageExt

#: Queues that one search reads: each costs two searches by time and at least one message.
QUEUES_MAX = 256
_PLACE = re.compile(r"[0-9]{1,10}:[0-9]{1,19}")


@dataclass(frozen=True, slots=True)
class QueueSpan:
    """The offsets ``first`` up to ``end`` of a queue, on the broker of that name."""

    broker: str
    queue_id: int
    first: int
    end: int


def check_place(text: str) -> None:
    """Raise ``ValueError`` unless ``text`` is a place of a page, as :func:`spans_before` reads it."""
    if not _PLACE.fullmatch(text):
        raise ValueError("must be QUEUE:OFFSET")


def spans_before(spans: Sequence[QueueSpan], places: Sequence[str]) -> list[QueueSpan]:
    """Return what is left of ``spans`` on one broker before these places, each ``queue:offset``."""
    ends = {int(queue_id): int(offset) for queue_id, _, offset in (place.partition(":") for place in places)}
    return [
        replace(span, end=max(span.first, min(span.end, ends[span.queue_id])))
        for span in spans
        if span.queue_id in ends
    ]


class MessagesByTime:
    """Searches ``topic`` on ``brokers`` (name -> broker)."""

    def __init__(self, brokers: Mapping[str, RemoteBroker], topic: str) -> None:
        self._brokers = brokers
        self._topic = topic

    async def spans(self, from_ms: int, to_ms: int, queue_id: int | None = None) -> tuple[list[QueueSpan], int]:
        """Return, of each queue (or one), the messages stored from ``from_ms`` to ``to_ms``, both included.

        :returns: at most :data:`QUEUES_MAX` spans, none where no broker has the topic or the queue; and how many queues
            were left out.
        """
        found: list[QueueSpan] = []
        omitted = 0
        for name, broker in self._brokers.items():
            for ends in await broker.topic_queues(self._topic):
                if queue_id not in (None, ends.queue.queue_id):
                    continue
                if len(found) == QUEUES_MAX:
                    omitted += 1
                    continue
                first = await self._first_at(broker, ends.queue, from_ms)
                end = await self._first_at(broker, ends.queue, to_ms + 1)
                span = max(first, ends.min_offset), min(end, ends.max_offset)
                found.append(QueueSpan(name, ends.queue.queue_id, span[0], max(span)))
        return found, omitted

    async def _first_at(self, broker: RemoteBroker, queue: MessageQueue, time_ms: int) -> int:
        """Return the offset of the first message stored at that time or later."""
        offset = await broker.offset(question.offset_at(queue, time_ms), f"search {queue} by time") or 0
        # Brokers answer with the nearest message: it may be an older one.
        nearest = await broker.read(self._topic, queue.queue_id, offset, offset + 1)
        return offset + 1 if nearest and nearest[0].store_timestamp < time_ms else offset

    async def page(self, spans: Sequence[QueueSpan], count: int) -> tuple[list[MessageExt], list[QueueSpan]]:
        """Return the ``count`` newest messages of ``spans``, and what is left of these for the next page."""
        if not spans:
            return [], []
        tails = [_Tail(self._brokers[span.broker], self._topic, span, -(-count // len(spans))) for span in spans]
        newest: list[tuple[int, int, int]] = []

        async def add(place: int) -> None:
            if (message := await tails[place].peek()) is not None:
                heapq.heappush(newest, (-message.store_timestamp, -message.commit_log_offset, place))

        for place in range(len(tails)):
            await add(place)
        page: list[MessageExt] = []
        while newest and len(page) < count:
            place = heapq.heappop(newest)[-1]
            page.append(tails[place].pop())
            await add(place)
        return page, [tail.span for tail in tails if tail.span.first < tail.span.end]


class _Tail:
    """The messages of one span from the newest to the oldest, read ``chunk`` at a time."""

    def __init__(self, broker: RemoteBroker, topic: str, span: QueueSpan, chunk: int) -> None:
        self._broker, self._topic, self._chunk = broker, topic, chunk
        self._read: list[MessageExt] = []
        self.span = span

    async def peek(self) -> MessageExt | None:
        """Return the newest message that is left; some may be missing in their queue."""
        while not self._read and self.span.first < self.span.end:
            start = max(self.span.first, self.span.end - self._chunk)
            self._read = await self._broker.read(self._topic, self.span.queue_id, start, self.span.end)
            if not self._read:
                self.span = replace(self.span, end=start)
        return self._read[-1] if self._read else None

    def pop(self) -> MessageExt:
        """Return it, and go on to the one before it."""
        message = self._read.pop()
        self.span = replace(self.span, end=message.queue_offset)
        return message

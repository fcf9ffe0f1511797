"""The audit's state in the driver: the books of the producers, the queues and the times."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import Any

from engine.pipeline.jobs.delivery_audit.producer_book import OTHERS, ProducerBook
from engine.pipeline.jobs.delivery_audit.queue_segment import UNNUMBERED, QueueSegment
from engine.pipeline.jobs.delivery_audit.summaries import TopicTimes
from engine.pipeline.jobs.latency_histogram import LatencyHistogram
from engine.protocol.errors import MalformedBody
from engine.protocol.message.numbering_ledger import NumberingLedger

#: A summary of :mod:`~engine.pipeline.jobs.delivery_audit.summaries`: kind and JSON.
DeliverySummary = tuple[str, str]

#: Most producers of one topic with a book of their own; the books are bounded whatever a client writes.
PRODUCERS_MAX = 10_000


class DeliveryBook:
    """A book that grows with every batch of summaries.

    :param topics: summaries of other topics count only for the time.
    :ivar producers: (producer, topic) -> its book; at most :data:`PRODUCERS_MAX` per topic, and one for
        :data:`~engine.pipeline.jobs.delivery_audit.producer_book.OTHERS`.
    :ivar queues: (topic, queue) -> [first offset, next offset] that was read.
    :ivar times: topic -> latency from birth to store.
    :ivar newest_ms: the latest store time that was read.
    :ivar horizon_ms: all queues were read up to this time.
    :ivar unreadable_ledgers: messages of the ledger topic that are not ledgers.
    """

    def __init__(self, topics: tuple[str, ...]) -> None:
        self._topics = topics
        self.producers: dict[tuple[str, str], ProducerBook] = {}
        self.queues: dict[tuple[str, str], list[int]] = {}
        self.times: dict[str, TopicTimes] = {}
        self.newest_ms = self.horizon_ms = 0
        self.unreadable_ledgers = 0
        #: Ledgers of producers of which no message was seen yet.
        self._early_ledgers: dict[tuple[str, str], tuple[NumberingLedger, int]] = {}
        #: Topic -> its producers that have a book.
        self._producers_of: Counter[str] = Counter()

    def add(self, summaries: Iterable[DeliverySummary], read_limit: int | None = None) -> dict[str, TopicTimes]:
        """Add one batch, which continues each queue where the previous ended. Return its times by topic.

        :param read_limit: most messages in a batch. A full batch may have left messages unread; it contains some of
            each queue, so all queues are read up to the position of the slowest.
        """
        segments: list[QueueSegment] = []
        times: dict[str, TopicTimes] = {}
        newest_ms: dict[tuple[str, str], int] = {}
        count = 0
        for kind, summary in summaries:
            fields = json.loads(summary)
            topic = fields["topic"]
            if kind == "times":
                for queue, at_ms in fields["newest_ms"].items():
                    newest_ms[topic, queue] = max(at_ms, newest_ms.get((topic, queue), 0))
            count += fields.get("count", 0)
            if topic not in self._topics:
                continue
            if kind == "segment":
                segments.append(QueueSegment.decode(fields))
            else:
                times.setdefault(topic, TopicTimes()).update(TopicTimes.decode(fields["times"]))
        for topic, of_topic in times.items():
            self.times.setdefault(topic, TopicTimes()).update(of_topic)
        self.newest_ms = max([self.newest_ms, *newest_ms.values()])
        is_full = read_limit is not None and count >= read_limit
        self.horizon_ms = max(self.horizon_ms, min(newest_ms.values(), default=0) if is_full else self.newest_ms)
        segments.sort(key=lambda segment: (segment.topic, segment.queue, segment.first_offset))
        for segment in segments:
            extent = self.queues.setdefault((segment.topic, segment.queue), [segment.first_offset, 0])
            extent[1] = max(extent[1], segment.last_offset + 1)
        self._open_books(segments)
        for segment in segments:
            book = self.producers.get((segment.producer, segment.topic))
            (book or self.producers[OTHERS, segment.topic]).add(segment)
        for book in self.producers.values():
            book.batch_ended(self.newest_ms)
        for ledger, stored_ms in list(self._early_ledgers.values()):
            self.add_ledger(ledger, stored_ms)
        return times

    def _open_books(self, segments: Iterable[QueueSegment]) -> None:
        """Open books. When a producer is first seen, the number from which it is judged is decided.

        If the topic was read from its very beginning, this is 0. Otherwise older messages may be gone or were not read,
        and each queue may begin a little earlier or later than others: then it is the number from which all its queues
        have begun.
        """
        firsts: dict[tuple[str, str], list[int]] = {}
        for segment in segments:
            key = (segment.producer, segment.topic)
            if key not in self.producers:
                firsts.setdefault(key, []).append(segment.first_number)
        for (producer, topic), numbers in firsts.items():
            first = 0 if self.begins_at_the_beginning(topic) else max(numbers)
            self._open(producer, topic, first if producer != UNNUMBERED else 0)

    def _open(self, producer: str, topic: str, first: int) -> None:
        """Open a book for the producer or, if there are too many, one for all others."""
        if producer not in (UNNUMBERED, OTHERS):
            if self._is_full(topic):
                self.producers.setdefault((OTHERS, topic), ProducerBook(OTHERS, topic, 0))
                return
            self._producers_of[topic] += 1
        self.producers[producer, topic] = ProducerBook(producer, topic, first)

    def _is_full(self, topic: str) -> bool:
        return self._producers_of[topic] >= PRODUCERS_MAX

    def begins_at_the_beginning(self, topic: str) -> bool:
        """Return whether each queue of the topic that has messages was read from offset 0."""
        firsts = [extent[0] for (of_topic, _), extent in self.queues.items() if of_topic == topic]
        return bool(firsts) and not any(firsts)

    @property
    def acknowledged_since_ms(self) -> int:
        """Return the time before which acknowledgements may concern messages that are deleted or were not read."""
        firsts = [
            (min(times.spans) + 1) * times.width_ms
            for topic, times in self.times.items()
            if not self.begins_at_the_beginning(topic)
        ]
        return max(firsts, default=0)

    def read_ledger(self, body: bytes | None, stored_ms: int) -> None:
        """Read a message of the ledger topic.

        :param body: None if it is longer than a ledger may be.
        """
        try:
            if body is None:
                raise MalformedBody("too long")
            ledger = NumberingLedger.decode(body)
        except MalformedBody:
            self.unreadable_ledgers += 1
            return
        if ledger.topic in self._topics:
            self.add_ledger(ledger, stored_ms)

    def add_ledger(self, ledger: NumberingLedger, stored_ms: int) -> None:
        """Note that a producer has ended. The ledger of an unknown producer is kept until its topic is known from its
        beginning.
        """
        key = (ledger.producer_id, ledger.topic)
        if key not in self.producers and self.begins_at_the_beginning(ledger.topic):
            self._open(*key, first=0)
        self._early_ledgers.pop(key, None)
        if key in self.producers:
            self.producers[key].close(ledger, stored_ms)
        elif not self._is_full(ledger.topic) and len(self._early_ledgers) < PRODUCERS_MAX:
            self._early_ledgers[key] = (ledger, stored_ms)

    def settle(self, until_ms: int) -> None:
        """Note that no message stored until then can be overtaken any more."""
        for book in self.producers.values():
            book.settle(until_ms)

    def latency(self, topic: str) -> LatencyHistogram:
        """Return the latency of a topic from birth to store."""
        return self.times[topic].total

    def encode(self) -> dict[str, Any]:
        """Encode the book as it is saved: JSON."""
        return {
            "producers": [book.encode() for book in self.producers.values()],
            "queues": [[*key, *extent] for key, extent in self.queues.items()],
            "times": {topic: times.encode() for topic, times in self.times.items()},
            "newest_ms": self.newest_ms,
            "horizon_ms": self.horizon_ms,
            "unreadable_ledgers": self.unreadable_ledgers,
            "early_ledgers": [[ledger.encode().decode(), ms] for ledger, ms in self._early_ledgers.values()],
        }

    @classmethod
    def decode(cls, encoded: dict[str, Any], topics: tuple[str, ...]) -> DeliveryBook:
        """Decode what :meth:`encode` returned."""
        made = cls(topics)
        for fields in encoded["producers"]:
            book = ProducerBook.decode(fields)
            made._open(book.producer, book.topic, book.first)
            made.producers[book.producer, book.topic] = book
        made.queues = {(topic, queue): [first, after] for topic, queue, first, after in encoded["queues"]}
        made.times = {topic: TopicTimes.decode(times) for topic, times in encoded["times"].items()}
        made.newest_ms, made.horizon_ms = encoded["newest_ms"], encoded["horizon_ms"]
        made.unreadable_ledgers = encoded["unreadable_ledgers"]
        for text, stored_ms in encoded["early_ledgers"]:
            made.add_ledger(NumberingLedger.decode(text.encode()), stored_ms)
        return made

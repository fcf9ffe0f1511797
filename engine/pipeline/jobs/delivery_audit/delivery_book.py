"""The audit's state in the driver: the books of the producers, the queues and the times."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 - the name that all of Spark's users know

from engine.pipeline.jobs.delivery_audit.latencies import Latencies
from engine.pipeline.jobs.delivery_audit.producer_book import OTHERS, ProducerBook
from engine.pipeline.jobs.delivery_audit.summaries import UNNUMBERED, LatencySpans, QueueSegment
from engine.protocol.errors import MalformedBody
from engine.protocol.message.numbering_ledger import LEDGER_BYTES_MAX, NumberingLedger

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Most producers of one topic with a book of their own; the books are bounded whatever a client writes.
PRODUCERS_MAX = 10_000


@dataclass(slots=True)
class DeliveryBook:
    """A book that grows with every batch of segments.

    :ivar topics: segments of other topics count only for the time.
    :ivar producers: (producer, topic) -> its book; at most :data:`PRODUCERS_MAX` per topic, and one for
        :data:`~engine.pipeline.jobs.delivery_audit.producer_book.OTHERS`.
    :ivar queues: (topic, queue) -> [first offset, next offset] that was read.
    :ivar latency: topic -> latency from birth to store.
    :ivar oldest_ms: topic -> the earliest store time that was read.
    :ivar newest_ms: the latest store time that was read.
    :ivar horizon_ms: all queues were read up to this time.
    :ivar untraced_ms: messages stored by then may have been read while there was no trace topic.
    :ivar unreadable_ledgers: messages of the ledger topic that are not ledgers.
    """

    topics: tuple[str, ...]
    producers: dict[tuple[str, str], ProducerBook] = field(default_factory=dict)
    queues: dict[tuple[str, str], list[int]] = field(default_factory=dict)
    latency: dict[str, Latencies] = field(default_factory=dict)
    oldest_ms: dict[str, int] = field(default_factory=dict)
    newest_ms: int = 0
    horizon_ms: int = 0
    untraced_ms: int = 0
    unreadable_ledgers: int = 0
    #: Ledgers of producers of which no message was seen yet.
    _early_ledgers: dict[tuple[str, str], tuple[NumberingLedger, int]] = field(default_factory=dict)
    #: Topic -> its producers that have a book.
    _producers_of: dict[str, int] = field(default_factory=dict)

    def add(self, segments: Iterable[QueueSegment], read_limit: int | None = None) -> None:
        """Add one batch, which continues each queue where the previous ended.

        :param segments: the summary of the whole batch, other topics included.
        :param read_limit: most messages in a batch. A full batch may have left messages unread; it contains some of
            each queue, so all queues are read up to the position of the slowest.
        """
        newest_ms: dict[tuple[str, str], int] = {}
        audited: list[QueueSegment] = []
        count = 0
        for segment in segments:
            place = (segment.topic, segment.queue)
            newest_ms[place] = max(segment.newest_ms, newest_ms.get(place, 0))
            count += segment.count
            if segment.topic in self.topics:
                audited.append(segment)
        self.newest_ms = max([self.newest_ms, *newest_ms.values()])
        is_full = read_limit is not None and count >= read_limit
        self.horizon_ms = max(self.horizon_ms, min(newest_ms.values(), default=0) if is_full else self.newest_ms)
        audited.sort(key=lambda segment: (segment.topic, segment.queue, segment.first_offset))
        for segment in audited:
            extent = self.queues.setdefault((segment.topic, segment.queue), [segment.first_offset, 0])
            extent[1] = max(extent[1], segment.last_offset + 1)
            self.oldest_ms[segment.topic] = min(segment.oldest_ms, self.oldest_ms.get(segment.topic, segment.oldest_ms))
        self._open_books(audited)
        for segment in audited:
            book = self.producers.get((segment.producer, segment.topic))
            (book or self.producers[OTHERS, segment.topic]).add(segment)
        for book in self.producers.values():
            book.batch_ended(self.newest_ms)
        for ledger, stored_ms in list(self._early_ledgers.values()):
            self.add_ledger(ledger, stored_ms)

    def add_latency(self, latency: LatencySpans) -> None:
        """Add the latency of one batch."""
        for topic, spans in latency.spans.items():
            of_topic = self.latency.setdefault(topic, Latencies())
            for span in spans.values():
                of_topic.update(span)

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
            self._producers_of[topic] = self._producers_of.get(topic, 0) + 1
        self.producers[producer, topic] = ProducerBook(producer, topic, first)

    def _is_full(self, topic: str) -> bool:
        return self._producers_of.get(topic, 0) >= PRODUCERS_MAX

    def begins_at_the_beginning(self, topic: str) -> bool:
        """Return whether each queue of the topic that has messages was read from offset 0."""
        firsts = [extent[0] for (of_topic, _), extent in self.queues.items() if of_topic == topic]
        return bool(firsts) and not any(firsts)

    @property
    def acknowledged_since_ms(self) -> int:
        """Return the time before which acknowledgements may concern messages that are deleted, were not read, or were
        read without traces.
        """
        begins_ms = [ms for topic, ms in self.oldest_ms.items() if not self.begins_at_the_beginning(topic)]
        begin_ms = max([self.untraced_ms, *begins_ms])
        # A second later, as the topic's queues need not begin at the same moment.
        return (begin_ms // 1_000 + 1) * 1_000 if begin_ms else 0

    def read_ledgers(self, messages: DataFrame) -> None:
        """Read messages of the ledger topic: ``body`` and ``stored_ms``."""
        # One by one, as each may be large; and what is longer than a ledger may be stays where it is.
        body = F.when(F.length("body") <= LEDGER_BYTES_MAX, F.col("body"))
        for content, stored_ms in messages.select(body, "stored_ms").toLocalIterator():
            self.read_ledger(b"" if content is None else bytes(content), stored_ms)

    def read_ledger(self, body: bytes, stored_ms: int) -> None:
        """Read a message of the ledger topic."""
        try:
            ledger = NumberingLedger.decode(body)
        except MalformedBody:
            self.unreadable_ledgers += 1
            return
        if ledger.topic in self.topics:
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

"""The reports of all readers put together: what is missing, twice, out of order. Pure functions.

For numbers, copies and gaps the reports of the parts say exactly what one report of the whole would, in whatever way
queues moved between readers, as long as nothing was forgotten. Of order they say at most as much: a number that is the
first that its reader meets in a queue has nobody before it to be compared with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from engine.idempotence.loss_detection.number_book import NumberBook
from engine.idempotence.loss_detection.number_set import NumberSet
from engine.idempotence.loss_detection.reader_report import QueueNote, ReaderReport
from engine.protocol.number_ranges import NumberRange, count_of, without

#: Ranges of missing numbers that a verdict names.
RANGES_TOLD = 8
#: Later than anything was stored: all is judged.
END_OF_TIME_MS = 1 << 53
#: So long ago a higher number must have been stored before one is missed: retries and other queues may still bring it.
SETTLING_MS = 30_000


@dataclass(frozen=True, slots=True)
class ProducerVerdict:
    """Counts for one producer and topic. The words are those of the delivery audit (``docs/pipeline.md``).

    :ivar first: the lowest number that is judged.
    :ivar numbered: numbers from it to the last that is known of.
    :ivar met: different numbers.
    :ivar lost: missing, and the producer's ledger does not call them refused or unknown.
    :ivar lost_ranges: the first of them.
    :ivar refused: missing, as the producer was told.
    :ivar unknown: missing, and nobody told the producer whether it was stored, or its ledger is not complete.
    :ivar unknown_ranges: the first of them.
    :ivar not_judged: missing too recently.
    :ivar duplicated: copies that were stored beyond the first.
    :ivar out_of_order: numbers that stand in their queue behind a higher one, and stand there once.
    :ivar delivered_again: deliveries of the same copy beyond the first.
    :ivar has_ended: whether the producer told how many numbers it gave.
    :ivar forgotten: numbers and places that are not remembered any more, and what came of such.
    """

    producer: str
    first: int
    numbered: int
    met: int
    lost: int
    lost_ranges: tuple[NumberRange, ...]
    refused: int
    unknown: int
    unknown_ranges: tuple[NumberRange, ...]
    not_judged: int
    duplicated: int
    out_of_order: int
    delivered_again: int
    has_ended: bool
    forgotten: int

    @property
    def findings(self) -> int:
        """Numbers with which something is wrong."""
        return self.lost + self.unknown + self.duplicated + self.out_of_order


@dataclass(frozen=True, slots=True)
class TopicVerdict:
    """
    :ivar producers: in the order in which they were met.
    :ivar unseen: offsets before the known ends of the queues that no reader has met: each may hold one of the numbers
        that seem lost or unknown.
    """

    topic: str
    producers: tuple[ProducerVerdict, ...]
    unseen: int

    @property
    def lost(self) -> int:
        """Of all producers."""
        return sum(producer.lost for producer in self.producers)

    @property
    def missing(self) -> int:
        """The lost and the unknown: numbers that nobody has met and that no producer knows to be refused."""
        return sum(producer.lost + producer.unknown for producer in self.producers)

    @property
    def certainly_lost(self) -> int:
        """How many of them must be lost, or never have been stored, even if every unseen place holds one of them."""
        return max(0, self.missing - self.unseen)

    @property
    def findings(self) -> int:
        """Numbers with which something is wrong."""
        return sum(producer.findings for producer in self.producers)


def judge(reports: Sequence[ReaderReport], until_ms: int = END_OF_TIME_MS) -> list[TopicVerdict]:
    """One verdict per topic that has numbers.

    :param until_ms: a number is missed when a higher one of its producer, or its ledger, was stored until then.
    """
    return [verdict for verdict in judging(reports, until_ms) if verdict is not None]


def judging(reports: Sequence[ReaderReport], until_ms: int = END_OF_TIME_MS) -> Iterator[TopicVerdict | None]:
    """The same in small steps, for those who have other things to do: None after each producer."""
    books: dict[str, dict[str, list[NumberBook]]] = {}
    for report in reports:
        for (topic, producer), book in report.books.items():
            books.setdefault(topic, {}).setdefault(producer, []).append(book)
    for topic, producers in books.items():
        unseen, is_whole = _queues(reports, topic)
        told = []
        for name, parts in producers.items():
            told.append(_judge(name, parts, until_ms, is_whole=is_whole))
            yield None
        yield TopicVerdict(topic, tuple(told), unseen)


def _queues(reports: Sequence[ReaderReport], topic: str) -> tuple[int, bool]:
    """How many places nobody has met, and whether each queue was read from its very beginning."""
    notes: dict[str, list[QueueNote]] = {}
    for report in reports:
        for (of_topic, queue), note in report.queues.items():
            if of_topic == topic:
                notes.setdefault(queue, []).append(note)
    unseen, lowest = 0, 0
    for parts in notes.values():
        begin, end = min(part.lowest for part in parts), max(part.end for part in parts)
        unseen += count_of(NumberSet.union(part.places for part in parts).missing(begin, end - 1))
        lowest = max(lowest, begin)
    return unseen, bool(notes) and lowest == 0


def _judge(producer: str, parts: Sequence[NumberBook], until_ms: int, *, is_whole: bool) -> ProducerVerdict:
    met = NumberSet.union(part.numbers for part in parts)
    consumed = NumberSet.union([met, *(part.retried for part in parts)])
    queues = dict.fromkeys(queue for part in parts for queue in part.places)
    places = [NumberSet.union(part.places[queue] for part in parts if queue in part.places) for queue in queues]
    copies = sum(one.count + one.forgotten for one in places) + sum(part.overwritten for part in parts)
    # Fewer places than numbers: one had another number when somebody else read it, see NumberBook.overwritten.
    copies = max(copies, met.count + met.forgotten)
    ledger = next((part.ledger for part in parts if part.ledger is not None), None)
    first = 0 if is_whole else _first(parts, queues)
    last = max(part.highest for part in parts)
    settled = min(last, max(part.settled(until_ms) for part in parts))
    missing = [*consumed.missing(first, settled)]
    lost, unrefused = missing, missing
    if ledger is not None:
        unrefused = [*without(missing, ledger.refused)]
        lost = [*without(unrefused, ledger.unknown)] if ledger.is_complete else []
    unknown = [*without(unrefused, lost)]
    too_old = sum(part.too_old for part in parts)
    return ProducerVerdict(
        producer,
        first,
        numbered=max(0, last + 1 - first),
        met=met.count,
        lost=count_of(lost),
        lost_ranges=tuple(islice(lost, RANGES_TOLD)),
        refused=count_of(missing) - count_of(unrefused),
        unknown=count_of(unknown),
        unknown_ranges=tuple(islice(unknown, RANGES_TOLD)),
        not_judged=count_of(consumed.missing(max(first, settled + 1), last)),
        duplicated=copies - met.count - met.forgotten,
        out_of_order=_out_of_order(parts),
        delivered_again=max(0, sum(part.deliveries for part in parts) - copies - too_old),
        has_ended=ledger is not None,
        forgotten=met.forgotten + sum(one.forgotten for one in places) + too_old,
    )


def _first(parts: Sequence[NumberBook], queues: Iterable[str]) -> int:
    """Older messages were not read, and one queue may begin earlier than another: judged from where all have begun."""
    begins = [[part.begins[queue] for part in parts if queue in part.begins] for queue in queues]
    return max((min(found)[1] for found in begins if found), default=0)


def _out_of_order(parts: Sequence[NumberBook]) -> int:
    """Those that stand somewhere else too are copies, and nothing else."""
    places = {number: place for part in parts for number, place in part.descending.items()}

    def is_copied(number: int, queue: str, offset: int) -> bool:
        return any(
            number in part.repeated
            or (number in part.numbers and (queue not in part.places or offset not in part.places[queue]))
            for part in parts
        )

    return sum(not is_copied(number, *place) for number, place in places.items())

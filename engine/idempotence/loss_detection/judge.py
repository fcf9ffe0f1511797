"""Evaluation of the reports of all readers: missing numbers, duplicates, and numbers out of order. Pure functions.

For numbers, copies and gaps the combined reports give exactly the same result as one report of a single reader, however
queues moved between readers, as long as nothing was forgotten. For order they give at most as much: the first number
that a reader sees in a queue has no predecessor to compare it with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from engine.idempotence.loss_detection.number_book import NumberBook
from engine.idempotence.loss_detection.reader_report import QueueNote, ReaderReport
from engine.protocol.message.missing_numbers import MissingNumbers, NumberingVerdict
from engine.protocol.number_ranges import NumberRange, count_of
from engine.protocol.number_set import NumberSet

#: Ranges of missing numbers listed in a verdict.
RANGES_SHOWN = 8
#: Later than anything was stored: all numbers are judged.
END_OF_TIME_MS = 1 << 53
#: A number counts as missing only this long after a higher one was stored: until then, retries and other queues may
#: bring it.
SETTLING_MS = 30_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerVerdict(NumberingVerdict):
    """Counts for one producer and topic.

    :ivar first: the lowest number that is judged.
    :ivar met: distinct numbers that were seen.
    :ivar lost_ranges: the first ranges of lost numbers.
    :ivar unknown_ranges: the first ranges of unknown numbers.
    :ivar delivered_again: deliveries of the same copy beyond the first.
    :ivar forgotten: numbers and places that are no longer remembered, and messages about them.
    """

    first: int
    met: int
    lost_ranges: tuple[NumberRange, ...]
    unknown_ranges: tuple[NumberRange, ...]
    delivered_again: int
    forgotten: int


@dataclass(frozen=True, slots=True)
class TopicVerdict:
    """The verdict on one topic.

    :ivar producers: in the order in which they were seen.
    :ivar unseen: offsets before the known ends of the queues that no reader has seen: each may hold one of the numbers
        that seem lost or unknown.
    """

    topic: str
    producers: tuple[ProducerVerdict, ...]
    unseen: int

    @property
    def lost(self) -> int:
        """Return the lost numbers of all producers."""
        return sum(producer.lost for producer in self.producers)

    @property
    def missing(self) -> int:
        """Return how many numbers are lost or unknown: no reader has seen them, and no producer knows them to be
        refused.
        """
        return sum(producer.lost + producer.unknown for producer in self.producers)

    @property
    def certainly_lost(self) -> int:
        """Return how many of them must be lost or were never stored, even if every unseen place holds one of them."""
        return max(0, self.missing - self.unseen)

    @property
    def findings(self) -> int:
        """Return the count of numbers with a problem."""
        return sum(producer.findings for producer in self.producers)


def judge(reports: Sequence[ReaderReport], until_ms: int = END_OF_TIME_MS) -> list[TopicVerdict]:
    """Return one verdict per topic that has numbers.

    :param until_ms: a number counts as missing if a higher one of its producer, or its ledger, was stored by then.
    """
    return [verdict for verdict in judging(reports, until_ms) if verdict is not None]


def judging(reports: Sequence[ReaderReport], until_ms: int = END_OF_TIME_MS) -> Iterator[TopicVerdict | None]:
    """Judge in small steps, for callers with other work to do: yields None after each producer."""
    books: dict[str, dict[str, list[NumberBook]]] = {}
    for report in reports:
        for (topic, producer), book in report.books.items():
            books.setdefault(topic, {}).setdefault(producer, []).append(book)
    for topic, producers in books.items():
        unseen, is_whole = _queues(reports, topic)
        reported = []
        for name, parts in producers.items():
            reported.append(_judge(name, parts, until_ms, is_whole=is_whole))
            yield None
        yield TopicVerdict(topic, tuple(reported), unseen)


def _queues(reports: Sequence[ReaderReport], topic: str) -> tuple[int, bool]:
    """Return how many places no reader has seen, and whether each queue was read from its very beginning."""
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
    # There are fewer places than numbers: a place had another number when another reader read it, see
    # NumberBook.overwritten.
    copies = max(copies, met.count + met.forgotten)
    ledger = next((part.ledger for part in parts if part.ledger is not None), None)
    first = 0 if is_whole else _first(parts, queues)
    last = max(part.highest for part in parts)
    settled = min(last, max(part.settled(until_ms) for part in parts))
    ranges = [*consumed.missing(first, settled)]
    missing = MissingNumbers(lambda: ranges, ledger)
    too_old = sum(part.too_old for part in parts)
    return ProducerVerdict(
        producer=producer,
        first=first,
        numbered=max(0, last + 1 - first),
        met=met.count,
        lost=count_of(missing.lost()),
        lost_ranges=tuple(islice(missing.lost(), RANGES_SHOWN)),
        refused=missing.refused,
        unknown=count_of(missing.unknown()),
        unknown_ranges=tuple(islice(missing.unknown(), RANGES_SHOWN)),
        not_judged=count_of(consumed.missing(max(first, settled + 1), last)),
        duplicated=copies - met.count - met.forgotten,
        out_of_order=_out_of_order(parts),
        delivered_again=max(0, sum(part.deliveries for part in parts) - copies - too_old),
        has_ended=ledger is not None,
        forgotten=met.forgotten + sum(one.forgotten for one in places) + too_old,
    )


def _first(parts: Sequence[NumberBook], queues: Iterable[str]) -> int:
    """Return the first number to judge. Older messages were not read, and queues begin at different points: judge from
    the number where all have begun.
    """
    begins = [[part.begins[queue] for part in parts if queue in part.begins] for queue in queues]
    return max((min(found)[1] for found in begins if found), default=0)


def _out_of_order(parts: Sequence[NumberBook]) -> int:
    """Return how many numbers are out of order. Numbers that are also stored somewhere else are copies, and only
    that.
    """
    places = {number: place for part in parts for number, place in part.descending.items()}

    def is_copied(number: int, queue: str, offset: int) -> bool:
        return any(
            number in part.repeated
            or (number in part.numbers and (queue not in part.places or offset not in part.places[queue]))
            for part in parts
        )

    return sum(not is_copied(number, *place) for number, place in places.items())

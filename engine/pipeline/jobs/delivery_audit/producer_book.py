"""The numbers of one producer in one topic, and the verdict on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from engine.pipeline.jobs.delivery_audit.summaries import UNNUMBERED, QueueSegment
from engine.protocol.message.missing_numbers import MissingNumbers, NumberingVerdict
from engine.protocol.message.numbering_ledger import NumberingLedger
from engine.protocol.number_ranges import count_of
from engine.protocol.number_set import NumberSet

#: All producers of a topic that have no book of their own because there are too many: only counted.
OTHERS = "(other producers)"
_UNJUDGED = (UNNUMBERED, OTHERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredNumbersVerdict(NumberingVerdict):
    """Counts for one producer and topic.

    :ivar not_judged: for sparse numbers: messages.
    :ivar is_sparse: its numbers are too far apart to be stored: losses, copies and order are not judged.
    """

    topic: str
    stored: int
    late: int
    is_sparse: bool = False

    @property
    def is_numbered(self) -> bool:
        """Return False for the messages of a topic that carry no number, and for those of :data:`OTHERS`."""
        return self.producer not in _UNJUDGED


@dataclass(slots=True)
class ProducerBook:
    """One producer's numbers in one topic.

    :ivar first: the lowest number that is judged.
    :ivar settled: numbers up to here are judged.
    :ivar is_sparse: its numbers are so far apart that they are not stored (any more).
    :ivar repeated: queue -> numbers in it that had been seen before, there or elsewhere.
    """

    producer: str
    topic: str
    first: int
    ledger: NumberingLedger | None = None
    settled: int = -1
    stored: int = 0
    late: int = 0
    is_sparse: bool = False
    numbers: NumberSet = field(default_factory=NumberSet)
    repeated: dict[str, NumberSet] = field(default_factory=dict)
    descending: dict[str, NumberSet] = field(default_factory=dict)
    #: Queue -> its highest number so far.
    _highest: dict[str, int] = field(default_factory=dict)
    #: (time, number): numbers up to this one are judged when that time is long enough ago. Ascending.
    _waiting: list[tuple[int, int]] = field(default_factory=list)

    def add(self, segment: QueueSegment) -> None:
        """Add the next segment of a queue of the topic."""
        self.stored += segment.count
        self.late += segment.late
        if self.producer in _UNJUDGED:
            return
        self.settled = max(self.settled, segment.settled)
        queue = segment.queue
        highest = self._highest.get(queue, -1)
        self._highest[queue] = max(highest, segment.highest)
        if self.is_sparse or segment.is_sparse:
            self._give_up()
            return
        descending = self.descending.setdefault(queue, NumberSet())
        descending.update(segment.descending)
        descending.update(segment.numbers.below(highest))
        repeated = self.repeated.setdefault(queue, NumberSet())
        repeated.update(segment.repeated)
        repeated.update(self.numbers.update(segment.numbers))
        if self.numbers.is_sparse:
            self._give_up()

    def _give_up(self) -> None:
        self.is_sparse = True
        self.numbers = NumberSet()
        self.repeated, self.descending = {}, {}

    def close(self, ledger: NumberingLedger, stored_ms: int) -> None:
        """Note how many numbers the producer assigned, judged like a message with the last of them."""
        self.ledger = ledger
        self._waiting.append((stored_ms, ledger.numbered - 1))

    def batch_ended(self, newest_ms: int) -> None:
        """Note that everything added so far was stored at ``newest_ms`` at the latest."""
        highest = max(self._highest.values(), default=-1)
        if highest > max([self.settled, *(number for _, number in self._waiting)]):
            self._waiting.append((newest_ms, highest))

    def settle(self, until_ms: int) -> None:
        """Note that no message stored until then can be overtaken any more."""
        self.settled = max([self.settled, *(number for ms, number in self._waiting if ms <= until_ms)])
        self._waiting = [(ms, number) for ms, number in self._waiting if ms > until_ms and number > self.settled]

    # --- the verdict -------------------------------------------------------------------------------------------------

    @property
    def last(self) -> int:
        """Return the highest known number; -1 if none is known."""
        reported = self.ledger.numbered - 1 if self.ledger is not None else -1
        return max([reported, *self._highest.values()])

    @property
    def missing(self) -> MissingNumbers:
        """Return the numbers that are missing; none if they are sparse."""
        settled = -1 if self.is_sparse else self.settled
        return MissingNumbers(partial(self.numbers.missing, self.first, settled), self.ledger)

    def out_of_order(self) -> Iterator[tuple[str, NumberSet]]:
        """Yield queue and numbers that are stored once only but after a higher one."""
        repeated = NumberSet.union(self.repeated.values())
        for queue, numbers in self.descending.items():
            yield queue, numbers.without(repeated)

    def verdict(self) -> StoredNumbersVerdict:
        """Return the verdict as of now."""
        missing, last = self.missing, self.last
        later = self.numbers.missing(max(self.first, self.settled + 1), last)
        return StoredNumbersVerdict(
            producer=self.producer,
            topic=self.topic,
            numbered=max(0, last + 1 - self.first),
            stored=self.stored,
            lost=count_of(missing.lost()),
            duplicated=0 if self.is_sparse or self.producer in _UNJUDGED else self.stored - self.numbers.count,
            out_of_order=sum(numbers.count for _, numbers in self.out_of_order()),
            late=self.late,
            refused=missing.refused,
            unknown=count_of(missing.unknown()),
            not_judged=self.stored if self.is_sparse else count_of(later),
            has_ended=self.ledger is not None,
            is_sparse=self.is_sparse,
        )

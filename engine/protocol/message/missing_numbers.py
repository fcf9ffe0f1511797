"""The verdict on the numbers of a producer, in one topic: what is missing, and what its ledger says about it.

The terms are those of ``docs/pipeline.md``. Loss detection and the delivery audit add what only they see.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from engine.protocol.message.numbering_ledger import NumberingLedger
from engine.protocol.number_ranges import NumberRange, count_of, without


@dataclass(frozen=True, slots=True)
class MissingNumbers:
    """The judged numbers that are missing.

    :ivar ranges: returns the ranges of these numbers.
    """

    ranges: Callable[[], Iterable[NumberRange]]
    ledger: NumberingLedger | None

    def _unrefused(self) -> Iterable[NumberRange]:
        return self.ranges() if self.ledger is None else without(self.ranges(), self.ledger.refused)

    def lost(self) -> Iterable[NumberRange]:
        """Yield the missing numbers that the producer's ledger, if any, lists neither as refused nor as unknown."""
        if self.ledger is None:
            return self._unrefused()
        return without(self._unrefused(), self.ledger.unknown) if self.ledger.is_complete else ()

    def unknown(self) -> Iterator[NumberRange]:
        """Yield the missing numbers for which the producer received no result, or whose ledger is incomplete."""
        return without(self._unrefused(), self.lost())

    @property
    def refused(self) -> int:
        """Return how many missing numbers have a send that failed, as the producer knows."""
        return count_of(self.ranges()) - count_of(self._unrefused())


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberingVerdict:
    """Counts for one producer and topic.

    :ivar numbered: numbers from the first judged one to the last known one.
    :ivar lost: missing numbers that the producer's ledger lists neither as refused nor as unknown.
    :ivar refused: missing numbers whose send failed, as the producer knows.
    :ivar unknown: missing numbers for which the producer received no result, or whose ledger is incomplete.
    :ivar not_judged: numbers that are missing, but may still come.
    :ivar duplicated: copies that were stored beyond the first.
    :ivar out_of_order: numbers stored after a higher one in their queue, and only once.
    :ivar has_ended: whether the producer reported how many numbers it assigned.
    """

    producer: str
    numbered: int
    lost: int
    refused: int
    unknown: int
    not_judged: int
    duplicated: int
    out_of_order: int
    has_ended: bool

    @property
    def findings(self) -> int:
        """Return the count of numbers with a problem."""
        return self.lost + self.unknown + self.duplicated + self.out_of_order

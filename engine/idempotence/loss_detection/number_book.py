"""The numbers of one producer in one topic that one reader has seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

from engine.protocol.message.numbering_ledger import NumberingLedger
from engine.protocol.number_set import NumberSet

#: Most chunks of 1,024 numbers in all sets of one book, some 0.2 MB; beyond this the oldest are forgotten. That is half
#: a million messages if no chunk is complete, ten times as many if most are.
BOOK_CHUNKS_MAX = 1_024
#: How often the bound is checked.
_BOUND_EVERY = 256
#: Most numbers after a higher one whose places are remembered; further ones are not reported.
DESCENDING_MAX = 1_000
#: Seconds for which the highest number is remembered. Under load no settling time can be longer than this.
SECONDS_MAX = 512


class Sighting(StrEnum):
    """Classification of one message by what this reader has seen."""

    NEW = "new"
    #: The same place once more, or a retry: the message was delivered again, as at-least-once delivery allows.
    AGAIN = "again"
    #: Another place with the same number: the message was stored twice.
    TWICE = "twice"
    #: After a higher number of its producer in its queue.
    OUT_OF_ORDER = "out-of-order"
    #: In a range that is forgotten.
    TOO_OLD = "too-old"


class NumberBook:
    """The seen numbers of a producer. A *place* is a queue and an offset.

    :ivar numbers: numbers seen at a place.
    :ivar retried: numbers seen in messages from a retry topic: consumed, but their place is unknown.
    :ivar places: queue -> offsets.
    :ivar repeated: numbers that this reader saw at two places.
    :ivar descending: number -> its place, for numbers after a higher one.
    :ivar begins: queue -> the lowest offset and the number there.
    :ivar by_second: second -> the highest number stored in it.
    :ivar deliveries: messages, each counted as often as it was seen.
    :ivar overwritten: places that had another number before: the broker has lost the end of the queue and refilled it.
    :ivar too_old: messages with a number in a range that is forgotten.
    """

    def __init__(self) -> None:
        self.numbers, self.retried, self.repeated = NumberSet(), NumberSet(), NumberSet()
        self.places: dict[str, NumberSet] = {}
        self.descending: dict[int, tuple[str, int]] = {}
        self.begins: dict[str, tuple[int, int]] = {}
        self.by_second: dict[int, int] = {}
        self.deliveries = self.overwritten = self.too_old = 0
        self.ledger: NumberingLedger | None = None
        #: Queue -> the last offset, and the highest number up to there.
        self._marks: dict[str, tuple[int, int]] = {}

    def note(self, queue: str, offset: int, number: int, stored_ms: int, *, is_retry: bool) -> Sighting:
        """Note one message. ``offset`` is ignored for a retry."""
        self.deliveries += 1
        if self.deliveries % _BOUND_EVERY == 0:
            self._forget_what_is_too_much()
        if number < self.numbers.floor:
            self.too_old += 1
            return Sighting.TOO_OLD
        self._settles(number, stored_ms)
        if is_retry:
            self.retried.add(number)
            return Sighting.AGAIN
        is_new_place = self.places.setdefault(queue, NumberSet()).add(offset)
        is_new = self.numbers.add(number)
        if not is_new_place:
            self.overwritten += is_new
            return Sighting.NEW if is_new else Sighting.AGAIN
        if offset < self.begins.get(queue, (offset + 1, 0))[0]:
            self.begins[queue] = (offset, number)
        is_behind = self._is_behind(queue, offset, number)
        if not is_new:
            self.repeated.add(number)
            return Sighting.TWICE
        return Sighting.OUT_OF_ORDER if is_behind else Sighting.NEW

    def _is_behind(self, queue: str, offset: int, number: int) -> bool:
        last, highest = self._marks.get(queue, (-1, -1))
        if offset < last:  # others were seen before it: what came before it is no longer known
            return False
        self._marks[queue] = (offset, max(highest, number))
        is_behind = number < highest
        if is_behind and len(self.descending) < DESCENDING_MAX:
            self.descending[number] = (queue, offset)
        return is_behind

    def close(self, ledger: NumberingLedger, stored_ms: int) -> None:
        """Note how many numbers the producer assigned, judged like a message with the last of them."""
        self.ledger = ledger
        if ledger.numbered:
            self._settles(ledger.numbered - 1, stored_ms)

    def _settles(self, number: int, stored_ms: int) -> None:
        second = stored_ms // 1_000
        self.by_second[second] = max(number, self.by_second.get(second, -1))
        if len(self.by_second) > SECONDS_MAX:
            oldest = min(self.by_second)
            number = self.by_second.pop(oldest)
            following = min(self.by_second)
            self.by_second[following] = max(number, self.by_second[following])

    def settled(self, until_ms: int) -> int:
        """Return the highest number that was stored by ``until_ms``; -1 if none was."""
        last_second = (until_ms + 1) // 1_000 - 1
        return max((number for second, number in self.by_second.items() if second <= last_second), default=-1)

    @property
    def highest(self) -> int:
        """Return the highest known number; -1 if none is known."""
        return max(self.by_second.values(), default=-1)

    def _sets(self) -> Iterator[NumberSet]:
        yield from (self.numbers, self.retried, self.repeated)
        yield from self.places.values()

    def _forget_what_is_too_much(self) -> None:
        while sum(len(one.chunks) for one in self._sets()) > BOOK_CHUNKS_MAX:
            max(self._sets(), key=lambda one: len(one.chunks)).forget_lowest()

    def encode(self) -> dict[str, Any]:
        """Encode the book as it is saved: JSON."""
        return {
            **{name: getattr(self, name).encode() for name in _SETS},
            **{name: getattr(self, name) for name in _COUNTERS},
            "places": {queue: offsets.encode() for queue, offsets in self.places.items()},
            "descending": [[number, *place] for number, place in self.descending.items()],
            "begins": self.begins,
            "bySecond": [*self.by_second.items()],
            "marks": self._marks,
            "ledger": None if self.ledger is None else self.ledger.encode().decode(),
        }

    @classmethod
    def decode(cls, encoded: Mapping[str, Any]) -> NumberBook:
        """Decode what :meth:`encode` returned. Raises ``ValueError``, ``KeyError``, ``TypeError`` or
        ``AttributeError``, and :class:`~engine.protocol.errors.MalformedBody` for anything else.
        """
        made = cls()
        for name in _SETS:
            setattr(made, name, NumberSet.decode(encoded[name]))
        for name in _COUNTERS:
            setattr(made, name, int(encoded[name]))
        made.places = {queue: NumberSet.decode(offsets) for queue, offsets in encoded["places"].items()}
        made.descending = {int(number): (str(queue), int(offset)) for number, queue, offset in encoded["descending"]}
        made.begins = {queue: (int(offset), int(number)) for queue, (offset, number) in encoded["begins"].items()}
        made.by_second = {int(second): int(number) for second, number in encoded["bySecond"]}
        made._marks = {queue: (int(last), int(highest)) for queue, (last, highest) in encoded["marks"].items()}
        if encoded["ledger"] is not None:
            made.ledger = NumberingLedger.decode(encoded["ledger"].encode())
        return made


_SETS = ("numbers", "retried", "repeated")
_COUNTERS = ("deliveries", "overwritten", "too_old")

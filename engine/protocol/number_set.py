"""A set of integers, one bit each, that can forget its lowest ones when it has grown too large.

Numbers are stored in chunks of 1,024; a chunk is one integer, and all complete chunks share the same one. Ranges would
not work: a reader of one queue of four sees every fourth number.

Correct numbering leaves no gaps so large that a chunk holds one number; but the property of a message can have any
value. So a set can report that it is sparse (:attr:`NumberSet.is_sparse`) before it takes more than some 100 MB. That
bound is per set; the owner of many sets must bound their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engine.protocol.number_ranges import NumberRange, without

_SHIFT = 10
#: The size of a chunk, and the bits of a complete one.
CHUNK = 1 << _SHIFT
FULL = (1 << CHUNK) - 1
#: A set with more chunks that are partly filled ...
CHUNKS_MAX = 1 << 19
#: ... and on average hold fewer numbers than this is sparse.
NUMBERS_PER_CHUNK_MIN = 16
_ALL_OF_IT = ((0, CHUNK - 1),)
#: A complete chunk in JSON.
_COMPLETE = "all"


class NumberSet:
    """A set of numbers from 0 on.

    :ivar count: how many numbers it holds.
    :ivar floor: the numbers below it are forgotten; whether they were in the set is unknown.
    :ivar forgotten: the number of forgotten integers that were in the set.
    """

    __slots__ = ("_chunks", "count", "floor", "forgotten")

    def __init__(self, numbers: Iterable[int] = ()) -> None:
        self._chunks: dict[int, int] = {}
        self.count = self.floor = self.forgotten = 0
        for number in numbers:
            self.add(number)

    @classmethod
    def union(cls, sets: Iterable[NumberSet]) -> NumberSet:
        """Return the union of the numbers above the highest floor; one of ``sets`` itself if the others are empty."""
        parts = [part for part in sets if part._chunks or part.floor]
        if len(parts) == 1:
            return parts[0]
        made = cls()
        made.floor = max((part.floor for part in parts), default=0)
        made.forgotten = sum(part.forgotten for part in parts)
        lost = NumberSet()  # what one set still has and another has forgotten
        for part in parts:
            for chunk, bits in part._chunks.items():
                into = made if chunk << _SHIFT >= made.floor else lost
                into._chunks[chunk] = into._chunks.get(chunk, 0) | bits
        made.count = sum(bits.bit_count() for bits in made._chunks.values())
        made.forgotten += sum(bits.bit_count() for bits in lost._chunks.values())
        return made

    def add(self, number: int) -> bool:
        """Add a number. Return True if it was not in the remembered part of the set."""
        if number < self.floor:
            return False
        chunk, bit = number >> _SHIFT, 1 << (number & (CHUNK - 1))
        bits = self._chunks.get(chunk, 0)
        if bits & bit:
            return False
        bits |= bit
        self._chunks[chunk] = FULL if bits == FULL else bits
        self.count += 1
        return True

    def add_bits(self, chunk: int, bits: int) -> int:
        """Add the numbers of a chunk as bits. Return those that were in it before. No number may be forgotten yet."""
        old = self._chunks.get(chunk, 0)
        merged = old | bits
        if merged != old:
            self._chunks[chunk] = FULL if merged == FULL else merged
            self.count += merged.bit_count() - old.bit_count()
        return old & bits

    def update(self, other: NumberSet) -> NumberSet:
        """Add the numbers of ``other``. Return those that were in the set before."""
        both = NumberSet()
        for chunk, bits in other._chunks.items():
            both.add_bits(chunk, self.add_bits(chunk, bits))
        return both

    def below(self, limit: int) -> NumberSet:
        """Return the numbers less than ``limit``, which are remembered."""
        made, edge = NumberSet(), limit >> _SHIFT
        for chunk, bits in self._chunks.items():
            if chunk <= edge:
                made.add_bits(chunk, bits if chunk < edge else bits & ((1 << (limit & (CHUNK - 1))) - 1))
        return made

    def without(self, other: NumberSet) -> NumberSet:
        """Return the numbers that are not in ``other``."""
        made = NumberSet()
        for chunk, bits in self._chunks.items():
            made.add_bits(chunk, bits & ~other._chunks.get(chunk, 0))
        return made

    @property
    def minimum(self) -> int:
        """Return the smallest number. The set must not be empty."""
        return next(self.ranges())[0]

    @property
    def is_sparse(self) -> bool:
        """Return whether the set takes much memory for few numbers."""
        if len(self._chunks) <= CHUNKS_MAX or self.count >= NUMBERS_PER_CHUNK_MIN * len(self._chunks):
            return False
        partial = sum(bits != FULL for bits in self._chunks.values())
        return partial > CHUNKS_MAX and self.count < NUMBERS_PER_CHUNK_MIN * partial

    def __contains__(self, number: int) -> bool:
        return bool(self._chunks.get(number >> _SHIFT, 0) >> (number & (CHUNK - 1)) & 1)

    def count_below(self, limit: int) -> int:
        """Return how many of its numbers are less than ``limit``, including the forgotten ones."""
        return self.forgotten + self.below(limit).count

    @property
    def chunks(self) -> Mapping[int, int]:
        """Return the chunks, each a number and its bits: 0.2 KB each, less if they are complete."""
        return self._chunks

    def forget_lowest(self) -> None:
        """Forget the lowest chunk. The set must not be empty."""
        chunk = min(self._chunks)
        dropped = self._chunks.pop(chunk).bit_count()
        self.floor = (chunk + 1) << _SHIFT
        self.count -= dropped
        self.forgotten += dropped

    def ranges(self) -> Iterator[NumberRange]:
        """Yield the ranges of its numbers in ascending order, with a gap between any two."""
        first, last = 0, -1
        for chunk in sorted(self._chunks):
            base = chunk << _SHIFT
            bits = self._chunks[chunk]
            for from_, to in _ALL_OF_IT if bits == FULL else _runs(bits):
                if base + from_ == last + 1 and last >= first:
                    last = base + to
                    continue
                if last >= first:
                    yield first, last
                first, last = base + from_, base + to
        if last >= first:
            yield first, last

    def missing(self, first: int, last: int) -> Iterator[NumberRange]:
        """Yield the ranges from ``first`` to ``last`` inclusive that are neither in the set nor forgotten."""
        return without([(max(first, self.floor), last)], self.ranges())

    def encode(self) -> dict[str, Any]:
        """Encode the set as it is saved: JSON."""
        bits = {str(chunk): _text(self._chunks[chunk]) for chunk in sorted(self._chunks)}
        return {"floor": self.floor, "forgotten": self.forgotten, "bits": bits}

    @classmethod
    def decode(cls, encoded: Mapping[str, Any]) -> NumberSet:
        """Decode what :meth:`encode` returned. Raises ``ValueError``, ``KeyError``, ``TypeError`` for anything else."""
        made = cls()
        made.floor, made.forgotten = int(encoded["floor"]), int(encoded["forgotten"])
        if made.floor < 0 or made.floor % CHUNK or made.forgotten < 0:
            raise ValueError(f"floor {made.floor} and forgotten {made.forgotten} of a set of numbers are not valid")
        for chunk, text in dict(encoded["bits"]).items():
            bits = FULL if text == _COMPLETE else int(text, 16)
            if not 0 < bits <= FULL or int(chunk) << _SHIFT < made.floor:
                raise ValueError(f"chunk {chunk!r} of a set of numbers is not valid")
            made.add_bits(int(chunk), bits)
        return made


def _text(bits: int) -> str:
    return _COMPLETE if bits == FULL else f"{bits:x}"


def _runs(bits: int) -> Iterator[NumberRange]:
    at = 0
    while bits:
        zeros = (bits & -bits).bit_length() - 1
        bits >>= zeros
        ones = (~bits & -~bits).bit_length() - 1
        bits >>= ones
        yield at + zeros, at + zeros + ones - 1
        at += zeros + ones

"""A set of integers of which most are present: one bit each, and nothing for complete ranges.

The numbers are stored in chunks of 4,096. A complete chunk is only a flag, an empty one is absent, any other has 512
bytes. A million numbers without a gap thus take 245 flags, in whatever order they arrive.

Correct numbering leaves no gaps so large that a chunk holds one number; but the property of a message can have any
value. So a set can report that it is sparse (:attr:`NumberSet.is_sparse`) before it takes more than some 100 MB. That
bound is per set; the owner of many sets must bound their number.
"""

from __future__ import annotations

import base64
import itertools
import zlib
from collections.abc import Iterator
from typing import TypedDict

import numpy as np
import numpy.typing as npt

from engine.protocol.number_ranges import NumberRange, without

Numbers = npt.NDArray[np.int64]
_Bits = npt.NDArray[np.uint8]

_SHIFT = 12
_CHUNK = 1 << _SHIFT
_FULL_BYTES = np.full(_CHUNK // 8, 0xFF, np.uint8)
_NONE = np.zeros(0, np.int64)
#: A set with more chunks that are partly filled ...
CHUNKS_MAX = 1 << 17
#: ... and on average hold fewer numbers than this is sparse.
NUMBERS_PER_CHUNK_MIN = 64


class EncodedNumberSet(TypedDict):
    """A set as JSON, as it is transported and saved."""

    #: First and last chunk of each run of complete chunks.
    full: list[tuple[int, int]]
    #: The other chunks, and their bits: compressed, base64.
    chunks: list[int]
    bits: str


class NumberSet:
    """A set of numbers from 0 to 2^62 - 1."""

    def __init__(self) -> None:
        #: Number of the chunk -> its bits; None if all of them are set.
        self._chunks: dict[int, _Bits | None] = {}
        #: How many chunks are not complete.
        self._partial = 0
        self.count = 0

    @classmethod
    def of(cls, numbers: Numbers) -> NumberSet:
        """Return the set of ``numbers``, which may be in any order and repeat."""
        made = cls()
        made.add(np.unique(numbers))
        return made

    def add(self, numbers: Numbers) -> Numbers:
        """Add ``numbers``, which must ascend strictly. Return those that were in the set before."""
        seen = []
        for chunk, part in _by_chunk(numbers):
            flags = np.zeros(_CHUNK, np.uint8)
            flags[part - (chunk << _SHIFT)] = 1
            overlap = self._merge(chunk, np.packbits(flags))
            if overlap is not None:
                seen.append(overlap)
        return np.concatenate(seen) if seen else _NONE

    def update(self, other: NumberSet) -> Numbers:
        """Add the numbers of ``other``. Return those that are in both, ascending."""
        seen = []
        for chunk in sorted(other._chunks):
            overlap = self._merge(chunk, other._bits(chunk).copy())
            if overlap is not None:
                seen.append(overlap)
        return np.concatenate(seen) if seen else _NONE

    def _merge(self, chunk: int, bits: _Bits) -> Numbers | None:
        """Add ``bits``, which must not be shared. Return the numbers that were in the set before."""
        old = self._bits(chunk)
        both = old & bits
        merged = old | bits
        self.count += int(np.bitwise_count(merged).sum()) - int(np.bitwise_count(old).sum())
        is_full = np.array_equal(merged, _FULL_BYTES)
        was_partial = self._chunks.get(chunk) is not None
        self._partial += (not is_full) - was_partial
        self._chunks[chunk] = None if is_full else merged
        return _numbers(chunk, both) if both.any() else None

    def _bits(self, chunk: int) -> _Bits:
        bits = self._chunks.get(chunk, _NO_BITS)
        return _FULL_BYTES if bits is None else bits

    @property
    def is_sparse(self) -> bool:
        """Return whether the set takes much memory for few numbers."""
        return self._partial > CHUNKS_MAX and self.count < NUMBERS_PER_CHUNK_MIN * self._partial

    @property
    def minimum(self) -> int:
        """Return the smallest number. The set must not be empty."""
        chunk = min(self._chunks)
        return int(_numbers(chunk, self._bits(chunk))[0])

    @property
    def maximum(self) -> int:
        """Return the largest number. The set must not be empty."""
        chunk = max(self._chunks)
        return int(_numbers(chunk, self._bits(chunk))[-1])

    def numbers(self) -> Numbers:
        """Return all numbers, ascending. For sets that are known to be small."""
        parts = [_numbers(chunk, self._bits(chunk)) for chunk in sorted(self._chunks)]
        return np.concatenate(parts) if parts else _NONE

    def below(self, limit: int) -> Numbers:
        """Return the numbers less than ``limit``, ascending."""
        last = limit >> _SHIFT
        parts = [_numbers(chunk, self._bits(chunk)) for chunk in sorted(self._chunks) if chunk <= last]
        numbers = np.concatenate(parts) if parts else _NONE
        return numbers[numbers < limit]

    def without(self, other: NumberSet) -> NumberSet:
        """Return the numbers that are not in ``other``."""
        rest = NumberSet()
        for chunk in self._chunks:
            bits = self._bits(chunk) & ~other._bits(chunk)
            if bits.any():
                rest._merge(chunk, bits)
        return rest

    def missing(self, first: int, last: int) -> Iterator[NumberRange]:
        """Yield the ranges of missing numbers from ``first`` to ``last`` inclusive; ascending and not adjacent."""
        return without([(first, last)], self._runs())

    def runs(self) -> Iterator[NumberRange]:
        """Yield the ranges of numbers in the set; ascending and not adjacent."""
        held: NumberRange | None = None
        for from_, to in self._runs():
            if held is not None and held[1] + 1 == from_:
                held = (held[0], to)
                continue
            if held is not None:
                yield held
            held = (from_, to)
        if held is not None:
            yield held

    def _runs(self) -> Iterator[NumberRange]:
        """Yield ranges as :meth:`runs` does, but split at the ends of chunks."""
        for chunk in sorted(self._chunks):
            base, bits = chunk << _SHIFT, self._chunks[chunk]
            if bits is None:
                yield base, base + _CHUNK - 1
                continue
            edges = np.flatnonzero(np.diff(np.unpackbits(bits), prepend=np.uint8(0), append=np.uint8(0)))
            for from_, after in edges.reshape(-1, 2).tolist():
                yield base + from_, base + after - 1

    def encode(self) -> EncodedNumberSet:
        """Return the set as an :class:`EncodedNumberSet`."""
        full: list[tuple[int, int]] = []
        chunks = []
        for chunk in sorted(self._chunks):
            if self._chunks[chunk] is not None:
                chunks.append(chunk)
            elif full and full[-1][1] == chunk - 1:
                full[-1] = (full[-1][0], chunk)
            else:
                full.append((chunk, chunk))
        bits = zlib.compress(b"".join(self._bits(chunk).tobytes() for chunk in chunks), 1)
        return {"full": full, "chunks": chunks, "bits": base64.b64encode(bits).decode()}

    @classmethod
    def decode(cls, encoded: EncodedNumberSet) -> NumberSet:
        """Decode what :meth:`encode` returned."""
        made = cls()
        for first, last in encoded["full"]:
            made._chunks.update(dict.fromkeys(range(first, last + 1)))
            made.count += (last + 1 - first) * _CHUNK
        data = zlib.decompress(base64.b64decode(encoded["bits"]))
        every = np.frombuffer(data, np.uint8).reshape(-1, _CHUNK // 8)
        for chunk, bits in zip(encoded["chunks"], every, strict=True):
            made._merge(chunk, bits)
        return made


_NO_BITS = np.zeros(_CHUNK // 8, np.uint8)


def _numbers(chunk: int, bits: _Bits) -> Numbers:
    return np.flatnonzero(np.unpackbits(bits)).astype(np.int64) + (chunk << _SHIFT)


def _by_chunk(numbers: Numbers) -> Iterator[tuple[int, Numbers]]:
    if not len(numbers):
        return
    chunks = numbers >> _SHIFT
    starts = [0, *(np.flatnonzero(np.diff(chunks)) + 1).tolist(), len(numbers)]
    for begin, end in itertools.pairwise(starts):
        yield int(chunks[begin]), numbers[begin:end]

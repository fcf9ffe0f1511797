"""Sets of numbers from numpy arrays, millions a second, and as they are transported and saved.

The form is compact: a million numbers without a gap take some 60 bytes.
"""

from __future__ import annotations

import base64
import itertools
import zlib
from collections.abc import Iterator
from typing import TypedDict

import numpy as np
import numpy.typing as npt

from engine.protocol.number_ranges import NumberRange
from engine.protocol.number_set import CHUNK, FULL, NumberSet

Numbers = npt.NDArray[np.int64]

#: Chunks of a set in one block of the packed form, and the bytes of a block.
_CHUNKS = 4
_BYTES = _CHUNKS * CHUNK // 8
_FULL_BLOCK = (1 << (_CHUNKS * CHUNK)) - 1
#: In the packed form the first number of a byte is its highest bit.
_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


class PackedNumbers(TypedDict):
    """A set as JSON."""

    #: First and last block of each run of complete blocks.
    full: list[NumberRange]
    #: The other blocks, and their bits: compressed, base64.
    chunks: list[int]
    bits: str


def set_of(numbers: Numbers) -> NumberSet:
    """Return the set of ``numbers``, which may be in any order and repeat."""
    made = NumberSet()
    distinct = np.unique(numbers)
    chunks, places = np.divmod(distinct, CHUNK)
    edges = np.flatnonzero(np.diff(chunks)) + 1
    for begin, end in itertools.pairwise([0, *edges.tolist(), len(distinct)] if len(distinct) else []):
        flags = np.zeros(CHUNK, np.uint8)
        flags[places[begin:end]] = 1
        made.add_bits(int(chunks[begin]), int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little"))
    return made


def pack(numbers: NumberSet) -> PackedNumbers:
    """Return the set as JSON."""
    blocks: dict[int, int] = {}
    for chunk, bits in numbers.chunks.items():
        block, place = divmod(chunk, _CHUNKS)
        blocks[block] = blocks.get(block, 0) | bits << (place * CHUNK)
    full = NumberSet(block for block, bits in blocks.items() if bits == _FULL_BLOCK)
    others = sorted(block for block in blocks if block not in full)
    data = b"".join(blocks[block].to_bytes(_BYTES, "little") for block in others).translate(_REVERSED)
    return {"full": [*full.ranges()], "chunks": others, "bits": base64.b64encode(zlib.compress(data, 1)).decode()}


def unpack(packed: PackedNumbers) -> NumberSet:
    """Return the set that :func:`pack` was given."""
    made = NumberSet()
    for block, bits in _blocks(packed):
        for place in range(_CHUNKS):
            made.add_bits(block * _CHUNKS + place, (bits >> (place * CHUNK)) & FULL)
    return made


def _blocks(packed: PackedNumbers) -> Iterator[tuple[int, int]]:
    for first, last in packed["full"]:
        yield from ((block, _FULL_BLOCK) for block in range(first, last + 1))
    data = zlib.decompress(base64.b64decode(packed["bits"])).translate(_REVERSED)
    for number, block in enumerate(packed["chunks"]):
        yield block, int.from_bytes(data[number * _BYTES : (number + 1) * _BYTES], "little")

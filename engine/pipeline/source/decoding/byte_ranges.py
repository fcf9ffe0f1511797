"""Pieces of one buffer as Arrow arrays, without a Python loop per piece.

A piece is ``[start, end)``; pieces come in the order of the buffer and do not overlap. Seen as a binary array whose
offsets are ``start0, end0, start1, end1 ...`` the buffer holds the pieces at even places and the gaps between them at
odd ones, so one ``take`` in C++ copies the pieces together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from engine.protocol.java_text import java_text

Int64Array = npt.NDArray[np.int64]
ByteArray = npt.NDArray[np.uint8]


def take_ranges(buffer: bytes | ByteArray, starts: Int64Array, ends: Int64Array, kind: Any) -> Any:
    """Return the pieces as an array of ``kind``: ``pa.binary()`` or ``pa.string()`` (whose UTF-8 the caller checks)."""
    count = len(starts)
    if count == 0:
        return pa.array([], kind)
    offsets = np.empty(2 * count, np.int32)
    offsets[0::2] = starts
    offsets[1::2] = ends
    interleaved = pa.Array.from_buffers(kind, 2 * count - 1, [None, pa.py_buffer(offsets), pa.py_buffer(buffer)])
    return interleaved.take(pa.array(np.arange(0, 2 * count - 1, 2, dtype=np.int32)))


class Parts(NamedTuple):
    """Pieces that were split at a separator.

    :ivar values: the bytes of all pieces.
    :ivar starts, ends: positions of each part within ``values``, in order.
    :ivar owners: the piece of each part.
    """

    values: ByteArray
    starts: Int64Array
    ends: Int64Array
    owners: Int64Array


def split_ranges(buffer: bytes | ByteArray, starts: Int64Array, ends: Int64Array, separator: int) -> Parts:
    """Split every piece of ``buffer`` at a separator byte; ``n`` separators make ``n + 1`` parts, empty ones included.

    Before each piece there must be a byte that belongs to no piece: it is copied along and turned into a separator, so
    that every part begins after one, also the first of a piece.
    """
    if len(starts) == 0:
        nothing = np.empty(0, np.int64)
        return Parts(np.empty(0, np.uint8), nothing, nothing, nothing)
    values, offsets = _buffers(take_ranges(buffer, starts - 1, ends, pa.binary()))
    values = values.copy()
    firsts = offsets[:-1]
    values[firsts] = separator
    separators = np.flatnonzero(values == separator)
    part_ends = np.append(separators[1:], len(values))
    return Parts(values, separators + 1, part_ends, _owners(separators, firsts))


def _owners(separators: Int64Array, firsts: Int64Array) -> Int64Array:
    """Return the piece of each separator; ``firsts`` are those that begin a piece."""
    each, rest = divmod(len(separators), len(firsts))
    if rest == 0 and bool((separators[::each] == firsts).all()):
        return np.repeat(np.arange(len(firsts)), each)  # the usual case: all pieces have as many parts
    places = np.append(np.searchsorted(separators, firsts), len(separators))
    return np.repeat(np.arange(len(firsts)), np.diff(places))


def fixed_ranges(buffer: bytes | ByteArray, starts: Int64Array, kind: np.dtype[Any]) -> npt.NDArray[Any]:
    """Return the structures at ``starts``, which need not be aligned and must not overlap."""
    copied = take_ranges(buffer, starts, starts + kind.itemsize, pa.binary()).buffers()[2]
    return np.frombuffer(copied, kind, len(starts)) if len(starts) else np.empty(0, kind)


def _buffers(array: Any) -> tuple[ByteArray, Int64Array]:
    """Return values and offsets of a binary array that is not a slice and has no nulls."""
    _, offsets, values = array.buffers()
    return np.frombuffer(values, np.uint8), np.frombuffer(offsets, np.int32, len(array) + 1).astype(np.int64)


def as_text(array: Any) -> Any:
    """Return a valid string array, nulls included.

    Invalid UTF-8 becomes U+FFFD, as in Java.
    """
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        values = array.cast(pa.binary()).to_pylist()
        return pa.array([value and java_text(value) for value in values], pa.string())
    return array

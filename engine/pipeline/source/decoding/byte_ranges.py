"""Pieces of one buffer as Arrow arrays, without a Python loop per piece.

A piece is ``[start, end)``; pieces come in the order of the buffer and do not overlap. Seen as a binary array whose
offsets are ``start0, end0, start1, end1 ...`` the buffer holds the pieces at even places and the gaps between them at
odd ones, so one ``take`` in C++ copies the pieces together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from engine.protocol.java_text import java_text

Int64Array = npt.NDArray[np.int64]


def take_ranges(buffer: bytes | pa.Buffer, starts: Int64Array, ends: Int64Array, kind: Any) -> Any:
    """Return the pieces as an array of ``kind``: ``pa.binary()`` or ``pa.string()`` (whose UTF-8 the caller checks)."""
    count = len(starts)
    if count == 0:
        return pa.array([], kind)
    offsets = np.empty(2 * count, np.int32)
    offsets[0::2] = starts
    offsets[1::2] = ends
    interleaved = pa.Array.from_buffers(kind, 2 * count - 1, [None, pa.py_buffer(offsets), pa.py_buffer(buffer)])
    return interleaved.take(pa.array(np.arange(0, 2 * count - 1, 2, dtype=np.int32)))


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

"""The functions of ``librt.strings`` that :mod:`engine.protocol.byte_strings` needs, in plain Python, with its
errors.
"""

from __future__ import annotations

import struct

_INT32 = struct.Struct(">i")
_INT64 = struct.Struct(">q")


class BytesWriter:
    """A buffer that collects bytes."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def write(self, data: bytes | bytearray) -> None:
        """Append ``data``."""
        self._bytes += data

    def getvalue(self) -> bytes:
        """Return all bytes written so far."""
        return bytes(self._bytes)


def write_i16_be(writer: BytesWriter, number: int) -> None:
    """Append a signed number of 16 bits. Raises ``ValueError`` if it does not fit, as all of these do."""
    _write(writer, number, 2)


def write_i32_be(writer: BytesWriter, number: int) -> None:
    """Append a signed number of 32 bits."""
    _write(writer, number, 4)


def write_i64_be(writer: BytesWriter, number: int) -> None:
    """Append a signed number of 64 bits."""
    _write(writer, number, 8)


def read_i32_be(data: bytes, index: int) -> int:
    """Read the signed number of 32 bits at ``index``. Raises ``IndexError`` past the end, ``ValueError`` before 0."""
    return _read(data, index, _INT32)


def read_i64_be(data: bytes, index: int) -> int:
    """Read the signed number of 64 bits at ``index``. Raises as :func:`read_i32_be`."""
    return _read(data, index, _INT64)


def _read(data: bytes, index: int, form: struct.Struct) -> int:
    if index < 0:
        raise ValueError("index must be non-negative")
    if index + form.size > len(data):
        raise IndexError(f"index {index} out of range for bytes of length {len(data)}")
    return int(form.unpack_from(data, index)[0])


def _write(writer: BytesWriter, number: int, size: int) -> None:
    try:
        writer.write(number.to_bytes(size, "big", signed=True))
    except OverflowError:
        raise ValueError(f"int too large to convert to i{size * 8}") from None

"""CRC-32C, the checksum of Kafka's batches: from google-crc32c, or from a table if that package is not installed.

A broker always has the package. A lab in the browser, or another Python that replays its journals, may not: the
checksums are the same there, a few hundred times slower.
"""

from __future__ import annotations

from typing import Final

#: Castagnoli's polynomial with its bits reversed.
_POLYNOMIAL: Final = 0x82F63B78


def _entry(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
    return byte


_TABLE: Final = tuple(_entry(byte) for byte in range(256))


def table_crc32c(data: bytes) -> int:
    """Return the checksum of ``data``, byte by byte."""
    checksum = 0xFFFFFFFF
    for byte in data:
        checksum = checksum >> 8 ^ _TABLE[(checksum ^ byte) & 0xFF]
    return checksum ^ 0xFFFFFFFF


try:
    import google_crc32c
except ImportError:
    crc32c = table_crc32c
else:
    crc32c = google_crc32c.value

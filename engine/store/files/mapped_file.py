"""One file of a sequence that together forms a long byte range (RocketMQ: ``DefaultMappedFile``).

Its name is the offset of its first byte in that range, as 20 decimal digits.
"""

from __future__ import annotations

from typing import Final

from engine.runtime.port import Disk
from engine.store.files.mapping_pool import MappingPool, PooledFile

_NAME_DIGITS: Final = 20


def file_name(start_offset: int) -> str:
    """Return the file name for ``start_offset``."""
    return f"{start_offset:0{_NAME_DIGITS}d}"


def start_offset_of(name: str) -> int | None:
    """Return the offset that a file name encodes, or None if it encodes none."""
    return int(name) if len(name) == _NAME_DIGITS and name.isascii() and name.isdigit() else None


class MappedFile(PooledFile):
    """A file with bytes ``start_offset`` to ``end_offset`` of the range.

    :ivar found_end_offset: where the file ended when it was found; less than ``end_offset`` if it had been cut. The
        bytes after it read as zeros, but were never written.
    :ivar is_removed: it was deleted. Code that still holds the object must not use it, because that would create the
        file again.
    """

    __slots__ = ("end_offset", "found_end_offset", "is_removed", "start_offset")

    def __init__(self, disk: Disk, pool: MappingPool, folder: str, start_offset: int, size_bytes: int) -> None:
        super().__init__(disk, pool, f"{folder}/{file_name(start_offset)}", size_bytes)
        self.start_offset = start_offset
        self.is_removed = False
        self.end_offset = self.found_end_offset = start_offset + size_bytes

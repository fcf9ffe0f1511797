"""The base of both indexes of a segment: sorted entries of equal size and a binary search (Kafka: ``AbstractIndex``).

Simplified: Kafka reserves the whole file, maps it, and truncates it when the segment is closed. Here it grows, and is
opened only when needed, because Kafka's maps cost no descriptor either. The entries are the same. Kafka searches the
last 8 KiB first, because they are most likely in memory; here it is always the whole index.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from engine.runtime.port import AppendFile, Disk


class IndexProbe(NamedTuple):
    """One entry that a search has read: its number, its key and its value."""

    slot: int
    key: int
    value: int


class SparseIndexFile:
    """A file of entries (key, value), whose keys never decrease.

    :ivar path: path on the node's disk.
    """

    def __init__(self, disk: Disk, path: str, entry: Struct) -> None:
        self.path = path
        self._disk = disk
        self._entry = entry
        self._opened: AppendFile | None = None
        #: Size of the file, with a torn entry at its end if there is one.
        self.size_bytes = disk.file_size_bytes(path) if disk.exists(path) else 0
        # An incomplete entry at the end is torn; the segment's check runs before anything is appended.
        self.entry_count = self.size_bytes // entry.size

    @property
    def _file(self) -> AppendFile:
        if self._opened is None:
            self._opened = self._disk.open_append(self.path)
        return self._opened

    @property
    def is_torn(self) -> bool:
        """Return whether there is part of an entry at the end."""
        return self.size_bytes % self._entry.size != 0

    def entry(self, slot: int) -> IndexProbe:
        """Return entry number ``slot``, counted from 0."""
        assert 0 <= slot < self.entry_count, f"{self.path} has {self.entry_count} entries, not {slot + 1}"
        return IndexProbe(slot, *self._entry.unpack(self._file.read_at(slot * self._entry.size, self._entry.size)))

    def last(self) -> IndexProbe | None:
        """Return the last entry, if there is one."""
        return self.entry(self.entry_count - 1) if self.entry_count else None

    def append(self, key: int, value: int) -> None:
        """Append an entry."""
        self._file.append(self._entry.pack(key, value))
        self.size_bytes += self._entry.size
        self.entry_count += 1

    def lookup(self, key: int) -> tuple[IndexProbe | None, tuple[IndexProbe, ...]]:
        """Return the last entry whose key is at most ``key``, and all entries that were read to find it."""
        low, high = 0, self.entry_count
        found: IndexProbe | None = None
        probes = []
        while low < high:
            middle = (low + high) // 2
            probe = self.entry(middle)
            probes.append(probe)
            if probe.key <= key:
                found, low = probe, middle + 1
            else:
                high = middle
        return found, tuple(probes)

    def clear(self) -> None:
        """Remove all entries."""
        self._file.truncate(0)
        self.size_bytes = self.entry_count = 0

    async def flush(self) -> None:
        """Make the entries durable."""
        await self._file.flush()

    def flush_now(self) -> None:
        """Flush and block. Creates the file if it does not exist."""
        self._file.flush_now()

    def close(self) -> None:
        """Close the descriptor. What was not flushed is as safe as in any file that was not flushed."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

"""What both indexes of a segment share: entries of equal size, sorted, looked up by halving (Kafka: ``AbstractIndex``).

Simplified: Kafka reserves the whole file and maps it, then cuts it when the segment is done; here it grows, and is
opened when somebody needs it, for Kafka's maps cost no descriptor either. The entries are the same. Kafka halves within
the last 8 KiB first, because they are in memory most probably; here it is always the whole index.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from engine.runtime.port import AppendFile, Disk


class IndexProbe(NamedTuple):
    """One entry that was looked at: its number, what it is sorted by, and what it says."""

    slot: int
    key: int
    value: int


class IndexFile:
    """Entries (key, value), keys never falling.

    :ivar path: on the node's disk.
    """

    def __init__(self, disk: Disk, path: str, entry: Struct) -> None:
        self.path = path
        self._disk = disk
        self._entry = entry
        self._opened: AppendFile | None = None
        #: Of the file, with what may be torn at its end.
        self.size_bytes = disk.file_size_bytes(path) if disk.exists(path) else 0
        # What does not fill an entry was torn off one; the segment's check comes before anything is added.
        self.entry_count = self.size_bytes // entry.size

    @property
    def _file(self) -> AppendFile:
        if self._opened is None:
            self._opened = self._disk.open_append(self.path)
        return self._opened

    @property
    def is_torn(self) -> bool:
        """Whether there is a part of an entry at the end."""
        return self.size_bytes % self._entry.size != 0

    def entry(self, slot: int) -> IndexProbe:
        """Entry number ``slot``, from 0."""
        assert 0 <= slot < self.entry_count, f"{self.path} has {self.entry_count} entries, not {slot + 1}"
        return IndexProbe(slot, *self._entry.unpack(self._file.read_at(slot * self._entry.size, self._entry.size)))

    def last(self) -> IndexProbe | None:
        """The last entry, if there is one."""
        return self.entry(self.entry_count - 1) if self.entry_count else None

    def append(self, key: int, value: int) -> None:
        """Add an entry behind the others."""
        self._file.append(self._entry.pack(key, value))
        self.size_bytes += self._entry.size
        self.entry_count += 1

    def lookup(self, key: int) -> tuple[IndexProbe | None, tuple[IndexProbe, ...]]:
        """The last entry whose key is at most ``key``, and all that were looked at to find it."""
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
        """Make them durable."""
        await self._file.flush()

    def flush_now(self) -> None:
        """As ``flush``, but blocks. Makes the file, too, where there is none yet."""
        self._file.flush_now()

    def close(self) -> None:
        """Give the descriptor back. What was not flushed is as safe as any file that nobody flushed."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

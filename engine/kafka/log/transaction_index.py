"""The aborted transactions whose markers are in one segment (Kafka: ``TransactionIndex``, ``AbortedTxn``)::

    00000000000000000000.txnindex    version (2), producer id (8), first offset (8), last offset (8),
                                     last stable offset (8), 34 bytes for each

A ``read_committed`` consumer receives the entries that overlap what it has fetched. The file does not exist if nothing
was aborted.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from engine.runtime.port import Disk

TRANSACTION_INDEX_SUFFIX = ".txnindex"

_VERSION = 0
_ENTRY = Struct(">hqqqq")


class AbortedRange(NamedTuple):
    """An aborted transaction.

    :ivar last_offset: offset of its marker.
    :ivar last_stable_offset: how far committed records could be read when the marker was written.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TransactionIndex:
    """The aborted transactions of one segment.

    :ivar entries: in the order of their markers.
    """

    def __init__(self, disk: Disk, path: str) -> None:
        """Read the file. Entries of another version, and a torn one at the end, are left out."""
        self._disk = disk
        self._path = path
        data = disk.read_whole(path) if disk.exists(path) else b""
        whole = data[: len(data) - len(data) % _ENTRY.size]
        self.entries = [
            AbortedRange._make(values) for version, *values in _ENTRY.iter_unpack(whole) if version == _VERSION
        ]

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the path of the file, if it exists."""
        return (self._path,) if self._disk.exists(self._path) else ()

    def append(self, entry: AbortedRange) -> None:
        """Append an entry. Raises ``DiskFull``, ``DiskFault``."""
        self.entries.append(entry)
        file = self._disk.open_append(self._path)
        file.append(_ENTRY.pack(_VERSION, *entry))
        file.flush_now()
        file.close()

    def clear(self) -> None:
        """Remove all entries; they can be rebuilt from the log."""
        self.entries.clear()
        for path in self.paths:
            self._disk.remove(path)

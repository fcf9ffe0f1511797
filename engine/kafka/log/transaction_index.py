"""The aborted transactions whose markers lie in one segment (Kafka: ``TransactionIndex``, ``AbortedTxn``)::

    00000000000000000000.txnindex    version (2), producer id (8), first offset (8), last offset (8),
                                     last stable offset (8), 34 bytes for each

A consumer that wants committed records only is given those that reach into what it has fetched. There is no file where
nothing was aborted.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from engine.runtime.port import Disk

TRANSACTION_INDEX_SUFFIX = ".txnindex"

_VERSION = 0
_ENTRY = Struct(">hqqqq")


class AbortedRange(NamedTuple):
    """:ivar last_offset: of the marker.

    :ivar last_stable_offset: how far committed records could be read when the marker had been written.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TransactionIndex:
    """:ivar entries: in the order of their markers."""

    def __init__(self, disk: Disk, path: str) -> None:
        """Reads what is there. Entries of another version, and what is torn at the end, are left out."""
        self._disk = disk
        self._path = path
        data = disk.read_whole(path) if disk.exists(path) else b""
        whole = data[: len(data) - len(data) % _ENTRY.size]
        self.entries = [
            AbortedRange._make(values) for version, *values in _ENTRY.iter_unpack(whole) if version == _VERSION
        ]

    @property
    def paths(self) -> tuple[str, ...]:
        """Its file, where there is one."""
        return (self._path,) if self._disk.exists(self._path) else ()

    def append(self, entry: AbortedRange) -> None:
        """Remember. Raises ``DiskFull``, ``DiskFault``."""
        self.entries.append(entry)
        file = self._disk.open_append(self._path)
        file.append(_ENTRY.pack(_VERSION, *entry))
        file.flush_now()
        file.close()

    def clear(self) -> None:
        """Forget all of them: they are found anew in the log."""
        self.entries.clear()
        for path in self.paths:
            self._disk.remove(path)

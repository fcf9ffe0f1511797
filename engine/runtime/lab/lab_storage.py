"""What is left of a lab node's files when its process ends, and when its power is cut.

Each file is kept as 4 KiB pages in two layers, as under an operating system::

    written, not flushed:  dirty pages  (page cache; survive the end of the process, not a power cut)
    flushed:               clean pages  (the disk; survive everything)

A page that was never written takes no memory, so a gigabyte file with ten messages costs two pages.
Simplified: the existence, size and name of a file are durable at once.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from engine.runtime.port import DiskFault, DiskFull

PAGE_BYTES = 4_096
#: What a disk writes in one piece: a torn page is torn between two sectors.
SECTOR_BYTES = 512
DEFAULT_CAPACITY_BYTES = 64 * 1024**3

_PAGE_SECTORS = PAGE_BYTES // SECTOR_BYTES
_ZERO_PAGE = bytes(PAGE_BYTES)


class FlushedPages(NamedTuple):
    """What one flush brings to the disk. ``number`` orders the flushes of a file by their beginning."""

    number: int
    pages: dict[int, bytes]


@dataclass(slots=True, eq=False)
class LabFileContent:
    """The bytes of one file."""

    size_bytes: int
    modified_ms: int
    #: True once no path leads to it; who has it open can still use it.
    is_removed: bool = False
    clean: dict[int, bytes] = field(default_factory=dict)
    dirty: dict[int, bytearray] = field(default_factory=dict)
    #: How many flushes began, and for each page on the disk, which of them wrote it last.
    flush_count: int = 0
    written_by_flush: dict[int, int] = field(default_factory=dict)

    def read(self, position: int, length: int) -> bytes:
        """A copy of ``length`` bytes from ``position``."""
        page, start = divmod(position, PAGE_BYTES)
        if start + length <= PAGE_BYTES:
            return bytes(self._page(page)[start : start + length])
        end = position + length
        pieces = []
        while position < end:
            page, start = divmod(position, PAGE_BYTES)
            stop = min(PAGE_BYTES, start + end - position)
            pieces.append(bytes(self._page(page)[start:stop]))
            position += stop - start
        return b"".join(pieces)

    def write(self, position: int, data: memoryview) -> None:
        """Copy ``data`` to ``position`` in the page cache."""
        done = 0
        while done < len(data):
            page, start = divmod(position + done, PAGE_BYTES)
            count = min(PAGE_BYTES - start, len(data) - done)
            cached = self.dirty.get(page)
            if cached is None:
                cached = self.dirty[page] = bytearray(self.clean.get(page, _ZERO_PAGE))
            cached[start : start + count] = data[done : done + count]
            done += count

    def new_pages(self, position: int, length: int) -> int:
        """How many pages a write to this range would have to allocate."""
        if length == 0:
            return 0
        first, last = position // PAGE_BYTES, (position + length - 1) // PAGE_BYTES
        if first == last and first in self.dirty:
            return 0
        return sum(page not in self.dirty and page not in self.clean for page in range(first, last + 1))

    def begin_flush(self, start: int, end: int) -> FlushedPages:
        """The dirty pages that hold any byte of ``start..end``, as they are now."""
        self.flush_count += 1
        first, last = start // PAGE_BYTES, -(-end // PAGE_BYTES)
        pages = {page: bytes(self.dirty[page]) for page in sorted(self.dirty) if first <= page < last}
        return FlushedPages(self.flush_count, pages)

    def end_flush(self, flushed: FlushedPages) -> None:
        """Put them on the disk. A page that was written again meanwhile stays dirty too."""
        for page, content in flushed.pages.items():
            if self.written_by_flush.get(page, 0) > flushed.number:
                # A flush that began later was quicker: what it wrote is newer.
                continue
            self.written_by_flush[page] = flushed.number
            self.clean[page] = content
            if page in self.dirty and self.dirty[page] == content:
                del self.dirty[page]

    def cut_power(self, torn: random.Random | None) -> None:
        """Lose the page cache. With ``torn``, chance lets some dirty pages, or first sectors of them, reach the
        disk."""
        if torn is not None:
            for page in sorted(self.dirty):
                sectors = torn.choice((0, torn.randrange(_PAGE_SECTORS), _PAGE_SECTORS))
                kept = sectors * SECTOR_BYTES
                old = self.clean.get(page, _ZERO_PAGE)
                self.clean[page] = bytes(self.dirty[page][:kept]) + old[kept:]
        self.dirty.clear()

    def page_count(self) -> int:
        """How many pages the file occupies."""
        return len(self.clean) + sum(page not in self.clean for page in self.dirty)

    def written_end(self) -> int:
        """End of the last page that was ever written."""
        return (max((*self.clean, *self.dirty), default=-1) + 1) * PAGE_BYTES

    def _page(self, page: int) -> bytes | bytearray:
        dirty = self.dirty.get(page)
        return dirty if dirty is not None else self.clean.get(page, _ZERO_PAGE)


class HeldLock(Protocol):
    """Whoever locked the data folder."""

    @property
    def is_held(self) -> bool:
        """False when its process ended without giving the lock back."""
        ...


class LabStorage:
    """The disk of one machine: it outlives the incarnations of its node."""

    def __init__(self, capacity_bytes: int = DEFAULT_CAPACITY_BYTES) -> None:
        self.capacity_bytes = capacity_bytes
        #: What somebody else has stored on the same disk: set it to make the disk full.
        self.occupied_bytes = 0
        #: How long a flush takes, in virtual microseconds; 2 ms is a usual solid-state disk with a real sync.
        self.flush_us = 2_000
        #: When set, every flush fails with this reason.
        self.flush_error: str | None = None
        self.files: dict[str, LabFileContent] = {}
        self.folders: dict[str, None] = {}
        #: The data folder's lock, as long as somebody took it and did not give it back.
        self.lock: HeldLock | None = None
        self._used_pages = 0

    @property
    def used_bytes(self) -> int:
        """Bytes taken by everything on the disk."""
        return self.occupied_bytes + self._used_pages * PAGE_BYTES

    def reserve(self, pages: int, path: str) -> None:
        """Take ``pages`` for a write. Raises :class:`DiskFull`."""
        if self.used_bytes + pages * PAGE_BYTES > self.capacity_bytes:
            raise DiskFull(
                f"cannot write {path}: the disk is full ({self.used_bytes} of {self.capacity_bytes} bytes are used)"
            )
        self._used_pages += pages

    def add(self, path: str, content: LabFileContent) -> None:
        """Make ``path`` this file, replacing what was there, and make its folders.

        Raises :class:`DiskFull`, and :class:`DiskFault` where a file stands in the place of a folder or the
        other way round. The new content needs its room before the old one gives back its own.
        """
        self._make_place(path)
        self.reserve(content.page_count(), path)
        self.discard(path)
        self.files[path] = content

    def discard(self, path: str) -> None:
        """Take the file away and free its pages. Nothing happens when it is not there."""
        content = self.files.pop(path, None)
        if content is not None:
            content.is_removed = True
            self._used_pages -= content.page_count()

    def rename(self, old_path: str, new_path: str) -> None:
        """Give a file another name, replacing what had it. Raises :class:`DiskFault` as ``add``."""
        self._make_place(new_path)
        if old_path != new_path:
            self.discard(new_path)
            self.files[new_path] = self.files.pop(old_path)

    def _make_place(self, path: str) -> None:
        parts = path.split("/")[:-1]
        folders = ["/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]
        for folder in folders:
            if folder in self.files:
                raise DiskFault(f"cannot make {path}: {folder} is a file")
        if path in self.folders:
            raise DiskFault(f"cannot make {path}: it is a folder")
        self.folders.update(dict.fromkeys(folders))

    def cut_power(self, torn: random.Random | None) -> None:
        """Lose every page cache, see :meth:`LabFileContent.cut_power`."""
        for path in sorted(self.files):
            self.files[path].cut_power(torn)
        self._used_pages = sum(content.page_count() for content in self.files.values())

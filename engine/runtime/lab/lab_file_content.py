"""The bytes of one file of a lab node, as 4 KiB pages in two layers, as under an operating system::

    written, not flushed:  dirty pages  (page cache; survive the end of the process, not a power cut)
    flushed:               clean pages  (the disk; survive everything)

A page that was never written takes no memory, so a gigabyte file with ten messages costs two pages.
:mod:`engine.runtime.lab.lab_page_cache` decides which of the clean pages are also in memory.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

PAGE_BYTES = 4_096
#: The unit that a disk writes atomically: a torn page is torn between two sectors.
SECTOR_BYTES = 512

_PAGE_SECTORS = PAGE_BYTES // SECTOR_BYTES
_ZERO_PAGE = bytes(PAGE_BYTES)
#: How many of the last writes past a file's end are remembered.
_APPENDS_KEPT = 1_000


class FlushedPages(NamedTuple):
    """The pages that one flush writes to the disk. ``number`` orders the flushes of a file by their beginning."""

    number: int
    pages: dict[int, bytes]


@dataclass(slots=True, eq=False)
class LabFileContent:
    """The bytes of one file."""

    size_bytes: int
    modified_ms: int
    #: True once the file has no path; code that has it open can still use it.
    is_removed: bool = False
    clean: dict[int, bytes] = field(default_factory=dict)
    dirty: dict[int, bytearray] = field(default_factory=dict)
    #: How many flushes began, and for each page on the disk, the flush that wrote it last.
    flush_count: int = 0
    written_by_flush: dict[int, int] = field(default_factory=dict)
    #: The writes past the end, with their virtual times in microseconds and the end at that time; oldest first.
    appends: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=_APPENDS_KEPT))

    def read(self, position: int, length: int) -> bytes:
        """Return a copy of ``length`` bytes from ``position``."""
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

    def corrupt(self, position: int, byte: int) -> None:
        """Change the byte at ``position`` from now on, in memory and on the disk."""
        page, at = divmod(position, PAGE_BYTES)
        if page in self.clean:
            self.clean[page] = self.clean[page][:at] + bytes([byte]) + self.clean[page][at + 1 :]
        if page in self.dirty:
            self.dirty[page][at] = byte

    def truncate(self, size_bytes: int) -> int:
        """Cut the file durably and return how many pages that frees."""
        before = self.page_count()
        page, kept = divmod(size_bytes, PAGE_BYTES)
        self.flush_count += 1
        for number in [number for number in (*self.clean, *self.dirty) if number >= page]:
            # A running flush restores nothing.
            self.written_by_flush[number] = self.flush_count
            if number > page or kept == 0:
                self.clean.pop(number, None)
                self.dirty.pop(number, None)
        # Bytes after the cut read as zero if the file grows again.
        if page in self.clean:
            self.clean[page] = self.clean[page][:kept].ljust(PAGE_BYTES, b"\0")
        if page in self.dirty:
            self.dirty[page][kept:] = bytes(PAGE_BYTES - kept)
        self.size_bytes = size_bytes
        return before - self.page_count()

    def new_pages(self, position: int, length: int) -> int:
        """Return how many pages a write to this range would have to allocate."""
        if length == 0:
            return 0
        first, last = position // PAGE_BYTES, (position + length - 1) // PAGE_BYTES
        if first == last and first in self.dirty:
            return 0
        return sum(page not in self.dirty and page not in self.clean for page in range(first, last + 1))

    def begin_flush(self, start: int, end: int) -> FlushedPages:
        """Return the dirty pages that contain any byte of ``start..end``, with their current content."""
        self.flush_count += 1
        first, last = start // PAGE_BYTES, -(-end // PAGE_BYTES)
        pages = {page: bytes(self.dirty[page]) for page in sorted(self.dirty) if first <= page < last}
        return FlushedPages(self.flush_count, pages)

    def end_flush(self, flushed: FlushedPages) -> None:
        """Write the pages to the disk. A page that was written again meanwhile also stays dirty."""
        for page, content in flushed.pages.items():
            if self.written_by_flush.get(page, 0) > flushed.number:
                # A later flush was faster: its content is newer.
                continue
            self.written_by_flush[page] = flushed.number
            self.clean[page] = content
            if page in self.dirty and self.dirty[page] == content:
                del self.dirty[page]

    def cut_power(self, torn: random.Random | None) -> None:
        """Lose the page cache.

        With ``torn``, some random dirty pages, or first sectors of them, reach the disk.
        """
        if torn is not None:
            for page in sorted(self.dirty):
                sectors = torn.choice((0, torn.randrange(_PAGE_SECTORS), _PAGE_SECTORS))
                kept = sectors * SECTOR_BYTES
                old = self.clean.get(page, _ZERO_PAGE)
                self.clean[page] = bytes(self.dirty[page][:kept]) + old[kept:]
        self.dirty.clear()

    def page_count(self) -> int:
        """Return how many pages the file occupies."""
        return len(self.clean) + sum(page not in self.clean for page in self.dirty)

    def written_end(self) -> int:
        """Return the end of the last page that was ever written."""
        return (max((*self.clean, *self.dirty), default=-1) + 1) * PAGE_BYTES

    def _page(self, page: int) -> bytes | bytearray:
        dirty = self.dirty.get(page)
        return dirty if dirty is not None else self.clean.get(page, _ZERO_PAGE)

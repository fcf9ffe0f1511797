"""The bytes of one file of a lab node, as 4 KiB pages in two layers, as under an operating system::

    written, not flushed:  dirty pages  (page cache; survive the end of the process, not a power cut)
    flushed:               clean pages  (the disk; survive everything)

A page that was never written takes no memory, so a gigabyte file with ten messages costs two pages. Which of the clean
pages are in memory too is the business of :mod:`engine.runtime.lab.lab_page_cache`.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

PAGE_BYTES = 4_096
#: What a disk writes in one piece: a torn page is torn between two sectors.
SECTOR_BYTES = 512

_PAGE_SECTORS = PAGE_BYTES // SECTOR_BYTES
_ZERO_PAGE = bytes(PAGE_BYTES)
#: So many of the last writes behind a file's end are remembered.
_APPENDS_KEPT = 1_000


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
    #: When something was written behind the end, in virtual microseconds, and where the end was; oldest first.
    appends: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=_APPENDS_KEPT))

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

    def corrupt(self, position: int, byte: int) -> None:
        """Let the byte at ``position`` read as another one from now on, in memory and on the disk."""
        page, at = divmod(position, PAGE_BYTES)
        if page in self.clean:
            self.clean[page] = self.clean[page][:at] + bytes([byte]) + self.clean[page][at + 1 :]
        if page in self.dirty:
            self.dirty[page][at] = byte

    def truncate(self, size_bytes: int) -> int:
        """Cut the file, at once durably; how many pages that frees."""
        before = self.page_count()
        page, kept = divmod(size_bytes, PAGE_BYTES)
        self.flush_count += 1
        for number in [number for number in (*self.clean, *self.dirty) if number >= page]:
            # A flush that runs brings nothing back.
            self.written_by_flush[number] = self.flush_count
            if number > page or kept == 0:
                self.clean.pop(number, None)
                self.dirty.pop(number, None)
        # What follows the cut is zero should the file grow again.
        if page in self.clean:
            self.clean[page] = self.clean[page][:kept].ljust(PAGE_BYTES, b"\0")
        if page in self.dirty:
            self.dirty[page][kept:] = bytes(PAGE_BYTES - kept)
        self.size_bytes = size_bytes
        return before - self.page_count()

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

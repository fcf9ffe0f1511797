"""The page cache of a lab machine and its disk arm (Linux: ``mm/filemap.c``, ``readahead.c``, ``vmscan.c``).

A machine without one, the usual case, has unlimited memory and a disk that reads in no time. With one, each page is::

    dirty    in memory, newer than on the disk     must be written back before it can go
    clean    in memory as on the disk              the longest unused is evicted when needed
    evicted  on the disk only                      reading it costs a seek and a transfer

``LabFileContent`` has the bytes of a file; this module only tracks which pages are in memory, and the costs.
Simplified: mapped files get the read-ahead of ``read``, one window for all readers of a file (a broker opens each file
once), and the next window is read when the last is used up, not before. There is no periodic write-back: the writer
itself writes back when too much is dirty. Pages are durable when their write-back begins.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import NamedTuple, TypeVar

from engine.runtime.lab.lab_file_content import PAGE_BYTES, LabFileContent

#: Pages that are contiguous on the disk: a file allocates this many together (32 KiB; ext4 allocates when it writes
#: back).
EXTENT_PAGES = 8
#: How many movements of the disk arm are remembered.
MOVES_KEPT = 64

_Value = TypeVar("_Value")
#: A page of a file: its path and number.
PageKey = tuple[str, int]


class PageCacheLimits(NamedTuple):
    """The size of the cache, and the costs of its disk.

    :ivar cache_pages: the number of pages, of 4 KiB each.
    :ivar read_ahead_pages: the largest window of read-ahead (Linux: ``read_ahead_kb`` 128); 1: none.
    :ivar dirty_percent: share of the cache that may be dirty before writers must write back (``vm.dirty_ratio`` 20).
    :ivar seek_us: the time to move the arm to another position; 8 ms is typical of a spinning disk.
    :ivar page_read_us: the time to transfer a page; 40 us are about 100 MB/s.
    """

    cache_pages: int
    read_ahead_pages: int = 32
    dirty_percent: int = 20
    seek_us: int = 8_000
    page_read_us: int = 40
    page_write_us: int = 40

    @property
    def dirty_pages(self) -> int:
        """Return how many pages may be dirty."""
        return max(1, self.cache_pages * self.dirty_percent // 100)


@dataclass
class PageCacheFigures:
    """The statistics since the machine was created.

    :ivar hits: pages read that were in memory; ``misses``: pages that had to be fetched.
    :ivar read_ahead: pages fetched in advance; ``read_ahead_hits`` of them were used in time, ``read_ahead_wasted``
        remained unused.
    :ivar write_backs: pages written by writers because too much was dirty, or nothing clean was left to evict.
    :ivar sequential_bytes: bytes transferred without moving the arm, of ``transferred_bytes`` in total.
    """

    hits: int = 0
    misses: int = 0
    read_ahead: int = 0
    read_ahead_hits: int = 0
    read_ahead_wasted: int = 0
    evictions: int = 0
    write_backs: int = 0
    fsyncs: int = 0
    flushed_pages: int = 0
    seeks: int = 0
    sequential_bytes: int = 0
    transferred_bytes: int = 0


class ArmMove(NamedTuple):
    """One transfer of contiguous pages, from ``page`` on. ``place`` counts from the start of the disk.

    :ivar kind: ``read``, ``ahead`` (read in advance) or ``write``.
    """

    number: int
    time_us: int
    kind: str
    path: str
    page: int
    place: int
    pages: int
    is_seek: bool


class LabPageCache:
    """The page cache of one machine. Methods return the virtual time at which the disk is done; 0: it had nothing to
    do.
    """

    def __init__(self, limits: PageCacheLimits, files: Mapping[str, LabFileContent], now_us: Callable[[], int]) -> None:
        self.limits = limits
        self.figures = PageCacheFigures()
        #: Called for each fetch that a node waits for, with the file and the number of pages.
        self.on_fetch: Callable[[str, int], None] | None = None
        #: The last movements, oldest first.
        self.moves: deque[ArmMove] = deque(maxlen=MOVES_KEPT)
        #: Dirty pages, in the order in which they became dirty.
        self.dirty: dict[PageKey, None] = {}
        #: Pages that a flush is writing, and when it will be done.
        self.flushing: dict[PageKey, int] = {}
        #: Pages read ahead and not used yet.
        self.ahead: dict[PageKey, None] = {}
        #: Linux's two lists, the longest unused page first: a page used again is active, and outlasts those used once.
        self._inactive: dict[PageKey, None] = {}
        self._active: dict[PageKey, None] = {}
        self._files = files
        self._now_us = now_us
        #: The last read-ahead window of a file: it doubles as long as the page before the missing one is in memory.
        self._windows: dict[str, int] = {}
        self._extents: dict[tuple[str, int], int] = {}
        self._arm = 0
        self._move_count = 0
        #: When the disk will have finished all its work.
        self._free_at_us = 0

    def __len__(self) -> int:
        """Return how many pages are in memory."""
        return len(self._inactive) + len(self._active)

    def __contains__(self, key: PageKey) -> bool:
        return key in self._inactive or key in self._active

    @property
    def disk_pages(self) -> int:
        """Return how many pages of the disk belong to a file."""
        return len(self._extents) * EXTENT_PAGES

    # ------------------------------------------------------------------------------ files

    def read(self, path: str, position: int, length: int) -> int:
        """Read bytes of a file. Bytes that were never written are zeros without any page."""
        content, moves = self._files[path], self._move_count
        pages = _pages(position, length)
        fetched_end = 0
        for page in pages:
            key = (path, page)
            if not self._use(key):
                # If nearly all memory is dirty, a fetched page may be evicted by the pages read with it.
                if page >= fetched_end and page in content.clean:
                    fetched_end = self._fetch(path, page, pages.stop)
            elif page >= fetched_end:
                self.figures.hits += 1
                if key in self.ahead:
                    del self.ahead[key]
                    self.figures.read_ahead_hits += 1
        return self._done_since(moves)

    def written(self, path: str, position: int, length: int) -> int:
        """Record written bytes of a file. A page that was only on the disk is read first."""
        content, moves = self._files[path], self._move_count
        for page in _pages(position, length):
            key = (path, page)
            if page not in content.dirty:
                # It was written back already, to make room for those before it.
                continue
            # First: pages read ahead with it must not evict it.
            self.dirty[key] = None
            if not self._use(key):
                if page in content.clean:
                    self._fetch(path, page, page + 1)
                else:
                    self._add(key)
            self.ahead.pop(key, None)
        while len(self.dirty) > self.limits.dirty_pages:
            self._write_back(next(iter(self.dirty)))
        return self._done_since(moves)

    def flush(self, path: str, pages: Iterable[int], sync_us: int) -> int:
        """Start a flush of these dirty pages; ``sync_us`` is the time that the disk's own buffer takes."""
        keys = [(path, page) for page in pages]
        self.figures.fsyncs += 1
        self.figures.flushed_pages += len(keys)
        self._transfer("write", keys)
        self._free_at_us = max(self._free_at_us, self._now_us()) + sync_us
        self.flushing.update(dict.fromkeys(keys, self._free_at_us))
        return self._free_at_us

    def flushed(self, path: str, pages: Iterable[int]) -> None:
        """Finish a flush, as far as the file knows."""
        for page in pages:
            key = (path, page)
            self.flushing.pop(key, None)
            self._is_written(key)

    def replaced(self, path: str) -> int:
        """Replace the content of a file, already on the disk: a small one is written whole, and synced."""
        self.forget(path)
        keys, moves = [(path, page) for page in sorted(self._files[path].clean)], self._move_count
        self._transfer("write", keys)
        for key in keys:
            self._add(key)
        return self._done_since(moves)

    def forget(self, path: str, from_page: int = 0) -> None:
        """Remove pages that are no longer the file's: it was cut, removed or replaced. Their space on the disk
        stays.
        """
        for pages in (self._inactive, self._active, self.dirty, self.flushing, self.ahead):
            for key in [key for key in pages if key[0] == path and key[1] >= from_page]:
                del pages[key]

    def renamed(self, path: str, new_path: str) -> None:
        """Move a file's pages and disk positions to its new path."""
        for pages in (self._inactive, self._active, self.dirty, self.ahead):
            _rename(pages, path, new_path)
        for numbers in (self.flushing, self._extents):
            _rename(numbers, path, new_path)

    def forget_all(self) -> None:
        """Forget all pages, because of a power cut."""
        for pages in (self._inactive, self._active, self.dirty, self.flushing, self.ahead, self._windows):
            pages.clear()

    def drop_clean(self) -> None:
        """Evict all pages that are not dirty, as a shortage of memory does.

        ``echo 1 > /proc/sys/vm/drop_caches`` keeps pages that a process has mapped.
        """
        for key in [key for key in chain(self._inactive, self._active) if key not in self.dirty]:
            self._evict(key)

    # ------------------------------------------------------------------------------ memory

    def _use(self, key: PageKey) -> bool:
        """Return whether the page is in memory, and mark it as the one used last."""
        if key in self._inactive:
            del self._inactive[key]
            if len(self._active) >= max(1, self.limits.cache_pages // 2):
                # Half of the memory at most is for pages that were used again.
                oldest = next(iter(self._active))
                del self._active[oldest]
                self._inactive[oldest] = None
        elif key in self._active:
            del self._active[key]
        else:
            return False
        self._active[key] = None
        return True

    def _add(self, key: PageKey) -> None:
        while len(self) >= self.limits.cache_pages:
            self._evict(next((old for old in chain(self._inactive, self._active) if old not in self.dirty), None))
        self._inactive[key] = None

    def _evict(self, key: PageKey | None) -> None:
        """Evict the page. None: no page is clean, so a dirty one must be written back first."""
        if key is None:
            self._write_back(next(iter(self.dirty)))
            return
        self._inactive.pop(key, None)
        self._active.pop(key, None)
        self.figures.evictions += 1
        if key in self.ahead:
            del self.ahead[key]
            self.figures.read_ahead_wasted += 1

    # ------------------------------------------------------------------------------ the disk

    def _fetch(self, path: str, page: int, wanted_end: int) -> int:
        """Read ``page`` and, without another seek, the requested and predicted pages after it; return the end of the
        requested.
        """
        content = self._files[path]
        is_sequential = page == 0 or (path, page - 1) in self
        window = min(self.limits.read_ahead_pages, 2 * self._windows.get(path, 1)) if is_sequential else 1
        self._windows[path] = window
        # Incoming pages must not evict themselves.
        room = min(self.limits.cache_pages // 2, max(1, self.limits.cache_pages - len(self.dirty)))
        most = min(max(window, wanted_end - page), room)
        end = page + 1
        while end < page + most and end in content.clean and (path, end) not in self:
            end += 1
        keys, wanted = [(path, number) for number in range(page, end)], min(end, wanted_end) - page
        self.ahead.update(dict.fromkeys(keys[wanted:]))
        for key in keys:
            self._add(key)
        if self.on_fetch is not None:
            self.on_fetch(path, wanted)
        self.figures.misses += wanted
        self.figures.read_ahead += len(keys) - wanted
        self._transfer("read", keys[:wanted])
        self._transfer("ahead", keys[wanted:])
        return page + wanted

    def _write_back(self, key: PageKey) -> None:
        path, page = key
        content = self._files[path]
        content.end_flush(content.begin_flush(page * PAGE_BYTES, (page + 1) * PAGE_BYTES))
        self._is_written(key)
        self.figures.write_backs += 1
        self._transfer("write", [key])

    def _is_written(self, key: PageKey) -> None:
        if key[0] not in self._files or key[1] not in self._files[key[0]].dirty:
            self.dirty.pop(key, None)

    def _transfer(self, kind: str, keys: Sequence[PageKey]) -> None:
        """Move the arm over these pages of one file, transferring each contiguous stretch together."""
        limits, figures = self.limits, self.figures
        places = [self._place(key) for key in keys]
        page_us = limits.page_write_us if kind == "write" else limits.page_read_us
        breaks = [number for number, (left, right) in enumerate(pairwise(places), 1) if right != left + 1]
        for start, end in pairwise([0, *breaks, len(places)] if places else []):
            count, is_seek = end - start, places[start] != self._arm
            self._move_count += 1
            time_us = max(self._free_at_us, self._now_us())
            path, page = keys[start]
            self.moves.append(ArmMove(self._move_count, time_us, kind, path, page, places[start], count, is_seek))
            self._free_at_us = time_us + is_seek * limits.seek_us + count * page_us
            self._arm = places[start] + count
            figures.seeks += is_seek
            figures.transferred_bytes += count * PAGE_BYTES
            figures.sequential_bytes += 0 if is_seek else count * PAGE_BYTES

    def _place(self, key: PageKey) -> int:
        extent, page = divmod(key[1], EXTENT_PAGES)
        start = self._extents.setdefault((key[0], extent), len(self._extents))
        return start * EXTENT_PAGES + page

    def _done_since(self, moves: int) -> int:
        return self._free_at_us if self._move_count > moves else 0


def _rename(pages: dict[PageKey, _Value], path: str, new_path: str) -> None:
    renamed = {(new_path if key[0] == path else key[0], key[1]): value for key, value in pages.items()}
    pages.clear()
    pages.update(renamed)


def _pages(position: int, length: int) -> range:
    """Return the pages that contain these bytes."""
    return range(position // PAGE_BYTES, -(-(position + length) // PAGE_BYTES) if length else position // PAGE_BYTES)

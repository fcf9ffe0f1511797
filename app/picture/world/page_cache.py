"""The page cache of a machine, and the arm of its disk."""

from __future__ import annotations

from typing import TypedDict


class CachedFile(TypedDict):
    """The pages of a file."""

    #: Empty: all files that fit into one page.
    path: str
    #: Number of the first page shown.
    first: int
    #: A letter per page: d dirty, f being flushed, c clean, a read ahead and not used, e evicted, "." never written.
    cells: str


class ArmMove(TypedDict):
    """One transfer of contiguous pages."""

    number: int
    time_us: int
    #: "read", "ahead" (read in advance) or "write".
    kind: str
    path: str
    #: The first one, in the file.
    page: int
    #: The first one, from the start of the disk.
    place: int
    pages: int
    is_seek: bool


class PageCache(TypedDict):
    """The page cache; a machine whose memory is unlimited has none."""

    #: In memory.
    pages: int
    #: At most in memory.
    limit: int
    #: Until when the machine's process stands still, because the disk must read or write for it; or None.
    waits_until_us: int | None
    dirty: int
    dirty_limit: int
    files: list[CachedFile]
    #: The last ones.
    moves: list[ArmMove]
    #: Pages of the disk that files have.
    places: int
    #: Name -> count: see ``engine.runtime.lab.lab_page_cache.PageCacheFigures``.
    figures: dict[str, int]

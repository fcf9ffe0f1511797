"""The disk of a node."""

from __future__ import annotations

from dataclasses import dataclass

from engine.lab.scenario.scenario_yaml import Section
from engine.runtime.lab.lab_page_cache import PageCacheLimits

#: Field of :class:`PageCacheLimits` -> its bounds.
_CACHE_FIELDS = {
    "read_ahead_pages": (1, 64),
    "dirty_percent": (1, 100),
    "seek_us": (0, 1_000_000),
    "page_read_us": (0, 1_000_000),
    "page_write_us": (0, 1_000_000),
}


@dataclass(frozen=True, slots=True)
class DiskSpec:
    """A node's disk. ``page_cache`` None: unlimited memory, and reading takes no time."""

    fsync_ms: int = 2
    page_cache: PageCacheLimits | None = None


def parse_disk(section: Section) -> DiskSpec:
    """Parse a disk: its costs, and the memory before it."""
    fsync_ms = section.integer("fsync_ms", 0, 60_000, DiskSpec().fsync_ms)
    cache_pages = section.optional_integer("cache_pages", 8, 1_024)
    if cache_pages is None:
        for field in _CACHE_FIELDS:
            if section.has(field):
                raise section.fail(field, "is allowed only with cache_pages")
        return DiskSpec(fsync_ms)
    usual = PageCacheLimits(cache_pages)._asdict()
    others = {field: section.integer(field, *bounds, usual[field]) for field, bounds in _CACHE_FIELDS.items()}
    return DiskSpec(fsync_ms, PageCacheLimits(cache_pages, **others))

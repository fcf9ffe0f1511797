"""Finding a message in both stores: each access to the disk, the data read, and the total cost.

The accesses are those of the engine's own reading code, reported by its traced disk.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

from app.picture.pages.storage import FoundRecord, SearchStep, StoreSearch
from app.storage.laboratory.file_units import FileUnit
from app.storage.laboratory.laboratory import BuiltStores
from app.storage.laboratory.store_files import StoreFile
from app.storage.laboratory.store_side import StoreSide
from engine.runtime.traced_disk import AccessKind, DiskAccess

#: Bytes of a page of the page cache, which fetches and keeps whole pages.
PAGE_BYTES = 4_096
#: Accesses that are listed; the others are only counted.
STEPS_MAX = 120
#: Matches that are listed.
FOUND_MAX = 20


@dataclass(frozen=True, slots=True)
class SearchQuestion:
    """The query: ``by`` is "offset", "key" or "time"; ``value`` an offset, a key, or ms since 1970."""

    by: str
    topic: str
    queue_id: int
    value: int | str


def seeks_of(reads: Sequence[DiskAccess]) -> list[bool]:
    """Return for each read whether a disk had to seek for it, if nothing was in memory before.

    What is read once stays in the page cache, in whole pages; the page after the last one needs no seek.
    """
    cached: set[tuple[str, int]] = set()
    last: tuple[str, int] | None = None
    seeks = []
    for read in reads:
        pages = range(read.position // PAGE_BYTES, (read.position + read.length - 1) // PAGE_BYTES + 1)
        missing = [(read.path, page) for page in pages if (read.path, page) not in cached]
        seeks.append(bool(missing) and missing[0] != last)
        if missing:
            cached.update(missing)
            last = (read.path, missing[-1][1] + 1)
    return seeks


def search(stores: BuiltStores, question: SearchQuestion) -> dict[str, StoreSearch]:
    """Return store -> what was found, step by step, and the cost."""
    return {name: _search_side(side, question) for name, side in stores.sides.items()}


def _search_side(side: StoreSide, question: SearchQuestion) -> StoreSearch:
    with side.opened(question.topic, None if question.by == "key" else question.queue_id):
        side.runtime.accesses.clear()
        found = _ask(side, question)
        reads = [access for access in side.runtime.accesses if access.kind is AccessKind.READ and access.length]
    seeks = seeks_of(reads)
    return {
        "found": found[:FOUND_MAX],
        "found_count": len(found),
        "steps": _steps(side, reads[:STEPS_MAX], seeks),
        "steps_omitted": max(0, len(reads) - STEPS_MAX),
        "cost": {
            "seeks": sum(seeks),
            "reads": len(reads),
            "read_bytes": sum(read.length for read in reads),
            "files": len({read.path for read in reads}),
        },
    }


def _ask(side: StoreSide, question: SearchQuestion) -> list[FoundRecord]:
    topic, queue_id, value = question.topic, question.queue_id, question.value
    if question.by == "key":
        return side.by_key(topic, str(value))
    ask = side.by_offset if question.by == "offset" else side.by_time
    return ask(topic, queue_id, int(value))


def _steps(side: StoreSide, reads: Sequence[DiskAccess], seeks: Sequence[bool]) -> list[SearchStep]:
    units: dict[str, list[FileUnit]] = {}
    steps: list[SearchStep] = []
    for read, is_seek in zip(reads, seeks, strict=False):
        if read.path not in units:
            units[read.path] = StoreFile(side, read.path).units
        places = units[read.path]
        unit = places[bisect_right(places, read.position, key=attrgetter("start")) - 1]
        steps.append(
            {
                "path": read.path,
                "position": read.position,
                "length": read.length,
                "is_seek": is_seek,
                "kind": unit.kind,
                "values": unit.values,
            }
        )
    return steps

"""The page cache of a machine and the arm of its disk, for the machine's card."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, cast

from app.lab.foundation.bounds import CACHE_FILES_SHOWN, CACHE_PAGES_SHOWN
from engine.runtime.lab.lab_file_content import PAGE_BYTES, LabFileContent

if TYPE_CHECKING:
    from app.picture.world import page_cache as picture
    from engine.runtime.lab.lab_actor import LabNode
    from engine.runtime.lab.lab_page_cache import LabPageCache
    from engine.runtime.lab.lab_storage import LabStorage

#: All files of one page or less share a row.
_SMALL_FILES = ""


def page_cache_view(storage: LabStorage, node: LabNode, now_us: int) -> picture.PageCache | None:
    """Return the view; None where memory is unlimited. ``node`` is the process that runs, or ran last."""
    cache = storage.page_cache
    if cache is None:
        return None
    rows: dict[str, str] = {}
    for path, content in storage.files.items():
        cells = _cells(cache, path, content)
        row = path if len(cells) > 1 or content.size_bytes > PAGE_BYTES else _SMALL_FILES
        rows[row] = rows.get(row, "") + cells
    files: list[picture.CachedFile] = [
        {"path": path, "first": max(0, len(cells) - CACHE_PAGES_SHOWN), "cells": cells[-CACHE_PAGES_SHOWN:]}
        for path, cells in sorted(rows.items(), key=lambda row: (row[0] == _SMALL_FILES, row[0]))
        if cells
    ]
    return {
        "pages": len(cache),
        "limit": cache.limits.cache_pages,
        "waits_until_us": node.stalled_until_us if node.alive and node.stalled_until_us > now_us else None,
        "dirty": len(cache.dirty),
        "dirty_limit": cache.limits.dirty_pages,
        "files": files[:CACHE_FILES_SHOWN],
        "moves": [cast("picture.ArmMove", move._asdict()) for move in cache.moves],
        "places": cache.disk_pages,
        "figures": dataclasses.asdict(cache.figures),
    }


def _cells(cache: LabPageCache, path: str, content: LabFileContent) -> str:
    last = max((*content.clean, *content.dirty), default=-1)
    return "".join(_cell(cache, (path, page), content) for page in range(last + 1))


def _cell(cache: LabPageCache, key: tuple[str, int], content: LabFileContent) -> str:
    if key in cache.flushing:
        return "f"
    if key in cache.dirty:
        return "d"
    if key in cache.ahead:
        return "a"
    if key in cache:
        return "c"
    return "e" if key[1] in content.clean else "."

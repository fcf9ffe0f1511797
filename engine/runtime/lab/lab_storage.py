"""What is left of a lab node's files when its process ends, and when its power is cut: its disk.

Simplified: the existence, size and name of a file are durable at once.
"""

from __future__ import annotations

import random
from typing import Protocol

from engine.runtime.lab.lab_file_content import PAGE_BYTES, LabFileContent
from engine.runtime.lab.lab_page_cache import LabPageCache
from engine.runtime.port import DiskFault, DiskFull

DEFAULT_CAPACITY_BYTES = 64 * 1024**3


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
        #: None: memory without end, and a disk that reads in no time.
        self.page_cache: LabPageCache | None = None
        #: How often the power was cut: which run of the machine this is.
        self.power_cuts = 0
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

    def truncate(self, path: str, size_bytes: int) -> None:
        """Cut the file and free what that frees."""
        self._used_pages -= self.files[path].truncate(size_bytes)
        if self.page_cache is not None:
            self.page_cache.forget(path, -(-size_bytes // PAGE_BYTES))

    def discard(self, path: str) -> None:
        """Take the file away and free its pages. Nothing happens when it is not there."""
        content = self.files.pop(path, None)
        if content is not None:
            content.is_removed = True
            self._used_pages -= content.page_count()
            if self.page_cache is not None:
                self.page_cache.forget(path)

    def rename(self, old_path: str, new_path: str) -> None:
        """Give a file another name, replacing what had it. Raises :class:`DiskFault` as ``add``."""
        self._make_place(new_path)
        if old_path != new_path:
            self.discard(new_path)
            self.files[new_path] = self.files.pop(old_path)
            if self.page_cache is not None:
                self.page_cache.renamed(old_path, new_path)

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
        """Lose what was in memory, see :meth:`LabFileContent.cut_power`."""
        self.power_cuts += 1
        if self.page_cache is not None:
            self.page_cache.forget_all()
        for path in sorted(self.files):
            self.files[path].cut_power(torn)
        self._used_pages = sum(content.page_count() for content in self.files.values())

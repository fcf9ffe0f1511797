"""The disk of a lab node: the files that remain when its process ends, and when its power is cut.

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
    """The owner of the data folder's lock."""

    @property
    def is_held(self) -> bool:
        """Return False if the owner's process ended without releasing the lock."""
        ...


class LabStorage:
    """The disk of one machine, which outlasts the incarnations of its node."""

    def __init__(self, capacity_bytes: int = DEFAULT_CAPACITY_BYTES) -> None:
        self.capacity_bytes = capacity_bytes
        #: The space that other data takes on the same disk: set it to make the disk full.
        self.occupied_bytes = 0
        #: The duration of a flush in virtual microseconds; 2 ms is typical of a solid-state disk with a real sync.
        self.flush_us = 2_000
        #: If set, every flush fails with this reason.
        self.flush_error: str | None = None
        self.files: dict[str, LabFileContent] = {}
        self.folders: dict[str, None] = {}
        #: The data folder's lock, from its acquisition to its release.
        self.lock: HeldLock | None = None
        #: None: unlimited memory, and a disk that reads in no time.
        self.page_cache: LabPageCache | None = None
        #: How many times the power was cut, which identifies the boot of the machine.
        self.power_cuts = 0
        self._used_pages = 0

    @property
    def used_bytes(self) -> int:
        """Return the size of everything on the disk."""
        return self.occupied_bytes + self._used_pages * PAGE_BYTES

    def reserve(self, pages: int, path: str) -> None:
        """Take ``pages`` for a write. Raises :class:`DiskFull`."""
        if self.used_bytes + pages * PAGE_BYTES > self.capacity_bytes:
            raise DiskFull(
                f"cannot write {path}: the disk is full ({self.used_bytes} of {self.capacity_bytes} bytes are used)"
            )
        self._used_pages += pages

    def add(self, path: str, content: LabFileContent) -> None:
        """Store a file at ``path``, replacing an existing one, and create its folders.

        Raises :class:`DiskFull`, and :class:`DiskFault` if there is a file in place of a folder or vice versa. The new
        content needs its space before the old one is freed.
        """
        self._make_place(path)
        self.reserve(content.page_count(), path)
        self.discard(path)
        self.files[path] = content

    def truncate(self, path: str, size_bytes: int) -> None:
        """Cut the file and free its pages after the cut."""
        self._used_pages -= self.files[path].truncate(size_bytes)
        if self.page_cache is not None:
            self.page_cache.forget(path, -(-size_bytes // PAGE_BYTES))

    def discard(self, path: str) -> None:
        """Remove the file and free its pages. Nothing happens if it does not exist."""
        content = self.files.pop(path, None)
        if content is not None:
            content.is_removed = True
            self._used_pages -= content.page_count()
            if self.page_cache is not None:
                self.page_cache.forget(path)

    def rename(self, old_path: str, new_path: str) -> None:
        """Rename a file, replacing one with the new name. Raises :class:`DiskFault` as ``add``."""
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
        """Lose the memory, as :meth:`LabFileContent.cut_power` does."""
        self.power_cuts += 1
        if self.page_cache is not None:
            self.page_cache.forget_all()
        for path in sorted(self.files):
            self.files[path].cut_power(torn)
        self._used_pages = sum(content.page_count() for content in self.files.values())

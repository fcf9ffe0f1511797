"""The disk as one lab node sees it: the port's ``Disk`` over a :class:`LabStorage`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from engine.runtime.lab.lab_actor import LabNode
from engine.runtime.lab.lab_clock import LabClock
from engine.runtime.lab.lab_storage import LabFileContent, LabStorage
from engine.runtime.port import DiskFault, FolderLocked, checked_path

_T = TypeVar("_T")


class LabDiskFile:
    """An open file of a lab node."""

    def __init__(self, path: str, content: LabFileContent, size_bytes: int, disk: LabDisk) -> None:
        self._path = path
        self._content = content
        self._size_bytes = size_bytes
        self._disk = disk
        self._is_closed = False

    @property
    def path(self) -> str:
        return self._path

    @property
    def size_bytes(self) -> int:
        return self._size_bytes

    def write_at(self, position: int, data: bytes | bytearray | memoryview) -> None:
        view = memoryview(data).cast("B") if isinstance(data, memoryview) else memoryview(data)
        self._check(position, len(view))
        new_pages = self._content.new_pages(position, len(view))
        if new_pages and not self._content.is_removed:
            self._disk.storage.reserve(new_pages, self._path)
        self._content.write(position, view)
        self._content.modified_ms = self._disk.clock.now_ms()

    def read_at(self, position: int, length: int) -> bytes:
        self._check(position, length)
        return self._content.read(position, length)

    def view_at(self, position: int, length: int) -> memoryview:
        return memoryview(self.read_at(position, length))

    def written_end(self) -> int:
        return min(self._size_bytes, self._content.written_end())

    async def flush(self, start: int, end: int) -> None:
        """See the port. What is durable afterwards is what was written before the call."""
        self._check(start, end - start)
        storage = self._disk.storage
        flushed = self._content.begin_flush(start, end)
        await asyncio.sleep(storage.flush_us / 1_000_000)
        if storage.flush_error is not None:
            raise DiskFault(f"cannot flush {self._path}: {storage.flush_error}")
        self._content.end_flush(flushed)

    def flush_now(self) -> None:
        """See the port. Takes no virtual time: nothing else could run meanwhile anyway."""
        if self._disk.storage.flush_error is not None:
            raise DiskFault(f"cannot flush {self._path}: {self._disk.storage.flush_error}")
        self._content.end_flush(self._content.begin_flush(0, self._size_bytes))

    def close(self) -> None:
        self._is_closed = True

    def _check(self, position: int, length: int) -> None:
        assert not self._is_closed, f"{self._path} is closed"
        assert position >= 0 and length >= 0 and position + length <= self._size_bytes, (
            f"bytes {position}..{position + length} are outside of {self._path} ({self._size_bytes} bytes)"
        )


class LabFolderLock:
    """Held by one incarnation; a crash releases it, as the end of a process does."""

    def __init__(self, disk: LabDisk) -> None:
        self._disk = disk

    @property
    def is_held(self) -> bool:
        """Whether the owner still lives."""
        return self._disk.node.alive

    def release(self) -> None:
        if self._disk.storage.lock is self:
            self._disk.storage.lock = None


class LabDisk:
    """See the module and the port."""

    def __init__(self, storage: LabStorage, node: LabNode, clock: LabClock) -> None:
        self.storage = storage
        self.node = node
        self.clock = clock

    def open_file(self, path: str, size_bytes: int) -> LabDiskFile:
        assert size_bytes > 0, f"{path} cannot be mapped with {size_bytes} bytes"
        content = self.storage.files.get(checked_path(path))
        if content is None:
            content = LabFileContent(size_bytes, self.clock.now_ms())
            self.storage.add(path, content)
        content.size_bytes = max(content.size_bytes, size_bytes)
        return LabDiskFile(path, content, size_bytes, self)

    def exists(self, path: str) -> bool:
        return checked_path(path) in self.storage.files or path in self.storage.folders

    def file_size_bytes(self, path: str) -> int:
        return self._content(path).size_bytes

    def list_folder(self, path: str) -> list[str]:
        """See the port; the empty path is the data folder itself."""
        prefix = f"{checked_path(path)}/" if path else ""
        names = {
            known[len(prefix) :].partition("/")[0]: None
            for known in (*self.storage.files, *self.storage.folders)
            if known.startswith(prefix)
        }
        return sorted(names)

    def remove(self, path: str) -> None:
        self.storage.discard(checked_path(path))
        below = f"{path}/"
        for file in [file for file in self.storage.files if file.startswith(below)]:
            self.storage.discard(file)
        for folder in [known for known in self.storage.folders if known == path or known.startswith(below)]:
            del self.storage.folders[folder]

    def rename(self, old_path: str, new_path: str) -> None:
        self._content(old_path)
        self.storage.rename(old_path, checked_path(new_path))

    def read_whole(self, path: str) -> bytes:
        content = self._content(path)
        return content.read(0, content.size_bytes)

    def write_whole(self, path: str, data: bytes) -> None:
        checked_path(path)
        content = LabFileContent(len(data), self.clock.now_ms())
        content.write(0, memoryview(data))
        content.end_flush(content.begin_flush(0, len(data)))
        self.storage.add(path, content)

    async def off_loop(self, work: Callable[[], _T]) -> _T:
        """See the port. It takes as long as a flush, and what it does is done at the end of that, in one event."""
        await asyncio.sleep(self.storage.flush_us / 1_000_000)
        return work()

    def modified_ms(self, path: str) -> int:
        return self._content(path).modified_ms

    def used_ratio(self) -> float:
        return min(1.0, self.storage.used_bytes / self.storage.capacity_bytes)

    def lock_folder(self) -> LabFolderLock:
        if self.storage.lock is not None and self.storage.lock.is_held:
            raise FolderLocked(f"the data folder of {self.node.name} is in use already")
        self.storage.lock = lock = LabFolderLock(self)
        return lock

    def _content(self, path: str) -> LabFileContent:
        content = self.storage.files.get(checked_path(path))
        if content is None:
            raise DiskFault(f"there is no file {path}")
        return content

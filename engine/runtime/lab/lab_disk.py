"""The disk as one lab node sees it: the port's ``Disk`` over a :class:`LabStorage`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from engine.runtime.lab.lab_actor import LabActor, LabNode
from engine.runtime.lab.lab_clock import LabClock
from engine.runtime.lab.lab_file_content import LabFileContent
from engine.runtime.lab.lab_loop import LabLoop
from engine.runtime.lab.lab_storage import LabStorage
from engine.runtime.port import DiskFault, FolderLocked, checked_path

_T = TypeVar("_T")


class LabOpenFile:
    """The common base of both kinds of open files of a lab node."""

    def __init__(self, path: str, content: LabFileContent, disk: LabDisk) -> None:
        self._path = path
        self._content = content
        self._disk = disk
        self._is_closed = False

    @property
    def path(self) -> str:
        return self._path

    @property
    def size_bytes(self) -> int:
        return self._content.size_bytes

    def _write(self, position: int, data: bytes | bytearray | memoryview) -> None:
        view = memoryview(data).cast("B") if isinstance(data, memoryview) else memoryview(data)
        new_pages = self._content.new_pages(position, len(view))
        if new_pages and not self._content.is_removed:
            self._disk.storage.reserve(new_pages, self._path)
        self._content.write(position, view)
        if not self._content.is_removed:
            self._disk.written(self._path, position, len(view))
        self._content.modified_ms = self._disk.clock.now_ms()

    async def _flush(self, start: int, end: int) -> None:
        """Make durable what was written before the call."""
        storage = self._disk.storage
        cache = None if self._content.is_removed else storage.page_cache
        flushed = self._content.begin_flush(start, end)
        wait_us = storage.flush_us
        if cache is not None:
            wait_us = cache.flush(self._path, flushed.pages, storage.flush_us) - self._disk.clock.monotonic_us()
        await asyncio.sleep(wait_us / 1_000_000)
        if storage.flush_error is not None:
            raise DiskFault(f"cannot flush {self._path}: {storage.flush_error}")
        self._content.end_flush(flushed)
        if cache is not None:
            cache.flushed(self._path, flushed.pages)

    def flush_now(self) -> None:
        """Flush as the port requires. Without a page cache it takes no virtual time, because nothing else could run
        meanwhile.
        """
        if self._disk.storage.flush_error is not None:
            raise DiskFault(f"cannot flush {self._path}: {self._disk.storage.flush_error}")
        flushed = self._content.begin_flush(0, self.size_bytes)
        self._content.end_flush(flushed)
        if not self._content.is_removed:
            self._disk.flushed_now(self._path, flushed.pages)

    def close(self) -> None:
        self._is_closed = True

    def _read(self, position: int, length: int) -> bytes:
        if not self._content.is_removed:
            self._disk.read(self._path, position, length)
        return self._content.read(position, length)

    def _check(self, position: int, length: int) -> None:
        assert not self._is_closed, f"{self._path} is closed"
        assert position >= 0 and length >= 0 and position + length <= self.size_bytes, (
            f"bytes {position}..{position + length} are outside of {self._path} ({self.size_bytes} bytes)"
        )


class LabDiskFile(LabOpenFile):
    """A mapped file, as large as requested at opening, however large the file is."""

    def __init__(self, path: str, content: LabFileContent, size_bytes: int, disk: LabDisk) -> None:
        super().__init__(path, content, disk)
        self._size_bytes = size_bytes

    @property
    def size_bytes(self) -> int:
        return self._size_bytes

    def write_at(self, position: int, data: bytes | bytearray | memoryview) -> None:
        self._check(position, memoryview(data).nbytes)
        self._write(position, data)

    def read_at(self, position: int, length: int) -> bytes:
        self._check(position, length)
        return self._read(position, length)

    def view_at(self, position: int, length: int) -> memoryview:
        return memoryview(self.read_at(position, length))

    def written_end(self) -> int:
        return min(self._size_bytes, self._content.written_end())

    async def flush(self, start: int, end: int) -> None:
        self._check(start, end - start)
        await self._flush(start, end)


class LabAppendFile(LabOpenFile):
    """An append file."""

    def append(self, data: bytes | bytearray | memoryview) -> int:
        start = self.size_bytes
        self._check(start, 0)
        self._write(start, data)
        self._content.appends.append((self._disk.now_us, start))
        self._content.size_bytes += memoryview(data).nbytes
        return start

    def read_at(self, position: int, length: int) -> bytes:
        readable = max(0, min(length, self.size_bytes - position))
        self._check(min(position, self.size_bytes), readable)
        return self._read(position, readable)

    def truncate(self, size_bytes: int) -> None:
        self._check(0, size_bytes)
        if self._content.is_removed:
            self._content.truncate(size_bytes)
        else:
            self._disk.storage.truncate(self._path, size_bytes)

    async def flush(self) -> None:
        self._check(0, 0)
        await self._flush(0, self.size_bytes)


class LabFolderLock:
    """The lock of one incarnation; a crash releases it, like the end of a process."""

    def __init__(self, disk: LabDisk) -> None:
        self._disk = disk

    @property
    def is_held(self) -> bool:
        """Return whether the owner still lives."""
        return self._disk.node.alive

    def release(self) -> None:
        if self._disk.storage.lock is self:
            self._disk.storage.lock = None


class LabDisk:
    """The ``Disk`` of one lab node.

    If the storage has a page cache, a node that must wait for its disk stands still, as the single thread of its event
    loop would at a page fault; only ``off_loop`` acts as another thread. Reads by the page and the checkers from
    outside the node cost nothing and leave no trace.
    """

    def __init__(self, storage: LabStorage, node: LabNode, clock: LabClock, loop: LabLoop) -> None:
        self.storage = storage
        self.node = node
        self.clock = clock
        self._loop = loop
        #: The actor that ends the node's waiting; it is not part of the node, which stands still.
        self._arm: LabActor | None = None
        self._is_off_loop = False
        #: When the disk has finished the off-loop work.
        self._off_loop_until_us = 0

    @property
    def now_us(self) -> int:
        """Return the virtual time, whatever the node's clock says."""
        return self._loop.now_us

    # ------------------------------------------------------------------------------ the page cache

    def read(self, path: str, position: int, length: int) -> None:
        """Wait for bytes that the node reads."""
        cache, event = self.storage.page_cache, self._loop.current
        if cache is not None and event is not None and event.actor.node is self.node:
            self._wait(cache.read(path, position, length))

    def written(self, path: str, position: int, length: int) -> None:
        """Account for bytes that the node has written."""
        if self.storage.page_cache is not None:
            self._wait(self.storage.page_cache.written(path, position, length))

    def flushed_now(self, path: str, pages: dict[int, bytes]) -> None:
        """Wait for pages that the node has flushed."""
        if self.storage.page_cache is not None:
            until_us = self.storage.page_cache.flush(path, pages, self.storage.flush_us)
            self.storage.page_cache.flushed(path, pages)
            self._wait(until_us)

    def _wait(self, until_us: int) -> None:
        if self._is_off_loop:
            self._off_loop_until_us = max(self._off_loop_until_us, until_us)
        elif until_us > self._loop.now_us:
            if self._arm is None:
                self._arm = self._loop.new_actor(f"{self.node.name}/disk", self._loop.root.node)
            self._loop.stall(self.node, until_us, self._arm, self._loop.context_of(self._arm))

    # ------------------------------------------------------------------------------ the port

    @property
    def boot_id(self) -> str:
        return f"boot {self.storage.power_cuts}"

    def open_file(self, path: str, size_bytes: int) -> LabDiskFile:
        assert size_bytes > 0, f"{path} cannot be mapped with {size_bytes} bytes"
        content = self.storage.files.get(checked_path(path))
        if content is None:
            content = LabFileContent(size_bytes, self.clock.now_ms())
            self.storage.add(path, content)
        content.size_bytes = max(content.size_bytes, size_bytes)
        return LabDiskFile(path, content, size_bytes, self)

    def open_append(self, path: str) -> LabAppendFile:
        content = self.storage.files.get(checked_path(path))
        if content is None:
            content = LabFileContent(0, self.clock.now_ms())
            self.storage.add(path, content)
        return LabAppendFile(path, content, self)

    def exists(self, path: str) -> bool:
        return checked_path(path) in self.storage.files or path in self.storage.folders

    def file_size_bytes(self, path: str) -> int:
        return self._content(path).size_bytes

    def list_folder(self, path: str) -> list[str]:
        """List a folder; the empty path is the data folder itself."""
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
        self.read(path, 0, content.size_bytes)
        return content.read(0, content.size_bytes)

    def write_whole(self, path: str, data: bytes) -> None:
        checked_path(path)
        content = LabFileContent(len(data), self.clock.now_ms())
        content.write(0, memoryview(data))
        content.end_flush(content.begin_flush(0, len(data)))
        self.storage.add(path, content)
        if self.storage.page_cache is not None:
            self._wait(self.storage.page_cache.replaced(path))

    async def off_loop(self, work: Callable[[], _T]) -> _T:
        """Run work off the loop. It takes as long as a flush, and its effects happen at the end of that, in one
        event.
        """
        await asyncio.sleep(self.storage.flush_us / 1_000_000)
        self._is_off_loop = True
        try:
            return work()
        finally:
            self._is_off_loop = False
            if self._off_loop_until_us > self._loop.now_us:
                await asyncio.sleep((self._off_loop_until_us - self._loop.now_us) / 1_000_000)

    def modified_ms(self, path: str) -> int:
        return self._content(path).modified_ms

    def used_ratio(self) -> float:
        return min(1.0, self.storage.used_bytes / self.storage.capacity_bytes)

    def room_bytes(self) -> tuple[int, int]:
        storage = self.storage
        return storage.capacity_bytes, max(0, storage.capacity_bytes - storage.used_bytes)

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

"""A disk that reports every access to its files, so that the seeks and bytes of a lookup are counted, not estimated.

It wraps the disk of a live or a lab node, so that the actual code that stores and finds messages is measured.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple, TypeVar

from engine.runtime.port import AppendFile, Disk, DiskFile, FolderLock

_T = TypeVar("_T")


class AccessKind(StrEnum):
    """The kind of access to a file."""

    OPEN = "open"
    CLOSE = "close"
    READ = "read"
    WRITE = "write"
    FLUSH = "flush"
    TRUNCATE = "truncate"


class DiskAccess(NamedTuple):
    """One access: bytes ``position`` to ``position + length`` of the file; 0 for accesses that read or write none."""

    kind: AccessKind
    path: str
    position: int
    length: int


class _TracedFile:
    """The common base of both kinds of files."""

    def __init__(self, file: DiskFile | AppendFile, report: Callable[[DiskAccess], None]) -> None:
        self._opened = file
        self._report = report
        self._is_open = True
        self._report_access(AccessKind.OPEN)

    @property
    def path(self) -> str:
        return self._opened.path

    @property
    def size_bytes(self) -> int:
        return self._opened.size_bytes

    def read_at(self, position: int, length: int) -> bytes:
        data = self._opened.read_at(position, length)
        self._report_access(AccessKind.READ, position, len(data))
        return data

    def flush_now(self) -> None:
        self._report_access(AccessKind.FLUSH, 0, self.size_bytes)
        self._opened.flush_now()

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._report_access(AccessKind.CLOSE)
        self._opened.close()

    def _report_access(self, kind: AccessKind, position: int = 0, length: int = 0) -> None:
        self._report(DiskAccess(kind, self.path, position, length))


class TracedDiskFile(_TracedFile):
    """The port's ``DiskFile``."""

    def __init__(self, file: DiskFile, report: Callable[[DiskAccess], None]) -> None:
        super().__init__(file, report)
        self._file = file

    def write_at(self, position: int, data: bytes | bytearray | memoryview) -> None:
        self._file.write_at(position, data)
        self._report_access(AccessKind.WRITE, position, memoryview(data).nbytes)

    def view_at(self, position: int, length: int) -> memoryview:
        self._report_access(AccessKind.READ, position, length)
        return self._file.view_at(position, length)

    def written_end(self) -> int:
        return self._file.written_end()

    async def flush(self, start: int, end: int) -> None:
        self._report_access(AccessKind.FLUSH, start, end - start)
        await self._file.flush(start, end)


class TracedAppendFile(_TracedFile):
    """The port's ``AppendFile``."""

    def __init__(self, file: AppendFile, report: Callable[[DiskAccess], None]) -> None:
        super().__init__(file, report)
        self._file = file

    def append(self, data: bytes | bytearray | memoryview) -> int:
        position = self._file.append(data)
        self._report_access(AccessKind.WRITE, position, memoryview(data).nbytes)
        return position

    def truncate(self, size_bytes: int) -> None:
        self._report_access(AccessKind.TRUNCATE, size_bytes, self.size_bytes - size_bytes)
        self._file.truncate(size_bytes)

    async def flush(self) -> None:
        self._report_access(AccessKind.FLUSH, 0, self.size_bytes)
        await self._file.flush()


class TracedDisk:
    """The port's ``Disk``.

    :param report: receives every access, in order; it may be called from the threads of ``off_loop``.
    """

    def __init__(self, disk: Disk, report: Callable[[DiskAccess], None]) -> None:
        self._disk = disk
        self._report = report

    @property
    def boot_id(self) -> str:
        return self._disk.boot_id

    def open_file(self, path: str, size_bytes: int) -> TracedDiskFile:
        return TracedDiskFile(self._disk.open_file(path, size_bytes), self._report)

    def open_append(self, path: str) -> TracedAppendFile:
        return TracedAppendFile(self._disk.open_append(path), self._report)

    def exists(self, path: str) -> bool:
        return self._disk.exists(path)

    def file_size_bytes(self, path: str) -> int:
        return self._disk.file_size_bytes(path)

    def list_folder(self, path: str) -> list[str]:
        return self._disk.list_folder(path)

    def remove(self, path: str) -> None:
        self._disk.remove(path)

    def rename(self, old_path: str, new_path: str) -> None:
        self._disk.rename(old_path, new_path)

    def read_whole(self, path: str) -> bytes:
        data = self._disk.read_whole(path)
        self._report(DiskAccess(AccessKind.READ, path, 0, len(data)))
        return data

    def write_whole(self, path: str, data: bytes) -> None:
        self._disk.write_whole(path, data)
        self._report(DiskAccess(AccessKind.WRITE, path, 0, len(data)))

    async def off_loop(self, work: Callable[[], _T]) -> _T:
        return await self._disk.off_loop(work)

    def modified_ms(self, path: str) -> int:
        return self._disk.modified_ms(path)

    def used_ratio(self) -> float:
        return self._disk.used_ratio()

    def room_bytes(self) -> tuple[int, int]:
        return self._disk.room_bytes()

    def lock_folder(self) -> FolderLock:
        return self._disk.lock_folder()

"""A bound on the number of files that are mapped at the same time. RocketMQ maps every file it has, all the time.

A process has a limited number of open files (often 1,024, connections included), and a broker with many queues
or a long log has more. So a file is mapped when it is needed, and when there are too many, approximately the least
recently used one is unmapped. This is the "second chance" or clock algorithm of page replacement: a file that was used
since the clock's hand last passed it gets its mark cleared and stays for another round.
"""

from __future__ import annotations

from collections import deque

from engine.runtime.port import Disk, DiskFile


class MappingPool:
    """The mapped files of one store.

    :param limit: how many files may be mapped, 2 or more.
    """

    __slots__ = ("_limit", "_mapped")

    def __init__(self, limit: int) -> None:
        assert limit >= 2
        self._limit = limit
        self._mapped: deque[PooledFile] = deque()

    def __len__(self) -> int:
        return len(self._mapped)

    def make_room(self) -> None:
        """Unmap files until one more may be mapped."""
        while len(self._mapped) >= self._limit:
            file = self._mapped[0]
            if file.was_used:
                file.was_used = False
                self._mapped.rotate(-1)
            else:
                file.unmap()
                self._mapped.popleft()

    def add(self, file: PooledFile) -> None:
        """Register a mapped file."""
        self._mapped.append(file)

    def remove(self, file: PooledFile) -> None:
        """Remove a file that is no longer mapped."""
        self._mapped.remove(file)


class PooledFile:
    """A file that is mapped while it is used.

    :ivar was_used: set by every use; the clock algorithm clears it.
    """

    __slots__ = ("_disk", "_file", "_pool", "path", "size_bytes", "was_used")

    def __init__(self, disk: Disk, pool: MappingPool, path: str, size_bytes: int) -> None:
        self._disk = disk
        self._pool = pool
        self._file: DiskFile | None = None
        self.path = path
        self.size_bytes = size_bytes
        self.was_used = False

    @property
    def file(self) -> DiskFile:
        """Return the file, mapped (and created) if need be. Do not keep the result. Raises ``DiskFull``,
        ``DiskFault``.
        """
        self.was_used = True
        file = self._file
        if file is None:
            self._pool.make_room()
            file = self._file = self._disk.open_file(self.path, self.size_bytes)
            self._pool.add(self)
            self.was_used = False  # a single use must not protect a file, or a scan would evict busy ones
        return file

    def close(self) -> None:
        """Unmap the file; the next use maps it again."""
        if self._file is not None:
            self.unmap()
            self._pool.remove(self)

    def unmap(self) -> None:
        """Unmap the file, on behalf of the pool."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.path}, {self.size_bytes} bytes)"

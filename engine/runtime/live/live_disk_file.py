"""A file of fixed size, mapped into memory (RocketMQ: ``MappedFile``).

A write to a mapped file has no return code: where the disk is full, the kernel kills the process with SIGBUS. Room is
therefore reserved on the disk before the first write into it; that does report a full disk. As much is reserved ahead
as the file has behind it, a mebibyte at most: a file with one entry costs a page, a log one call per mebibyte. What was
not reserved stays a hole, so that a large file costs what is in it. Reads of what was not reserved go through the
file's descriptor: through the mapping, a bad sector would kill too.

``fdatasync`` also writes what was changed through a mapping. It runs in a thread and without the interpreter's lock;
``mmap.flush`` would hold that lock and stop the whole node while the disk works.
"""

from __future__ import annotations

import asyncio
import errno
import mmap
import os
import time
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from engine.runtime.port import DiskFault, DiskFull

#: What the system says where there is no room for more; the last one, for a file of that size.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
#: Room is reserved in pages ...
_PAGE_SHIFT = 12
#: ... and at most so many of them ahead of a write.
_AHEAD_MAX_PAGES = 256
#: A flush that is slow on purpose notices so soon that it need not be any more.
_SLOW_SLICE_S = 0.05


@dataclass(slots=True)
class DiskCondition:
    """What is wrong with a live node's disk because somebody injected it.

    :ivar is_full: there is no room for more than what is reserved, at most a mebibyte ahead in each open file.
    :ivar flush_ms: how much longer each flush takes that others do not stand still for.
    :ivar flushes_fail: as if the device reported an error: what a flush should have made durable may be lost.
    """

    is_full: bool = False
    flush_ms: int = 0
    flushes_fail: bool = False

    def mend(self) -> None:
        """Nothing is wrong with it any more."""
        self.is_full, self.flush_ms, self.flushes_fail = False, 0, False

    def check_room(self) -> None:
        """Raises ``OSError`` as a full disk does."""
        if self.is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def take_time(self) -> None:
        """Be slow, until that is mended. In a thread of its own: see :meth:`LiveDiskFile.flush_now`."""
        began_s = time.monotonic()
        while (left_s := began_s + self.flush_ms / 1_000 - time.monotonic()) > 0:
            time.sleep(min(left_s, _SLOW_SLICE_S))

    def check_flush(self) -> None:
        """Raises ``OSError`` as a broken disk does."""
        if self.flushes_fail:
            raise OSError(errno.EIO, os.strerror(errno.EIO))


class LiveDiskFile:
    """The port's ``DiskFile``."""

    def __init__(
        self, path: str, full_path: Path, size_bytes: int, flusher: Executor, condition: DiskCondition
    ) -> None:
        """Raises :class:`DiskFault` naming the file."""
        assert size_bytes > 0, f"{path} cannot be mapped with {size_bytes} bytes"
        self._path = path
        self._full_path = full_path
        self._size_bytes = size_bytes
        self._flusher = flusher
        self._condition = condition
        self._reserved = bytearray(((size_bytes - 1) >> _PAGE_SHIFT) + 1)
        #: How many writes there were, and how many of them are durable. It starts at 1: what an earlier process (or an
        #: earlier opening) wrote may still be in memory only, so the first flush is always a real one.
        self._write_count = 1
        self._durable_count = 0
        self._is_name_durable = True
        self._running_flush: asyncio.Future[None] | None = None
        self._failure: str | None = None
        with disk_faults(f"open {full_path}"):
            self._descriptor = os.open(full_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        with disk_faults(f"map {full_path} with {size_bytes} bytes"):
            try:
                if os.fstat(self._descriptor).st_size < size_bytes:
                    condition.check_room()
                    os.ftruncate(self._descriptor, size_bytes)
                    # The new size, and the new file's name, must survive a power cut too.
                    self._is_name_durable = False
                self._map = mmap.mmap(self._descriptor, size_bytes)
            except OSError:
                os.close(self._descriptor)
                raise

    @property
    def path(self) -> str:
        return self._path

    @property
    def size_bytes(self) -> int:
        return self._size_bytes

    def write_at(self, position: int, data: bytes | bytearray | memoryview) -> None:
        end = position + len(data)
        assert position >= 0 and end <= self._size_bytes, (
            f"bytes {position}..{end} are outside of {self._path} ({self._size_bytes} bytes)"
        )
        if end > position:
            first, last = position >> _PAGE_SHIFT, (end - 1) >> _PAGE_SHIFT
            if not self._is_reserved(first, last):
                self._reserve(first, last)
            self._map[position:end] = data
            self._write_count += 1

    def read_at(self, position: int, length: int) -> bytes:
        if self._is_mapped(position, length):
            return self._map[position : position + length]
        return self._read_through_descriptor(position, length)

    def view_at(self, position: int, length: int) -> memoryview:
        if self._is_mapped(position, length):
            with memoryview(self._map) as whole:
                return whole[position : position + length]
        return memoryview(self._read_through_descriptor(position, length))

    def _is_mapped(self, position: int, length: int) -> bool:
        """Whether these bytes may be read through the mapping."""
        end = position + length
        assert 0 <= position <= end <= self._size_bytes, (
            f"bytes {position}..{end} are outside of {self._path} ({self._size_bytes} bytes)"
        )
        return bool(length) and self._is_reserved(position >> _PAGE_SHIFT, (end - 1) >> _PAGE_SHIFT)

    def _is_reserved(self, first: int, last: int) -> bool:
        return self._reserved.find(0, first, last + 1) < 0

    def _read_through_descriptor(self, position: int, length: int) -> bytes:
        """Read what this process has not written. Through the mapping, a sector that cannot be read, or a hole in a
        full tmpfs, would kill the process with SIGBUS; here it is a :class:`DiskFault`."""
        with disk_faults(f"read {self._full_path}"):
            data = os.pread(self._descriptor, length, position)
        if len(data) < length:
            raise DiskFault(f"cannot read {self._full_path}: it ends at {position + len(data)}, not {self._size_bytes}")
        return data

    def written_end(self) -> int:
        """See the port. A file system that knows no holes calls the whole file written."""
        end = 0
        try:
            while True:
                end = os.lseek(self._descriptor, os.lseek(self._descriptor, end, os.SEEK_DATA), os.SEEK_HOLE)
        except OSError as failure:
            return min(end, self._size_bytes) if failure.errno == errno.ENXIO else self._size_bytes

    async def flush(self, start: int, end: int) -> None:
        """See the port. Callers that come while a flush runs share the next one; a clean file costs nothing."""
        wanted = self._write_count
        while self._durable_count < wanted:
            self._raise_failure()
            if self._running_flush is None:
                self._running_flush = asyncio.ensure_future(self._flush_in_thread())
            # Shielded: a caller that gives up must not take the flush from the others.
            await asyncio.shield(self._running_flush)

    async def _flush_in_thread(self) -> None:
        covered = self._write_count
        try:
            await asyncio.get_running_loop().run_in_executor(self._flusher, self._sync_slowly)
            self._durable_count = covered
        except OSError as failure:
            # The kernel may have dropped what it could not write, so trying again would succeed and lie.
            self._failure = f"cannot flush {self._full_path}: {failure.strerror}; its last writes may be lost"
        finally:
            self._running_flush = None
        self._raise_failure()

    def flush_now(self) -> None:
        """See the port. Not slow on purpose: the node's loop, which could mend the disk, stands still meanwhile."""
        self._raise_failure()
        if self._durable_count < self._write_count:
            with disk_faults(f"flush {self._full_path}"):
                self._sync()
            self._durable_count = self._write_count

    def close(self) -> None:
        if not self._map.closed:
            self._map.close()
            if self._running_flush is None:
                os.close(self._descriptor)
            else:
                self._running_flush.add_done_callback(lambda _: os.close(self._descriptor))

    def _sync_slowly(self) -> None:
        """In a thread."""
        self._condition.take_time()
        self._sync()

    def _sync(self) -> None:
        """Wait for the disk."""
        self._condition.check_flush()
        os.fdatasync(self._descriptor)
        if not self._is_name_durable:
            # The folder may be as new as the file, and then its own name must be kept as well.
            sync_folder(self._full_path.parent)
            sync_folder(self._full_path.parent.parent)
            self._is_name_durable = True

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise DiskFault(self._failure)

    def _reserve(self, first: int, last: int) -> None:
        """Reserve the pages ``first`` to ``last``, and some ahead. Raises :class:`DiskFull`."""
        stop = min(last + 1 + min(first, _AHEAD_MAX_PAGES), len(self._reserved))
        start = first << _PAGE_SHIFT
        with disk_faults(f"write {self._full_path}"):
            self._condition.check_room()
            os.posix_fallocate(self._descriptor, start, min(stop << _PAGE_SHIFT, self._size_bytes) - start)
        self._reserved[first:stop] = b"\1" * (stop - first)


@contextmanager
def disk_faults(deed: str) -> Iterator[None]:
    """What the system reports while ``deed`` is done, as the port has it."""
    try:
        yield
    except OSError as failure:
        kind = DiskFull if failure.errno in _FULL else DiskFault
        raise kind(f"cannot {deed}: {failure.strerror}") from failure


def sync_folder(folder: Path) -> None:
    """Make the names in ``folder`` durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

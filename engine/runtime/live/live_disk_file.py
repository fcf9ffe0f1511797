"""A file of fixed size, mapped into memory (RocketMQ: ``MappedFile``).

A write to a mapped file has no return code: if the disk is full, the kernel kills the process with SIGBUS. Space is
therefore reserved on the disk before the first write into it, which does report a full disk. As much is reserved ahead
as the file already uses, a mebibyte at most: a file with one entry takes a page, a log one call per mebibyte.
Unreserved parts stay a hole, so that a large file only takes the space of its content. Reads of unreserved parts use
the file's descriptor: through the mapping, a bad sector would kill the process, too.
"""

from __future__ import annotations

import errno
import mmap
import os
from concurrent.futures import Executor
from pathlib import Path

from engine.runtime.live.live_flushed_file import DiskCondition, LiveFlushedFile, disk_faults
from engine.runtime.port import DiskFault

#: Space is reserved in pages ...
_PAGE_SHIFT = 12
#: ... and at most this many of them ahead of a write.
_AHEAD_MAX_PAGES = 256


class LiveDiskFile(LiveFlushedFile):
    """The port's ``DiskFile``."""

    def __init__(
        self, path: str, full_path: Path, size_bytes: int, flusher: Executor, condition: DiskCondition
    ) -> None:
        """Open the file. Raises :class:`DiskFault` naming it."""
        assert size_bytes > 0, f"{path} cannot be mapped with {size_bytes} bytes"
        super().__init__(path, full_path, flusher, condition)
        self._size_bytes = size_bytes
        self._reserved = bytearray(((size_bytes - 1) >> _PAGE_SHIFT) + 1)
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
        """Return whether these bytes may be read through the mapping."""
        end = position + length
        assert 0 <= position <= end <= self._size_bytes, (
            f"bytes {position}..{end} are outside of {self._path} ({self._size_bytes} bytes)"
        )
        return bool(length) and self._is_reserved(position >> _PAGE_SHIFT, (end - 1) >> _PAGE_SHIFT)

    def _is_reserved(self, first: int, last: int) -> bool:
        return self._reserved.find(0, first, last + 1) < 0

    def _read_through_descriptor(self, position: int, length: int) -> bytes:
        """Read bytes that this process has not written.

        Through the mapping, an unreadable sector, or a hole in a full tmpfs, would kill the process with SIGBUS; here
        it is a :class:`DiskFault`.
        """
        with disk_faults(f"read {self._full_path}"):
            data = os.pread(self._descriptor, length, position)
        if len(data) < length:
            raise DiskFault(f"cannot read {self._full_path}: it ends at {position + len(data)}, not {self._size_bytes}")
        return data

    def written_end(self) -> int:
        """Return the start of the hole. On a file system without holes the whole file counts as written."""
        if not hasattr(os, "SEEK_DATA"):  # WebAssembly
            return self._size_bytes
        end = 0
        try:
            while True:
                end = os.lseek(self._descriptor, os.lseek(self._descriptor, end, os.SEEK_DATA), os.SEEK_HOLE)
        except OSError as failure:
            return min(end, self._size_bytes) if failure.errno == errno.ENXIO else self._size_bytes

    async def flush(self, start: int, end: int) -> None:
        """Flush the whole file: ``fdatasync`` does not support ranges."""
        await self._flush()

    def close(self) -> None:
        if not self._map.closed:
            self._map.close()
            self._close_descriptor()

    def _reserve(self, first: int, last: int) -> None:
        """Reserve the pages ``first`` to ``last``, and some ahead. Raises :class:`DiskFull`."""
        stop = min(last + 1 + min(first, _AHEAD_MAX_PAGES), len(self._reserved))
        start = first << _PAGE_SHIFT
        with disk_faults(f"write {self._full_path}"):
            self._condition.check_room()
            if hasattr(os, "posix_fallocate"):  # WebAssembly has files in memory, and no such call
                os.posix_fallocate(self._descriptor, start, min(stop << _PAGE_SHIFT, self._size_bytes) - start)
        self._reserved[first:stop] = b"\1" * (stop - first)

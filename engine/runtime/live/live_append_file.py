"""A file that grows at its end, written and read by position (Kafka: ``FileRecords`` over a ``FileChannel``)."""

from __future__ import annotations

import os
from concurrent.futures import Executor
from pathlib import Path

from engine.runtime.live.live_flushed_file import DiskCondition, LiveFlushedFile, disk_faults


class LiveAppendFile(LiveFlushedFile):
    """The port's ``AppendFile``."""

    def __init__(self, path: str, full_path: Path, flusher: Executor, condition: DiskCondition) -> None:
        """Open the file. Raises :class:`DiskFault` naming it."""
        # For a new file, its name must also survive a power cut.
        is_new = not full_path.exists()
        super().__init__(path, full_path, flusher, condition)
        self._is_name_durable = not is_new
        self._is_open = True
        with disk_faults(f"look at {full_path}"):
            self._size_bytes = os.fstat(self._descriptor).st_size

    @property
    def size_bytes(self) -> int:
        return self._size_bytes

    def append(self, data: bytes | bytearray | memoryview) -> int:
        """Append data. If the disk is full, the part of ``data`` that was written is cut off again."""
        start = self._size_bytes
        rest = memoryview(data)
        try:
            with disk_faults(f"write {self._full_path}"):
                self._condition.check_room()
                while rest:
                    written = os.pwrite(self._descriptor, rest, self._size_bytes)
                    self._size_bytes += written
                    rest = rest[written:]
        except BaseException:
            self.truncate(start)
            raise
        self._write_count += 1
        return start

    def read_at(self, position: int, length: int) -> bytes:
        assert position >= 0 and length >= 0, f"bytes {position}..{position + length} of {self._path}"
        with disk_faults(f"read {self._full_path}"):
            return os.pread(self._descriptor, length, position)

    def truncate(self, size_bytes: int) -> None:
        assert 0 <= size_bytes <= self._size_bytes, f"{self._path} has {self._size_bytes} bytes, not {size_bytes}"
        if size_bytes < self._size_bytes:
            with disk_faults(f"cut {self._full_path}"):
                os.ftruncate(self._descriptor, size_bytes)
            self._size_bytes = size_bytes
            self._write_count += 1

    async def flush(self) -> None:
        await self._flush()

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._close_descriptor()

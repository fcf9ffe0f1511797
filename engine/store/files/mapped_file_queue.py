"""A long byte range kept in consecutive files (RocketMQ: ``MappedFileQueue``).

RocketMQ computes the file from the offset and therefore refuses to start when a file has another size than the
configuration says. Here each file knows its own range, so the configured size may be changed at any time and counts
for new files; and a file that was cut short is filled up with zeros, which recovery then treats as what they are.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Final

from engine.runtime.port import Disk
from engine.store.files.mapped_file import MappedFile, file_name, start_offset_of
from engine.store.files.mapping_pool import MappingPool

#: The chunk size for reading a whole file: large enough to be fast, small enough to keep memory use low.
BLOCK_SIZE_BYTES: Final = 1024 * 1024
#: How much of a file shows whether it belongs where its name says.
_HEAD_BYTES: Final = 64


class MappedFileQueue:
    """The files of one folder, in order.

    :param folder: path below the data folder.
    :param file_size: size of new files in bytes.
    :param belongs_at: whether the first bytes of a file belong at an offset, where the content says so.
    """

    __slots__ = ("_belongs_at", "_disk", "_pool", "_starts", "file_size", "files", "folder")

    def __init__(
        self,
        disk: Disk,
        pool: MappingPool,
        folder: str,
        file_size: int,
        belongs_at: Callable[[bytes, int], bool] | None = None,
    ) -> None:
        self._disk = disk
        self._pool = pool
        self._belongs_at = belongs_at
        self.folder = folder
        self.file_size = file_size
        self.files: list[MappedFile] = []
        self._starts: list[int] = []

    def load(self) -> list[str]:
        """Find the existing files and return a line for people for each irregularity."""
        remarks = []
        starts = []
        for name in self._disk.list_folder(self.folder):
            start = start_offset_of(name)
            if start is None:
                remarks.append(f"{self.folder}/{name} is not a file of the store; it is ignored")
            else:
                starts.append(start)
        starts = self._without_strays(sorted(starts), remarks)
        for start, next_start in zip(starts, [*starts, None][1:], strict=True):
            path = f"{self.folder}/{file_name(start)}"
            on_disk = self._disk.file_size_bytes(path)
            size = max(on_disk, self.file_size)
            if next_start is not None:
                size = min(size, next_start - start)
            file = MappedFile(self._disk, self._pool, self.folder, start, size)
            if on_disk < size:
                file.found_end_offset = start + on_disk
                remarks.append(f"{path} has {on_disk} of {size} bytes; the rest is taken as empty")
            self._add(file)
        return remarks

    def _without_strays(self, starts: list[int], remarks: list[str]) -> list[int]:
        """Leave out files that begin inside the one before them with content of another place, such as a copy under a
        wrong name: they would hide the rest of that file.
        """
        kept: list[int] = []
        for start in starts:
            if kept and self._belongs_at is not None and self._is_stray(kept[-1], start, self._belongs_at):
                remarks.append(
                    f"{self.folder}/{file_name(start)} begins inside {file_name(kept[-1])} and does not belong there; "
                    "it is ignored, and can be moved away"
                )
            else:
                kept.append(start)
        return kept

    def _is_stray(self, previous: int, start: int, belongs_at: Callable[[bytes, int], bool]) -> bool:
        if previous + self._disk.file_size_bytes(f"{self.folder}/{file_name(previous)}") <= start:
            return False
        return belongs_at(self._head(previous), previous) and not belongs_at(self._head(start), start)

    def _head(self, start: int) -> bytes:
        path = f"{self.folder}/{file_name(start)}"
        size = min(self._disk.file_size_bytes(path), _HEAD_BYTES)
        if not size:
            return b""
        file = self._disk.open_file(path, size)
        try:
            return file.read_at(0, size)
        finally:
            file.close()

    def _add(self, file: MappedFile) -> None:
        self.files.append(file)
        self._starts.append(file.start_offset)

    @property
    def start_offset(self) -> int:
        """Return the start of the range; 0 without files."""
        return self._starts[0] if self._starts else 0

    @property
    def end_offset(self) -> int:
        """Return the end of the last file; 0 without files."""
        return self.files[-1].end_offset if self.files else 0

    @property
    def is_contiguous(self) -> bool:
        """Return False if a file in the middle is missing."""
        return all(file.end_offset == start for file, start in zip(self.files[:-1], self._starts[1:], strict=True))

    def append_file(self, start_offset: int) -> MappedFile:
        """Add a new last file that begins at ``start_offset``. Raises ``DiskFull``, ``DiskFault``."""
        assert not self.files or start_offset >= self.files[-1].end_offset
        new = MappedFile(self._disk, self._pool, self.folder, start_offset, self.file_size)
        _ = new.file  # opening it here makes a full disk fail before the file is used
        self._add(new)
        return new

    def find(self, offset: int) -> MappedFile | None:
        """Return the file that contains byte ``offset``, or None."""
        files = self.files
        if not files:
            return None
        file = files[-1]
        if offset < file.start_offset:
            index = bisect_right(self._starts, offset) - 1
            if index < 0:
                return None
            file = files[index]
        return file if offset < file.end_offset else None

    def read(self, offset: int, length: int) -> bytes:
        """Return ``length`` bytes from ``offset``; fewer if the files end before."""
        parts = []
        end = offset + length
        while offset < end:
            file = self.find(offset)
            if file is None:
                break
            count = min(end, file.end_offset) - offset
            parts.append(file.file.read_at(offset - file.start_offset, count))
            offset += count
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def write(self, offset: int, data: bytes) -> None:
        """Write ``data`` at ``offset``, adding files as they are needed.

        The first file of an empty range begins at a multiple of the file size, as RocketMQ's do.
        """
        end = offset + len(data)
        done = 0
        while offset < end:
            file = self.find(offset)
            if file is None:
                start = self.end_offset if self.files else offset - offset % self.file_size
                file = self.append_file(start)
                continue
            count = min(end, file.end_offset) - offset
            file.file.write_at(offset - file.start_offset, data[done : done + count])
            offset += count
            done += count

    def used_end(self, file: MappedFile) -> int:
        """Return the offset after the last byte of ``file`` that is not zero; its start if all are."""
        position = file.file.written_end()
        while position > 0:
            start = max(0, position - BLOCK_SIZE_BYTES)
            rest = file.file.read_at(start, position - start).rstrip(b"\0")
            if rest:
                return file.start_offset + start + len(rest)
            position = start
        return file.start_offset

    def clear_from(self, offset: int) -> int:
        """Clear everything from ``offset`` on and return how many nonzero bytes were cleared.

        RocketMQ only moves its write position back. The bytes after it would then look like messages to a search for
        whole messages after the next crash, so they are overwritten with zeros here.
        """
        removed = 0
        while self.files and self.files[-1].start_offset >= offset and len(self.files) > 1:
            file = self.files[-1]
            removed += self.used_end(file) - file.start_offset
            self._remove(len(self.files) - 1)
        if not self.files:
            return removed
        file = self.files[-1]
        used_end = self.used_end(file)
        start = max(offset, file.start_offset)
        removed += max(0, used_end - start)
        while start < used_end:
            count = min(BLOCK_SIZE_BYTES, used_end - start)
            file.file.write_at(start - file.start_offset, bytes(count))
            start += count
        return removed

    def remove_first(self, count: int) -> None:
        """Delete the first ``count`` files."""
        for _ in range(count):
            self._remove(0)

    def remove_all(self) -> None:
        """Delete every file and the folder."""
        for file in self.files:
            file.is_removed = True
            file.close()
        self.files.clear()
        self._starts.clear()
        self._disk.remove(self.folder)

    def _remove(self, index: int) -> None:
        file = self.files.pop(index)
        del self._starts[index]
        file.is_removed = True
        file.close()
        self._disk.remove(file.path)

    def parts(self, start: int, end: int) -> Iterator[tuple[MappedFile, int, int]]:
        """Yield ``(file, first position, last position)`` of every file that contains bytes of ``start..end``.

        The caller may wait between two of them: a file that is deleted meanwhile is left out.
        """
        for file in tuple(self.files) if start < end else ():
            if file.end_offset > start and file.start_offset < end and not file.is_removed:
                yield (
                    file,
                    max(start, file.start_offset) - file.start_offset,
                    min(end, file.end_offset) - file.start_offset,
                )

    async def flush(self, start: int, end: int) -> None:
        """Make bytes ``start..end`` durable. Raises ``DiskFault``."""
        for file, first, last in self.parts(start, end):
            await file.file.flush(first, last)

    def flush_now(self, start: int, end: int) -> None:
        """Flush as :meth:`flush` does, but block: for start and shutdown."""
        for file, _, _ in self.parts(start, end):
            file.file.flush_now()

    def close(self) -> None:
        """Unmap all files."""
        for file in self.files:
            file.close()

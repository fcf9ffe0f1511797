"""The live implementation of the port's ``Disk``: files below one data folder."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from engine.runtime.live.blocking_calls import BlockingCalls
from engine.runtime.live.live_append_file import LiveAppendFile
from engine.runtime.live.live_disk_file import LiveDiskFile
from engine.runtime.live.live_flushed_file import DiskCondition, disk_faults
from engine.runtime.live.live_platform import new_executor
from engine.runtime.live.whole_file import read_whole
from engine.runtime.port import DiskFault, FolderLocked, checked_path

_T = TypeVar("_T")

#: Flushes of different files may overlap; the disk orders them.
_FLUSH_THREADS = 4
#: The largest file that is read into memory as a whole: a hundred times a table of 10,000 topics.
_READ_WHOLE_MAX_BYTES = 256 * 1024 * 1024
_BOOT_ID_PATH = Path("/proc/sys/kernel/random/boot_id")


class LiveFolderLock:
    """The data folder's lock: an open, locked file."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    def release(self) -> None:
        """Release the lock. The file stays: removing it would let two others lock two different files."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class LiveDisk:
    """The disk of one live node. Without a folder every operation raises :class:`DiskFault`.

    :ivar condition: its injected faults.
    """

    def __init__(self, node_name: str, folder: Path | None) -> None:
        """Create the folder. Raises :class:`DiskFault` naming it if it cannot be written."""
        self._node_name = node_name
        self.condition = DiskCondition()
        self._folder = folder.absolute() if folder is not None else None
        self._flusher = new_executor(_FLUSH_THREADS, f"{node_name}-flush")
        # A separate thread: no message's flush must wait for the write of a table.
        self._writer = BlockingCalls(f"{node_name}-write", 1)
        if self._folder is not None:
            _make_folder(self._folder)
            if not os.access(self._folder, os.W_OK | os.X_OK):
                raise DiskFault(f"data folder {self._folder} is not writable")

    @property
    def boot_id(self) -> str:
        """Return the id of the machine's boot, which Linux provides."""
        try:
            return _BOOT_ID_PATH.read_text("ascii").strip()
        except OSError:
            return ""

    def open_file(self, path: str, size_bytes: int) -> LiveDiskFile:
        return LiveDiskFile(path, self._place_for(path), size_bytes, self._flusher, self.condition)

    def open_append(self, path: str) -> LiveAppendFile:
        return LiveAppendFile(path, self._place_for(path), self._flusher, self.condition)

    def exists(self, path: str) -> bool:
        return self._full(path).exists()

    def file_size_bytes(self, path: str) -> int:
        return self._status(path).st_size

    def list_folder(self, path: str) -> list[str]:
        """List a folder; the empty path is the data folder itself."""
        folder = self._full(path) if path else self._root()
        with disk_faults(f"list {folder}"):
            try:
                return sorted(os.listdir(folder))
            except (FileNotFoundError, NotADirectoryError):
                return []

    def remove(self, path: str) -> None:
        full_path = self._full(path)
        with disk_faults(f"remove {full_path}"), suppress(NotADirectoryError):
            if full_path.is_dir() and not full_path.is_symlink():
                shutil.rmtree(full_path)
            else:
                full_path.unlink(missing_ok=True)

    def rename(self, old_path: str, new_path: str) -> None:
        old, new = self._full(old_path), self._full(new_path)
        with disk_faults(f"rename {old} to {new}"):
            new.parent.mkdir(parents=True, exist_ok=True)
            os.replace(old, new)
            self.condition.sync_folder(new.parent)
            if old.parent != new.parent:
                self.condition.sync_folder(old.parent)

    def read_whole(self, path: str) -> bytes:
        full_path = self._full(path)
        with disk_faults(f"read {full_path}"):
            return read_whole(full_path, _READ_WHOLE_MAX_BYTES)

    def write_whole(self, path: str, data: bytes) -> None:
        full_path = self._full(path)
        temporary = full_path.with_name(full_path.name + ".tmp")
        with disk_faults(f"write {full_path}"):
            full_path.parent.mkdir(parents=True, exist_ok=True)
            self.condition.check_room()
            with open(temporary, "wb") as file:
                if full_path.exists():  # the file's permissions stay as they were: it may contain secrets
                    os.fchmod(file.fileno(), stat.S_IMODE(full_path.stat().st_mode))
                file.write(data)
                file.flush()
                if self.condition.is_durable:
                    os.fsync(file.fileno())
            os.replace(temporary, full_path)
            self.condition.sync_folder(full_path.parent)

    async def off_loop(self, work: Callable[[], _T]) -> _T:
        return await self._writer.run(work)

    def modified_ms(self, path: str) -> int:
        return self._status(path).st_mtime_ns // 1_000_000

    def used_ratio(self) -> float:
        """Return the used share as ``df`` does: space reserved for the administrator does not count as free."""
        if self.condition.is_full:
            return 1.0
        status = self._room()
        used = status.f_blocks - status.f_bfree
        usable = used + status.f_bavail
        return used / usable if usable else 1.0

    def room_bytes(self) -> tuple[int, int]:
        status = self._room()
        usable_blocks = 0 if self.condition.is_full else status.f_bavail
        return status.f_blocks * status.f_frsize, usable_blocks * status.f_frsize

    def lock_folder(self) -> LiveFolderLock:
        """Lock the folder. The file contains the owner's process id; the kernel releases the lock when the
        owner dies.
        """
        path = self._root() / "lock"
        with disk_faults(f"open {path}"):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as failure:
            owner = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(descriptor)
            raise FolderLocked(f"data folder {self._folder} is in use by another broker (process {owner})") from failure
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        return LiveFolderLock(descriptor)

    def close(self) -> None:
        """End the threads once their flushes and writes are on disk."""
        self._flusher.shutdown(wait=False)
        self._writer.close()

    def _room(self) -> os.statvfs_result:
        with disk_faults(f"look at the room of {self._root()}"):
            return os.statvfs(self._root())

    def _root(self) -> Path:
        if self._folder is None:
            raise DiskFault(f"node {self._node_name} was started without a data folder")
        return self._folder

    def _full(self, path: str) -> Path:
        return self._root() / checked_path(path)

    def _place_for(self, path: str) -> Path:
        full_path = self._full(path)
        if not os.path.exists(full_path):
            _make_folder(full_path.parent)
        return full_path

    def _status(self, path: str) -> os.stat_result:
        full_path = self._full(path)
        with disk_faults(f"look at {full_path}"):
            return full_path.stat()


def _make_folder(folder: Path) -> None:
    with disk_faults(f"make folder {folder}"):
        folder.mkdir(parents=True, exist_ok=True)

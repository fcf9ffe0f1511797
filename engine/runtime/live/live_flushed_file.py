"""The common base of a live node's open files: a descriptor, shared flushes, injected faults.

``fdatasync`` also writes what was changed through a mapping. It runs in a thread and without the interpreter's lock;
``mmap.flush`` would hold that lock and stop the whole node while the disk works.
"""

from __future__ import annotations

import asyncio
import errno
import os
import time
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from engine.runtime.future_waits import shield
from engine.runtime.live.whole_file import check_regular
from engine.runtime.port import DiskFault, DiskFull

#: The system's error codes for a lack of space; the last one, for a file of that size.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
#: How soon a flush that is slow on purpose notices that it need not be any more.
_SLOW_SLICE_S = 0.05


@dataclass(slots=True)
class DiskCondition:
    """The injected faults of a live node's disk, and whether it is waited for at all.

    :ivar is_full: there is no space beyond the reserved one, which is at most a mebibyte ahead in each open file.
    :ivar flush_ms: how much longer each flush takes that does not block the node.
    :ivar flushes_fail: as if the device reported an error: what a flush should have made durable may be lost.
    :ivar is_durable: False: nothing waits for the device, because a crash of the machine may lose these files. They
        survive the process all the same. It is a setting, not a fault.
    """

    is_full: bool = False
    flush_ms: int = 0
    flushes_fail: bool = False
    is_durable: bool = True

    def mend(self) -> None:
        """Remove all faults."""
        self.is_full, self.flush_ms, self.flushes_fail = False, 0, False

    def check_room(self) -> None:
        """Raise ``OSError`` as a full disk does."""
        if self.is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def take_time(self) -> None:
        """Wait until the fault is removed. Runs in its own thread (:meth:`LiveDiskFile.flush_now`)."""
        began_s = time.monotonic()
        while (left_s := began_s + self.flush_ms / 1_000 - time.monotonic()) > 0:
            time.sleep(min(left_s, _SLOW_SLICE_S))

    def check_flush(self) -> None:
        """Raise ``OSError`` as a broken disk does."""
        if self.flushes_fail:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def sync_folder(self, folder: Path) -> None:
        """Make the names in ``folder`` durable."""
        if not self.is_durable:
            return
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class LiveFlushedFile:
    """An open file whose writes are counted, so that a flush knows whether there is anything to do."""

    def __init__(self, path: str, full_path: Path, flusher: Executor, condition: DiskCondition) -> None:
        """Open the file. Raises :class:`DiskFault` naming it."""
        self._path = path
        self._full_path = full_path
        self._flusher = flusher
        self._condition = condition
        #: How many writes there were, and how many of them are durable. It starts at 1: data of an earlier process (or
        #: an earlier opening) may still be in memory only, so the first flush is always a real one.
        self._write_count = 1
        self._durable_count = 0
        self._is_name_durable = True
        self._running_flush: asyncio.Future[None] | None = None
        self._failure: str | None = None
        with disk_faults(f"open {full_path}"):
            self._descriptor = os.open(full_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            with disk_faults(f"open {full_path}"):
                check_regular(full_path, os.fstat(self._descriptor))
        except DiskFault:
            os.close(self._descriptor)
            raise

    @property
    def path(self) -> str:
        return self._path

    async def _flush(self) -> None:
        """Flush; callers that arrive while a flush runs share the next one, and a clean file costs nothing."""
        wanted = self._write_count
        while self._durable_count < wanted:
            self._raise_failure()
            if self._running_flush is None:
                self._running_flush = asyncio.ensure_future(self._flush_in_thread())
            # Shielded: the cancellation of one caller must not cancel the flush for the others.
            await shield(self._running_flush)

    async def _flush_in_thread(self) -> None:
        covered = self._write_count
        try:
            await asyncio.get_running_loop().run_in_executor(self._flusher, self._sync_slowly)
            self._durable_count = covered
        except OSError as failure:
            # The kernel may have dropped pages that it could not write, so a second attempt would wrongly succeed.
            self._failure = f"cannot flush {self._full_path}: {failure.strerror}; its last writes may be lost"
        finally:
            self._running_flush = None
        self._raise_failure()

    def flush_now(self) -> None:
        """Flush, blocking. Not slow on purpose, because the node's loop, which could remove the fault, is blocked
        meanwhile.
        """
        self._raise_failure()
        if self._durable_count < self._write_count:
            with disk_faults(f"flush {self._full_path}"):
                self._sync()
            self._durable_count = self._write_count

    def _close_descriptor(self) -> None:
        """Close the descriptor now, or when the running flush does not need it any more."""
        if self._running_flush is None:
            os.close(self._descriptor)
        else:
            self._running_flush.add_done_callback(lambda _: os.close(self._descriptor))

    def _sync_slowly(self) -> None:
        """Sync with the injected delay, in a thread."""
        self._condition.take_time()
        self._sync()

    def _sync(self) -> None:
        """Wait for the disk."""
        self._condition.check_flush()
        if self._condition.is_durable:
            os.fdatasync(self._descriptor)
        if not self._is_name_durable:
            # The folder may be as new as the file, and then its own name must be durable, too.
            self._condition.sync_folder(self._full_path.parent)
            self._condition.sync_folder(self._full_path.parent.parent)
            self._is_name_durable = True

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise DiskFault(self._failure)


@contextmanager
def disk_faults(action: str) -> Iterator[None]:
    """Convert the system's errors during ``action`` to the port's."""
    try:
        yield
    except OSError as failure:
        kind = DiskFull if failure.errno in _FULL else DiskFault
        raise kind(f"cannot {action}: {failure.strerror}") from failure

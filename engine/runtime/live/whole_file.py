"""Files that are read into memory as a whole: tables, and what a page remembers."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def read_whole(path: Path, max_bytes: int) -> bytes:
    """Return the content of a file.

    Raises ``OSError``, also for a pipe or a device, which may have no end, and for a file of more than ``max_bytes``: a
    damaged size, that of a file with a hole, may be any number.
    """
    status = path.stat()
    check_regular(path, status)
    if status.st_size > max_bytes:
        raise OSError(errno.EINVAL, f"it has {status.st_size} bytes; allowed: {max_bytes}", str(path))
    return path.read_bytes()


def check_regular(path: Path, status: os.stat_result) -> None:
    """Raise ``OSError`` for a pipe or a device, which may be read without end; a folder fails by itself."""
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))

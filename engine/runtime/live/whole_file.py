"""Files that are read into memory as a whole: tables, and what a page remembers."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

#: The largest file that is read: a hundred times a table of 10,000 topics. A damaged size, that of a file with a hole,
#: may be any number.
_READ_MAX_BYTES = 256 * 1024 * 1024


def read_whole(path: Path) -> bytes:
    """Return the content of a file.

    Raises ``OSError``, also for a pipe or a device, which may have no end, and for a file of more than 256 MiB.
    """
    status = path.stat()
    check_regular(path, status)
    if status.st_size > _READ_MAX_BYTES:
        raise OSError(errno.EINVAL, f"it has {status.st_size} bytes; allowed: {_READ_MAX_BYTES}", str(path))
    return path.read_bytes()


def check_regular(path: Path, status: os.stat_result) -> None:
    """Raise ``OSError`` for a pipe or a device, which may be read without end; a folder fails by itself."""
    if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))

"""Files that are replaced as a whole: a reader, and the next start after a crash, finds the old content or the new."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

#: The largest file that is read; a damaged size may be any number.
_READ_MAX_BYTES = 64 * 1024 * 1024


def read_whole(path: Path) -> bytes:
    """Return the content of a file.

    Raises ``OSError``, also for a pipe or a device, which may have no end, and for a file of more than 64 MiB.
    """
    size_bytes = path.stat().st_size
    if not (path.is_file() or path.is_dir()):
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    if size_bytes > _READ_MAX_BYTES:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return path.read_bytes()


def write_whole(path: Path, content: bytes) -> None:
    """Write ``content`` next to the file, then replace the file by it. A link stays, and what it leads to is replaced.

    Raises ``OSError``: then the file is as it was, and nothing is left next to it.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        path.write_bytes(content)  # a pipe or a device, as /dev/stdout, which nothing can replace
        return
    draft = path.with_name(f"{path.name}.tmp")
    try:
        draft.write_bytes(content)
        draft.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise

"""Empties the page cache of one file, and measures how much of it is still cached. Linux."""

from __future__ import annotations

import ctypes
import mmap
import os

_libc = ctypes.CDLL(None, use_errno=True)


def empty(descriptor: int) -> None:
    """Let the system drop the file's pages. Only clean pages are dropped, so they are flushed first."""
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def cached_share(descriptor: int, size_bytes: int) -> float:
    """Return the share of the file that is in the page cache, 0 to 1; also 1 where the system does not report it."""
    pages = -(-size_bytes // mmap.PAGESIZE)
    states = (ctypes.c_ubyte * pages)()
    # Private and writable, because ctypes takes the address of nothing else; nothing is written.
    with mmap.mmap(descriptor, size_bytes, flags=mmap.MAP_PRIVATE) as mapping:
        anchor = ctypes.c_char.from_buffer(mapping)
        try:
            address = ctypes.c_void_p(ctypes.addressof(anchor))
            if _libc.mincore(address, ctypes.c_size_t(size_bytes), states) != 0:
                return 1.0
        finally:
            del anchor
    return sum(state & 1 for state in states) / pages

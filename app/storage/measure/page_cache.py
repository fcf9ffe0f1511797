"""Empties the page cache of one file, and looks how much of it is still there. Linux."""

from __future__ import annotations

import ctypes
import mmap
import os

_libc = ctypes.CDLL(None, use_errno=True)


def empty(descriptor: int) -> None:
    """Let the system forget the file's pages. Only clean ones go, so they are made clean first."""
    os.fsync(descriptor)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)


def cached_share(descriptor: int, size_bytes: int) -> float:
    """Which share of the file lies in the page cache, 0 to 1. 1 also where the system does not say."""
    pages = -(-size_bytes // mmap.PAGESIZE)
    states = (ctypes.c_ubyte * pages)()
    # Private and writable, for that is what ctypes takes an address of; nothing is written.
    with mmap.mmap(descriptor, size_bytes, flags=mmap.MAP_PRIVATE) as mapping:
        anchor = ctypes.c_char.from_buffer(mapping)
        try:
            address = ctypes.c_void_p(ctypes.addressof(anchor))
            if _libc.mincore(address, ctypes.c_size_t(size_bytes), states) != 0:
                return 1.0
        finally:
            del anchor
    return sum(state & 1 for state in states) / pages

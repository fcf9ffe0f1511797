"""Settings of how the C library returns freed memory to the kernel.

A frame of a bulk read is a block of some hundred KiB that lives for a moment. By default glibc returns such blocks to
the kernel immediately and requests them again, page by page, for the next frame: half of the cost of such a read.
Servers (``glassmq serve``) have it keep some memory: up to 32 MiB at the heap's end, and everything freed below a block
that is still in use. After much unsent data of slow readers has been sent, :func:`give_back_freed_memory` also returns
that.
"""

from __future__ import annotations

import ctypes

#: ``mallopt``'s numbers for its settings, from ``malloc.h``.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
#: This much unused memory at the heap's end stays with the process.
_KEPT_MAX_BYTES = 32 * 1024 * 1024
#: Larger blocks than this are still requested from the kernel and returned to it.
_KEPT_BLOCK_MAX_BYTES = 8 * 1024 * 1024


def keep_freed_memory() -> bool:
    """Configure the C library accordingly; return False if it is not glibc, or refuses the settings."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library; TypeError: Windows
        return False
    kept = mallopt(_M_TRIM_THRESHOLD, _KEPT_MAX_BYTES)
    return bool(kept and mallopt(_M_MMAP_THRESHOLD, _KEPT_BLOCK_MAX_BYTES))


def give_back_freed_memory() -> None:
    """Return every unused page to the kernel; about 0.1 ms per MiB. Does nothing if the C library is not glibc."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):  # as above
        return

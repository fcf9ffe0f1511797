"""What the C library does with memory that is not used any more.

A frame of a bulk read is a block of some hundred KiB that lives for a moment. Left to itself glibc gives such blocks
back to the kernel at once and gets them anew, page by page, for the next frame: half of what such a read cost. Programs
that serve (``glassmq serve``) have it keep some: up to 32 MiB at the heap's end, and whatever is freed below a block
that is still in use. When much that many slow readers had unsent has left, :func:`give_back_freed_memory` brings that
back too.
"""

from __future__ import annotations

import ctypes

#: ``mallopt``'s numbers for its settings, from ``malloc.h``.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
#: So much unused memory at the heap's end stays with the process.
_KEPT_MAX_BYTES = 32 * 1024 * 1024
#: Larger blocks than this still come from the kernel and go back to it.
_KEPT_BLOCK_MAX_BYTES = 8 * 1024 * 1024


def keep_freed_memory() -> bool:
    """Tell the C library to do so; False where it is not glibc, or takes no such settings."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another C library; TypeError: Windows
        return False
    kept = mallopt(_M_TRIM_THRESHOLD, _KEPT_MAX_BYTES)
    return bool(kept and mallopt(_M_MMAP_THRESHOLD, _KEPT_BLOCK_MAX_BYTES))


def give_back_freed_memory() -> None:
    """Let the kernel have every page that nothing lies in; about 0.1 ms per MiB. Does nothing where it is not glibc."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (AttributeError, OSError, TypeError):  # as above
        return

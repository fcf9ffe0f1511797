"""Bits of ``sysFlag``, for stored messages (``MessageSysFlag``) and for pull requests (``PullSysFlag``)."""

from __future__ import annotations

from typing import Final

# --- stored messages -------------------------------------------------------------------------------------------------
MESSAGE_COMPRESSED: Final = 0x1
MESSAGE_MULTI_TAGS: Final = 0x2

TRANSACTION_MASK: Final = 0xC
TRANSACTION_NOT_TYPE: Final = 0x0
TRANSACTION_PREPARED_TYPE: Final = 0x4
TRANSACTION_COMMIT_TYPE: Final = 0x8
TRANSACTION_ROLLBACK_TYPE: Final = 0xC

BORN_HOST_V6: Final = 0x10
STORE_HOST_V6: Final = 0x20

#: The bits of the compression algorithm; 0 means zlib in messages of old clients.
COMPRESSION_TYPE_MASK: Final = 0x700
COMPRESSION_LZ4: Final = 0x100
COMPRESSION_ZSTD: Final = 0x200
COMPRESSION_ZLIB: Final = 0x300

# --- pull requests ---------------------------------------------------------------------------------------------------
PULL_COMMIT_OFFSET: Final = 0x1
PULL_SUSPEND: Final = 0x2
PULL_SUBSCRIPTION: Final = 0x4
PULL_CLASS_FILTER: Final = 0x8
PULL_LITE: Final = 0x10


def clear_transaction_type(sys_flag: int) -> int:
    """Return ``sys_flag`` with its transaction bits set to "none"."""
    return sys_flag & ~TRANSACTION_MASK


def pull_system_flag(*, commit_offset: bool, suspend: bool, subscription: bool, lite: bool = False) -> int:
    """Return the ``sysFlag`` of a pull request."""
    return (
        (PULL_COMMIT_OFFSET if commit_offset else 0)
        | (PULL_SUSPEND if suspend else 0)
        | (PULL_SUBSCRIPTION if subscription else 0)
        | (PULL_LITE if lite else 0)
    )

"""Permission bits of a topic (RocketMQ: ``PermName``)."""

from __future__ import annotations

from typing import Final

PERM_PRIORITY: Final = 8
PERM_READ: Final = 4
PERM_WRITE: Final = 2
PERM_INHERIT: Final = 1

#: The permission of an ordinary topic: readable and writable.
PERM_READ_WRITE: Final = PERM_READ | PERM_WRITE


def is_readable(perm: int) -> bool:
    """Return True if consumers may pull from the topic."""
    return perm & PERM_READ != 0


def is_writable(perm: int) -> bool:
    """Return True if producers may send to the topic."""
    return perm & PERM_WRITE != 0


def is_inherited(perm: int) -> bool:
    """Return True if new topics may be created from this one (only TBW102 and the like)."""
    return perm & PERM_INHERIT != 0

"""Imports of libraries without packages that they load wherever these are installed, and do not need here."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def hidden_packages(*names: str) -> Iterator[None]:
    """Let imports of these packages fail within the block, unless they are loaded already."""
    absent = [name for name in names if name not in sys.modules]
    # A None in that table makes an import fail as if there were no such module.
    sys.modules.update(dict.fromkeys(absent))  # type: ignore[arg-type]  # the documented way to block an import
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]

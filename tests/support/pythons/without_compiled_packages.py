"""A Python that has none of the compiled packages, as a browser and as another Python of this machine may be.

Needs the standard library alone, of Python 3.11 and newer.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from types import ModuleType

#: ``resource`` is part of Python, but not of every Python.
COMPILED_PACKAGES = ("google_crc32c", "librt", "lz4", "msgspec", "orjson", "resource", "uvloop", "zstandard")


class CompiledPackagesHidden(MetaPathFinder):
    """Reports each of them as not installed."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if name.partition(".")[0] in COMPILED_PACKAGES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def hide_compiled_packages() -> None:
    """From here on this process imports none of them."""
    assert not set(COMPILED_PACKAGES).intersection(sys.modules), "imported already"
    sys.meta_path.insert(0, CompiledPackagesHidden())

"""Which engine this is: runs of two engines are no runs of one experiment."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable

#: Not part of what happens in a world.
_LEFT_OUT = ("pipeline", "__pycache__")


@lru_cache(maxsize=1)
def engine_digest() -> str:
    """Of the engine's source, wherever it was imported from: a folder, a wheel or a zip."""
    digest = hashlib.sha256()
    for path, text in sorted(_sources(files("engine"), "")):
        digest.update(f"{path}\0{len(text)}\0".encode())
        digest.update(text)
    return digest.hexdigest()[:16]


def _sources(folder: Traversable, path: str) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for entry in folder.iterdir():
        if entry.name in _LEFT_OUT:
            continue
        if entry.is_dir():
            found += _sources(entry, f"{path}{entry.name}/")
        elif entry.name.endswith((".py", ".lark")):
            found.append((path + entry.name, entry.read_bytes()))
    return found

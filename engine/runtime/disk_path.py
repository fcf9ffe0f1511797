"""The rule for paths below a node's data folder, the same in both worlds."""

from __future__ import annotations

from engine.runtime.port import DiskFault


def checked_path(path: str) -> str:
    """``path`` itself when it is relative, ``/``-separated and stays inside the folder.

    Raises :class:`DiskFault` otherwise: names of topics and groups become names of folders, and those come
    from clients.
    """
    parts = path.split("/")
    if "\0" in path or any(part in ("", ".", "..") for part in parts):
        raise DiskFault(
            f"path {path!r} is not allowed: it must be relative, without empty parts, '.', '..' or a NUL byte"
        )
    return path

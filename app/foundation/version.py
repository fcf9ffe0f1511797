"""The version of this GlassMQ."""

from __future__ import annotations

from functools import cache


@cache
def version() -> str:
    """As in pyproject.toml; "unknown" where the package is used without being installed."""
    from importlib import metadata

    try:
        return metadata.version("glassmq")
    except metadata.PackageNotFoundError:
        return "unknown"

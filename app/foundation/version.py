"""The version of this GlassMQ."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path


@cache
def version() -> str:
    """Return the version in pyproject.toml; "unknown" where the package is used without being installed.

    It is read from the name of the folder that an installation leaves, as ``importlib.metadata`` does; but that imports
    mail, CSV and ZIP, at the moment at which a broker's first clients connect.
    """
    for place in sys.path:
        for folder in Path(place).glob("glassmq-*.dist-info"):
            return folder.name.removeprefix("glassmq-").removesuffix(".dist-info")
    return "unknown"

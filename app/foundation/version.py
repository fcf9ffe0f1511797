"""The version of this GlassMQ."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path


@cache
def version() -> str:
    """As in pyproject.toml; "unknown" where the package is used without being installed.

    From the name of the folder that an installation leaves, as ``importlib.metadata`` has it; but that brings mail, CSV
    and ZIP along, in the moment in which a broker's first clients come.
    """
    for place in sys.path:
        for folder in Path(place).glob("glassmq-*.dist-info"):
            return folder.name.removeprefix("glassmq-").removesuffix(".dist-info")
    return "unknown"

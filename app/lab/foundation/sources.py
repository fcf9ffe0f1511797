"""The engine's own source, for the source view: these files and no others."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import engine
from app.lab.foundation.bounds import NAME_MAX
from app.lab.foundation.refusal import LabRefused

if TYPE_CHECKING:
    from app.picture.session.film import SourceFile

_PROJECT = Path(engine.__file__).resolve().parent.parent
_ENGINE_FILE = re.compile(r"engine(/[a-z0-9_]+)+\.py")


def source_file(name: str) -> SourceFile:
    """Return the text of ``engine/...py``. Raises :class:`LabRefused` for any other name."""
    path = _PROJECT / name
    if len(name) > 2 * NAME_MAX or not _ENGINE_FILE.fullmatch(name) or not path.is_file():
        raise LabRefused("no_source", file=repr(name[:NAME_MAX]))
    return {"file": name, "lines": path.read_text(encoding="utf-8").split("\n")}

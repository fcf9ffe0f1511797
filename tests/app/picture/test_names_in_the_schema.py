"""What the comments of app/picture point to exists."""

from __future__ import annotations

import re
from pathlib import Path
from pkgutil import resolve_name

import app.picture


def test_what_the_schema_points_to_exists():
    (folder,) = app.picture.__path__
    texts = [path.read_text(encoding="utf-8") for path in Path(folder).rglob("*.py")]
    names = {name for text in texts for name in re.findall(r"`~?((?:app|engine)\.[\w.]+\w)`", text)}
    assert len(names) > 10
    for name in names:
        resolve_name(name)

"""The folders of templates and static files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class PageFolders:
    """The folders of templates and static files: next to ``app/`` in a source tree, inside it in a wheel."""

    templates: Path
    static: Path

    @classmethod
    def find(cls) -> PageFolders:
        """Return the folders of this installation."""
        package = Path(__file__).resolve().parent.parent
        bundled = package / "bundled"
        root = bundled if bundled.is_dir() else package.parent
        return cls(templates=root / "templates", static=root / "static")

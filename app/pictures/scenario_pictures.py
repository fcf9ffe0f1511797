"""The files of the pictures of scenarios and lessons: one of the stage for each theme, made by a command.

A scenario's picture shows its key moment, a lesson's the stage in the middle of the lesson. Only the first lesson of
each track has one.
"""

from __future__ import annotations

from pathlib import Path

THEMES = ("light", "dark")
#: Size in CSS pixels.
WIDTH, HEIGHT = 480, 300
MAX_BYTES = 15_000
#: The shelf of the pictures of lessons.
LESSONS_SHELF = "lessons"


def picture_path(shelf: str, name: str, theme: str) -> str:
    """Return the path below the folder ``static``."""
    return f"lab/pictures/{shelf}/{name}{'' if theme == 'light' else f'.{theme}'}.webp"


def picture_addresses(shelf: str, name: str, static_folder: Path) -> dict[str, str]:
    """Return theme -> address of the picture; empty if one of them is missing."""
    paths = {theme: picture_path(shelf, name, theme) for theme in THEMES}
    has_pictures = all((static_folder / path).is_file() for path in paths.values())
    return {theme: f"/static/{path}" for theme, path in paths.items()} if has_pictures else {}

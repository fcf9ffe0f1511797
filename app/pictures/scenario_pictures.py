"""The files of the scenarios' pictures: one of the stage at the key moment for each theme, made by a command."""

from __future__ import annotations

THEMES = ("light", "dark")
#: Size in CSS pixels.
WIDTH, HEIGHT = 480, 300
MAX_BYTES = 15_000


def picture_path(shelf: str, name: str, theme: str) -> str:
    """Return the path below the folder ``static``."""
    return f"lab/pictures/{shelf}/{name}{'' if theme == 'light' else f'.{theme}'}.webp"

"""Puts the table that a command has computed into a document, between a comment with the command's name and a comment
"end".
"""

from __future__ import annotations

import re
from pathlib import Path

from app.foundation.option_types import usage_errors
from engine.fields.refusal import FieldRefused


@usage_errors()
def read_with_place(path: Path, command: str, *other_names: str) -> str:
    """Return the document. Raises ``click.UsageError`` when it has no place for the table of ``command``."""
    text = path.read_text(encoding="utf-8")
    if not _place(command, *other_names).search(text):
        problem = f"it has no <!-- {command} --> with an <!-- end --> after it"
        raise FieldRefused(str(path), problem, "a document with both comments")
    return text


def write_table(path: Path, command: str, table: str, *other_names: str) -> None:
    """Replace the table in the document. Raises the same as :func:`read_with_place`."""
    text = read_with_place(path, command, *other_names)
    path.write_text(
        _place(command, *other_names).sub(lambda found: found[1] + table + found[2], text), encoding="utf-8"
    )


def _place(*commands: str) -> re.Pattern[str]:
    return re.compile(rf"(<!-- (?:{'|'.join(map(re.escape, commands))}) -->\n).*?(<!-- end -->)", re.DOTALL)

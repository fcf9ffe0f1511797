"""Formatting of bodies, times and tables for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.protocol.message.message import MessageExt


def body_text(body: bytes) -> str:
    """Return ``body`` as text, or as ``0x`` and hex digits when it is not UTF-8 or has characters that no text has.

    A terminal would execute some of those as commands.
    """
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return f"0x{body.hex()}"
    is_text = all(character.isprintable() or character.isspace() for character in text)
    return text if is_text else f"0x{body.hex()}"


def content_lines(message: MessageExt) -> Iterator[str]:
    """Yield a message's properties, the size of its body, and the body, decompressed if possible."""
    from engine.protocol.errors import MalformedMessage
    from engine.protocol.message.compression import decompress_body

    for name, value in sorted(message.properties.items()):
        yield f"property           {name} = {value}"
    body, problem = message.body, message.unreadable
    if problem is None:
        try:
            body = decompress_body(body, message.sys_flag)
        except MalformedMessage as error:
            problem = str(error)
    yield f"body               {len(body)} bytes{'' if problem is None else f' as stored, cannot be read: {problem}'}"
    yield body_text(body)


def local_time(timestamp_ms: int, *, with_zone: bool = False) -> str:
    """Return the local date and time; the number itself where it is not a time."""
    try:
        local = datetime.fromtimestamp(timestamp_ms // 1000, UTC).astimezone()
    except (OverflowError, ValueError, OSError):  # a client may have written anything
        return f"{timestamp_ms} ms"
    zone = f" {local:%z}" if with_zone else ""
    return f"{local:%Y-%m-%d %H:%M:%S}.{timestamp_ms % 1000:03d}{zone}"


def clean(cell: object) -> str:
    """Return the cell in one line, with characters that a terminal would execute written as ``\\x1b``."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in str(cell)
    )


def table_lines(head: tuple[str, ...], rows: list[tuple[object, ...]]) -> Iterator[str]:
    """Yield the lines of a table: rows under a head, in columns; numbers are aligned to the right."""
    texts = [head, *(tuple(clean(cell) for cell in row) for row in rows)]
    widths = [max(len(row[column]) for row in texts) for column in range(len(head))]
    is_number = [bool(rows) and all(isinstance(row[column], int) for row in rows) for column in range(len(head))]
    for row in texts:
        cells = (
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(row, widths, is_number, strict=True)
        )
        yield "  ".join(cells).rstrip()

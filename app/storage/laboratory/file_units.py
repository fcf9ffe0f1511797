"""The content of a store's file: consecutive units (a record, an entry, a batch), and each unit's fields.

The page has the texts of a unit's kind and values (``storage.unit.KIND``); a field's name is the engine's own and its
explanation ``storage.field.LAYOUT.NAME``.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from app.foundation.translator import in_all_languages

if TYPE_CHECKING:
    from app.foundation.json_types import JsonValue
    from app.picture.record import RecordField


class FileUnit(NamedTuple):
    """Bytes ``start`` to ``start + length`` of a file. ``values``: the values in its text, all of it JSON."""

    kind: str
    start: int
    length: int
    values: dict[str, JsonValue]

    @property
    def end(self) -> int:
        return self.start + self.length


class FileFormat(NamedTuple):
    """The format of one kind of file, and how to split it into units.

    :ivar units: path and content to the units in it, without gaps, in order.
    :ivar fields: content and unit to the unit's fields; their positions count from the unit's start.
    """

    name: str
    units: Callable[[str, bytes], list[FileUnit]]
    fields: Callable[[bytes, FileUnit], list[RecordField]]


def struct_fields(
    layout: str, fields: struct.Struct, names: Sequence[str], data: bytes, unit: FileUnit
) -> list[RecordField]:
    """Return the fields ``names`` at the start of ``unit``, as the struct ``fields`` lays them out without repeat
    counts.
    """
    position = 0
    described: list[RecordField] = []
    values = fields.unpack_from(data, unit.start)
    codes = fields.format[1:].replace("0x", "")  # gaps of zero bytes, as record_layout makes them
    for name, code, value in zip(names, codes, values, strict=True):
        length = struct.calcsize(">" + code)
        described.append(field(layout, name, position, length, value))
        position += length
    return described


def field(layout: str, name: str, start: int, length: int, value: object) -> RecordField:
    """Return one field. Values are texts: a browser's numbers are exact to 2**53 only."""
    explanation = in_all_languages("storage.field." + layout + "." + name)
    is_time = name.endswith(("timestamp", "timestamp_ms")) and isinstance(value, int) and value > 0
    return {
        "name": name,
        "name_zh": None,
        "explanation": explanation["en"],
        "explanation_zh": explanation["zh"],
        "start": start,
        "length": length,
        "value": f"{value} ({_utc(value)})" if is_time and isinstance(value, int) else str(value),
    }


def _utc(time_ms: int) -> str:
    return f"{datetime.fromtimestamp(time_ms // 1000, UTC):%H:%M:%S}.{time_ms % 1000:03d} UTC"


def unused(data: bytes, start: int) -> list[FileUnit]:
    """Return the rest of a file that has not been written yet."""
    return [FileUnit("unused", start, len(data) - start, {"bytes": len(data) - start})] if start < len(data) else []


def no_fields(_data: bytes, _unit: FileUnit) -> list[RecordField]:
    """Return no fields, for a unit that is no more than its bytes."""
    return []


def _text_units(_path: str, data: bytes) -> list[FileUnit]:
    return [FileUnit("text", 0, len(data), {"bytes": len(data)})] if data else []


#: Files in a text format.
TEXT_FORMAT = FileFormat("text", _text_units, no_fields)

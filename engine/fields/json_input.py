"""JSON from outside: strict, and every name once."""

from __future__ import annotations

import json

from engine.fields.field import path_of
from engine.fields.refusal import FieldRefused
from engine.protocol.json_form import json_library
from engine.texts import Text


def parse_json(data: bytes | str, what: str = "body") -> object:
    """Return the value in ``data``. Raises :class:`FieldRefused` for what is not JSON, nested too deep, or gives a
    field twice: of two values a reader would silently take one.
    """
    try:
        value: object = json_library.loads(data)
        json.loads(data, object_pairs_hook=_refuse_duplicates)
    except FieldRefused:
        raise
    except (ValueError, RecursionError) as error:
        raise FieldRefused(what, Text("field.no_json", problem=str(error)), "JSON (UTF-8)") from None
    return value


def _refuse_duplicates(pairs: list[tuple[str, object]]) -> None:
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            raise FieldRefused(path_of(name, ""), Text("field.twice"), Text("field.once"))
        seen.add(name)

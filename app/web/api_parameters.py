"""Parameters of the HTTP API: query strings, parts of an address and JSON bodies are read by tables of fields."""

from __future__ import annotations

from typing import Any

from flask import request

from engine.fields.field import Field, path_of, read_fields
from engine.fields.json_input import parse_json
from engine.fields.refusal import FieldRefused, shown
from engine.texts import Text

INT64_MAX = 2**63 - 1


def read_query(*table: Field) -> dict[str, Any]:
    """Return the parameters in the query string of the current request. Raises :class:`FieldRefused`."""
    for name, values in request.args.lists():
        if len(values) > 1:
            raise FieldRefused(path_of(name, ""), Text("field.twice"), Text("field.once"))
    return read_fields(table, request.args, of_text=True)


def read_part(field: Field, text: str) -> Any:
    """Return the part ``text`` of an address. Raises :class:`FieldRefused`."""
    return field.read(text, field.name, of_text=True)


def read_json(*table: Field, bytes_max: int | None = None) -> dict[str, Any]:
    """Return the fields in the JSON body of the current request. Raises :class:`FieldRefused`."""
    return read_fields(table, json_body(bytes_max))


def json_body(bytes_max: int | None = None) -> object:
    """Return the JSON body of the current request. Raises :class:`FieldRefused`."""
    if request.mimetype != "application/json":
        raise FieldRefused("Content-Type", Text("field.bad", value=shown(request.mimetype)), "application/json")
    if bytes_max is not None and (request.content_length is None or request.content_length > bytes_max):
        raise FieldRefused("body", Text("field.too_large"), Text("field.bytes", high=bytes_max))
    return parse_json(request.get_data(cache=False))

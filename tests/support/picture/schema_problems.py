"""Compares a picture with the schema in app/picture: what is missing, unknown, or of another type."""

from __future__ import annotations

import types
from collections.abc import Iterator
from functools import cache
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from app.foundation.json_types import JsonValue

_JSON = (type(None), bool, int, float, str)
#: 2020 to 2100.
_THESE_YEARS_MS = range(1_577_836_800_000, 4_102_444_800_000)


def schema_problems(value: object, schema: Any, path: str = "picture") -> Iterator[str]:
    """Yield one line for each place at which ``value`` does not follow ``schema``."""
    origin, arguments = get_origin(schema), get_args(schema)
    if schema == JsonValue or set(_JSON) <= {*arguments}:  # hints have JsonValue with its own name resolved, too
        return
    if is_typeddict(schema):
        yield from _object_problems(value, schema, path)
    elif origin in (Union, types.UnionType):
        yield from _problems_with_all(value, arguments, path)
    elif origin is list and isinstance(value, list):
        for number, item in enumerate(value):
            yield from schema_problems(item, arguments[0], f"{path}[{number}]")
    elif origin is dict and isinstance(value, dict):
        for key, item in value.items():
            yield from schema_problems(key, arguments[0], f"{path} key")
            yield from schema_problems(item, arguments[1], f"{path}.{key}")
    elif not _is_plain(value, schema):
        yield f"{path}: {value!r:.80} in place of {schema}"


def _is_plain(value: object, schema: Any) -> bool:
    if get_origin(schema) is Literal:
        return value in get_args(schema)
    # In JSON, 1 is a number with a fraction, too; but neither is True a number.
    return type(value) in ((int, float) if schema is float else (schema,))


def _is_in_milliseconds(key: str, value: object) -> bool:
    """Return whether a number is a point in time of these years in milliseconds: in microseconds, it would be of 1970,
    and as a duration it would take decades.
    """
    return key.endswith(("_ms", "_us")) and isinstance(value, int) and value in _THESE_YEARS_MS


@cache
def _hints(schema: Any) -> dict[str, Any]:
    return get_type_hints(schema, include_extras=True)


def _object_problems(value: object, schema: Any, path: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{path}: {value!r:.80} in place of {schema.__name__}"
        return
    hints = _hints(schema)
    yield from (f"{path}.{key}: {schema.__name__} has no such key" for key in value if key not in hints)
    if schema.__module__.startswith("app.picture"):  # a file has its own units
        late = [key for key in value if _is_in_milliseconds(key, value[key])]
        yield from (f"{path}.{key}: {value[key]} is in milliseconds since 1970" for key in late)
    for key, hint in hints.items():
        is_optional = get_origin(hint) is NotRequired
        if key in value:
            yield from schema_problems(value[key], get_args(hint)[0] if is_optional else hint, f"{path}.{key}")
        elif not is_optional:
            yield f"{path}: {schema.__name__} needs {key}"


def _problems_with_all(value: object, schemas: tuple[Any, ...], path: str) -> Iterator[str]:
    """Yield the problems with the alternative that fits best."""
    found: list[list[str]] = []
    for schema in schemas:
        found.append(list(schema_problems(value, schema, path)))
        if not found[-1]:
            return
    yield from min(found, key=len)

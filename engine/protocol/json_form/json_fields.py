"""Typed access to the fields of a decoded JSON object, with errors that name the field.

C++ clients quote numbers, Java may omit defaults, fastjson may write null: the readers here take all of that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from engine.protocol.errors import MalformedBody

#: The maximum number of items in a list, unless a reader sets another; no list of RocketMQ's has as many.
LIST_ITEMS_MAX: Final = 100_000
_Item = TypeVar("_Item")


def get_text(fields: Mapping[str, Any], name: str, default: str | None = None) -> str:
    """Return the string ``name``, or ``default`` if absent or null; raise an error if there is no default."""
    value = fields.get(name)
    if value is None:
        if default is None:
            raise MalformedBody(f"field {name!r} is missing; a string is expected")
        return default
    if not isinstance(value, str):
        raise MalformedBody(f"field {name!r} must be a string, got {type(value).__name__}")
    return value


def get_integer(fields: Mapping[str, Any], name: str, default: int | None = None) -> int:
    """Return the signed 64-bit integer ``name``."""
    value = fields.get(name)
    if value is None:
        if default is None:
            raise MalformedBody(f"field {name!r} is missing; a whole number is expected")
        return default
    if isinstance(value, str):
        sign_free = value.removeprefix("-")
        if sign_free.isascii() and sign_free.isdigit() and len(sign_free) <= 19:
            value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not -(1 << 63) <= value < 1 << 63:
        raise MalformedBody(f"field {name!r} must be a whole number of 64 bits, got {value!r:.40}")
    return value


def get_boolean(fields: Mapping[str, Any], name: str, default: bool = False) -> bool:
    """Return the boolean ``name``; numbers and the words true and false are also accepted."""
    value = fields.get(name)
    if value is None:
        return default
    if isinstance(value, str) and value.lower() in ("true", "false", "0", "1"):
        return value.lower() in ("true", "1")
    if isinstance(value, bool | int):
        return bool(value)
    raise MalformedBody(f"field {name!r} must be true or false, got {value!r:.40}")


def get_object(fields: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the object ``name``; empty if absent or null."""
    value = fields.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise MalformedBody(f"field {name!r} must be an object, got {type(value).__name__}")
    return value


def get_list(
    fields: Mapping[str, Any], name: str, convert: Callable[[Any], _Item], *, at_most: int = LIST_ITEMS_MAX
) -> tuple[_Item, ...]:
    """Return the array ``name``, with each item passed through ``convert``; empty if absent or null."""
    value = fields.get(name)
    if value is None:
        return ()
    if not isinstance(value, list):
        raise MalformedBody(f"field {name!r} must be an array, got {type(value).__name__}")
    if len(value) > at_most:
        raise MalformedBody(f"field {name!r} has {len(value)} items; allowed: {at_most}")
    return tuple(convert(item) for item in value)


def as_text(value: object) -> str:
    """Return an item that must be a string."""
    if not isinstance(value, str):
        raise MalformedBody(f"a string is expected, got {type(value).__name__}")
    return value


def as_object(value: object) -> dict[str, Any]:
    """Return an item that must be an object."""
    if not isinstance(value, dict):
        raise MalformedBody(f"an object is expected, got {type(value).__name__}")
    return value

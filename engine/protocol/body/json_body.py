"""JSON objects of the wire as dataclasses (RocketMQ: ``RemotingSerializable``).

A body is a dataclass derived from :class:`JsonBody`. A field's wire name is its own name in camelCase unless
``wire_names`` says otherwise. The value decides how a field is written: bodies as objects, tuples and lists as arrays,
maps as maps, and maps with bodies as keys with objects as keys; None is left out, as fastjson does. The annotation
decides how a field is read: ``str``, ``int``, ``bool``, a ``StrEnum``, a body, ``tuple[..., ...]`` and ``dict[str,
...]`` of bodies or texts. A field with a default may be missing, and a field that is not in ``__init__`` is not read.

Clients send the same heartbeat again and again, and a search of the lab starts the same cluster thousands of times. So
equal bytes of an immutable body are parsed once, and all readers share the object.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Any, ClassVar, Final, Self, cast, get_args, get_origin, get_type_hints

from engine.protocol.command.command_header import camel_case
from engine.protocol.errors import MalformedBody
from engine.protocol.json_form.json_fields import (
    LIST_ITEMS_MAX,
    as_object,
    as_text,
    get_boolean,
    get_integer,
    get_list,
    get_object,
    get_text,
)
from engine.protocol.json_form.json_text import ObjectKeyMap, dumps_json, loads_json_object

_Reader = Callable[[Mapping[str, Any]], Any]
_SCALARS: Mapping[Any, Callable[..., Any]] = {str: get_text, int: get_integer, bool: get_boolean}
#: Types whose values are written unchanged.
_PLAIN = (str, int, bool, float)
#: How many immutable bodies are cached by their bytes, and the maximum size of these: half a mebibyte in all.
_REMEMBERED_MAX: Final = 256
_REMEMBERED_BYTES_MAX: Final = 2_048


class JsonBody:
    """The base of all bodies. A subclass passes these options in its class statement:

    :param what: the name of the body in error messages.
    :param wire_names: wire names that are not simply the attribute in camelCase.
    :param items_max: limits of arrays that may have fewer items than others.
    :param is_unchangeable: the body and all that it contains are frozen.
    """

    __slots__ = ()
    _what: ClassVar[str] = "a body"
    _wire_names: ClassVar[Mapping[str, str]] = {}
    _items_max: ClassVar[Mapping[str, int]] = {}
    _is_unchangeable: ClassVar[bool] = False

    def __init_subclass__(
        cls,
        what: str = "",
        wire_names: Mapping[str, str] | None = None,
        items_max: Mapping[str, int] | None = None,
        is_unchangeable: bool = False,
    ) -> None:
        # Called again, without arguments, when @dataclass(slots=True) creates the class a second time.
        cls._what = what or cls._what
        cls._wire_names = wire_names or cls._wire_names
        cls._items_max = items_max or cls._items_max
        cls._is_unchangeable = is_unchangeable or cls._is_unchangeable

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of the wire."""
        plain, others = _writers_of.get(type(self)) or _writer(type(self))
        fields = {wire_name: getattr(self, name) for wire_name, name in plain}
        for wire_name, name, write in others:
            value = getattr(self, name)
            if value is not None:
                fields[wire_name] = write(value)
        return fields

    def to_json(self) -> bytes:
        """Encode the body as JSON."""
        return dumps_json(self.to_dict())

    @classmethod
    def from_dict(cls, value: object) -> Self:
        """Read the JSON object of the wire. Raises :class:`MalformedBody`."""
        fields = as_object(value)
        return cls(*[read(fields) for read in _readers_of.get(cls) or _readers(cls)])

    @classmethod
    def from_json(cls, body: bytes) -> Self:
        """Read the body. Raises :class:`MalformedBody`."""
        if cls._is_unchangeable and len(body) <= _REMEMBERED_BYTES_MAX:
            return cast("Self", _remembered(cls.from_dict, cls._what, body))
        return cls.from_dict(loads_json_object(body, cls._what))


@lru_cache(maxsize=_REMEMBERED_MAX)
def _remembered(read: Callable[[object], JsonBody], what: str, body: bytes) -> JsonBody:
    return read(loads_json_object(body, what))


# --- writing ---------------------------------------------------------------------------------------------------------

#: Wire name and attribute of the fields that are written unchanged; and of the others, with their writers.
_Writer = tuple[list[tuple[str, str]], list[tuple[str, str, Callable[[Any], object]]]]
_writers_of: dict[type[JsonBody], _Writer] = {}


def _writer(kind: type[JsonBody]) -> _Writer:
    """Return how a body of ``kind`` is written, computed on first use. Other threads see it only when it is
    complete.
    """
    hints = get_type_hints(kind)
    plain: list[tuple[str, str]] = []
    others: list[tuple[str, str, Callable[[Any], object]]] = []
    for field in _fields(kind):
        wire_name, annotation = _wire_name(kind, field.name), hints[field.name]
        if annotation in _PLAIN:
            plain.append((wire_name, field.name))
        else:
            is_keyed = get_origin(annotation) in (dict, Mapping) and issubclass(get_args(annotation)[0], JsonBody)
            others.append((wire_name, field.name, object_key_map if is_keyed else _written))
    return _writers_of.setdefault(kind, (plain, others))


def _fields(kind: type[JsonBody]) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(kind)  # type: ignore[arg-type]  # every body is a dataclass


def _wire_name(kind: type[JsonBody], name: str) -> str:
    return kind._wire_names.get(name, camel_case(name))


def _written(value: object) -> object:
    if type(value) in _PLAIN:
        return value
    if isinstance(value, JsonBody):
        return value.to_dict()
    if isinstance(value, tuple | list):
        return [_written(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _written(item) for key, item in value.items()}
    return str(value) if isinstance(value, StrEnum) else value


def object_key_map(table: Mapping[Any, object]) -> ObjectKeyMap:
    """Return a map with bodies (queues) as keys as one with objects as JSON keys."""
    return ObjectKeyMap([(key.to_dict(), _written(item)) for key, item in sorted(table.items())])


# --- reading ---------------------------------------------------------------------------------------------------------

_readers_of: dict[type[JsonBody], list[_Reader]] = {}


def _readers(kind: type[JsonBody]) -> list[_Reader]:
    """Return how each field of ``kind`` is read, computed on first use."""
    hints = get_type_hints(kind)
    readers = [_reader(kind, field, hints[field.name]) for field in _fields(kind) if field.init]
    return _readers_of.setdefault(kind, readers)


def _reader(kind: type[JsonBody], field: dataclasses.Field[Any], annotation: Any) -> _Reader:
    name = _wire_name(kind, field.name)
    has_default = field.default is not dataclasses.MISSING
    if annotation in _SCALARS:
        get, default = _SCALARS[annotation], (field.default,) if has_default else ()
        return lambda fields: get(fields, name, *default)
    if annotation == str | None:
        return lambda fields: get_text(fields, name, "") or None
    if get_origin(annotation) is tuple:
        at_most = kind._items_max.get(field.name, LIST_ITEMS_MAX)
        read_item = _item_reader(get_args(annotation)[0])
        return lambda fields: get_list(fields, name, read_item, at_most=at_most)
    if get_origin(annotation) is dict:
        read_item = _item_reader(get_args(annotation)[1])
        return lambda fields: {key: read_item(item) for key, item in get_object(fields, name).items()}
    if issubclass(annotation, StrEnum):
        return lambda fields: _get_constant(fields, annotation, name, field.default)
    return lambda fields: annotation.from_dict(get_object(fields, name))


def _item_reader(annotation: Any) -> Callable[[object], Any]:
    return as_text if annotation is str else annotation.from_dict


def _get_constant(fields: Mapping[str, Any], kind: type[StrEnum], name: str, default: Any) -> StrEnum:
    """Read an enumeration constant: Java clients send its name, C++ clients its number."""
    number = fields.get(name)
    if isinstance(number, int) and 0 <= number < len(kind):
        return tuple(kind)[number]
    text = get_text(fields, name, default)
    try:
        return kind(text)
    except ValueError as error:
        raise MalformedBody(f"field {name!r} is {text[:40]!r}; allowed: {', '.join(kind)}") from error

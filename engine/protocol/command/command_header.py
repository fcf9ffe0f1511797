"""Custom headers: typed fields that travel as strings in ``ext_fields`` (RocketMQ: ``CommandCustomHeader``).

A header is a class derived from :class:`CommandHeader`, which makes it a dataclass when it is used first: a broker
knows dozens, of which most clients send few, and making them all takes long at a start. A field's wire name is its own
name in camelCase unless ``wire_names`` says otherwise; a field without default is mandatory (RocketMQ:
``@CFNotNull``); its annotation (``str``, ``bool``, :data:`Int32`, :data:`Int64`, each perhaps ``| None``) decides how
it is read.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from typing import (
    Annotated,
    Any,
    ClassVar,
    Self,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from engine.protocol.command.field_codec import FieldCodec, decode_fields

#: A whole number that must fit a signed 32-bit (64-bit) integer.
Int32 = Annotated[int, 32]
Int64 = Annotated[int, 64]

#: Wire names that are not simply the attribute in camelCase. Some headers spell even these out: ``wire_names={}``.
_USUAL_WIRE_NAMES = {"broker_name": "bname", "client_id": "clientID"}


def camel_case(name: str) -> str:
    """``queue_id`` as Java spells it: ``queueId``."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _codec(attribute: str, wire_name: str, annotation: Any, is_mandatory: bool, default: object) -> FieldCodec:
    if get_origin(annotation) in (Union, types.UnionType):
        annotation = next(part for part in get_args(annotation) if part is not type(None))
    if annotation in (str, bool):
        return FieldCodec(attribute, wire_name, annotation, 0, is_mandatory, default)
    return FieldCodec(attribute, wire_name, int, get_args(annotation)[1], is_mandatory, default)


def _to_text(value: object) -> str:
    if type(value) is int:
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))  # an IntEnum travels as its number
    return str(value)


def _complete(kind: type[CommandHeader]) -> tuple[FieldCodec, ...]:
    """Give the class what it has found at its base so far. A second thread that does so too makes the same."""
    hints = get_type_hints(kind, include_extras=True)
    codecs = []
    for name in kind.__annotations__:
        wire_name = kind._wire_names.get(name, camel_case(name))
        codecs.append(_codec(name, wire_name, hints[name], not hasattr(kind, name), getattr(kind, name, None)))
    dataclasses.dataclass(kind)
    kind._names = tuple((codec.attribute, codec.wire_name) for codec in codecs)
    kind.field_codecs = tuple(codecs)
    return kind.field_codecs


class _FieldCodecs:
    """Those of a class that nobody has used yet."""

    def __get__(self, header: CommandHeader | None, kind: type[CommandHeader]) -> tuple[FieldCodec, ...]:
        return _complete(kind)


@dataclass_transform()
class CommandHeader:
    """Base of all custom headers; these are not derived from one another."""

    field_codecs: ClassVar[tuple[FieldCodec, ...]] = _FieldCodecs()  # type: ignore[assignment]  # until it has its own
    _wire_names: ClassVar[Mapping[str, str]]
    #: Attribute and wire name of each field.
    _names: ClassVar[tuple[tuple[str, str], ...]]

    def __init_subclass__(cls, wire_names: Mapping[str, str] = _USUAL_WIRE_NAMES) -> None:
        assert cls.__bases__ == (CommandHeader,), "a completed base would hide that this class is not"
        cls._wire_names = wire_names

    def __init__(self, *values: Any, **by_name: Any) -> None:
        """Only of the first instance: from then on the class has its own."""
        _complete(type(self))
        self.__init__(*values, **by_name)  # type: ignore[misc]  # another one now

    @classmethod
    def decode(cls, ext_fields: dict[str, str]) -> Self:
        """Read the header. Unknown fields are ignored; a wrong or missing one raises
        :class:`~engine.protocol.errors.MalformedHeader`.
        """
        return cls(*decode_fields(cls.field_codecs, ext_fields))

    def encode(self) -> dict[str, str]:
        """The fields that are not None, under their wire names, as Java would write them."""
        fields: dict[str, str] = {}
        for attribute, wire_name in self._names:
            value = getattr(self, attribute)
            if value is not None:
                fields[wire_name] = value if type(value) is str else _to_text(value)
        return fields

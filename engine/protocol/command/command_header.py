"""Custom headers: typed fields that travel as strings in ``ext_fields`` (RocketMQ: ``CommandCustomHeader``).

A header is a class derived from :class:`CommandHeader`, which makes it a dataclass. A field's wire name is its own name
in camelCase unless ``wire_names`` says otherwise; a field without default is mandatory (RocketMQ: ``@CFNotNull``); its
annotation (``str``, ``bool``, :data:`Int32`, :data:`Int64`, each perhaps ``| None``) decides how it is read.
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

#: An integer that must fit a signed 32-bit (64-bit) integer.
Int32 = Annotated[int, 32]
Int64 = Annotated[int, 64]

#: Wire names that are not simply the attribute in camelCase. Some headers spell out even these: ``wire_names={}``.
_USUAL_WIRE_NAMES = {"broker_name": "bname", "client_id": "clientID"}


def camel_case(name: str) -> str:
    """Return a name as Java spells it: ``queueId`` for ``queue_id``."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _codec(wire_name: str, annotation: Any, is_mandatory: bool, default: object) -> FieldCodec:
    if get_origin(annotation) in (Union, types.UnionType):
        annotation = next(part for part in get_args(annotation) if part is not type(None))
    if annotation in (str, bool):
        return FieldCodec(wire_name, annotation, 0, is_mandatory, default)
    return FieldCodec(wire_name, int, get_args(annotation)[1], is_mandatory, default)


def _to_text(value: object) -> str:
    if type(value) is int:
        return str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))  # an IntEnum travels as its number
    return str(value)


class _FieldCodecs:
    """Compute the field codecs of a header class on first use.

    A broker knows dozens of headers, most clients send only a few, and reading all annotations slows down a start. A
    second thread that computes them at the same time gets the same result.
    """

    def __get__(self, header: CommandHeader | None, kind: type[CommandHeader]) -> tuple[FieldCodec, ...]:
        hints = get_type_hints(kind, include_extras=True)
        kind.field_codecs = codecs = tuple(
            [
                _codec(wire_name, hints[attribute], not hasattr(kind, attribute), getattr(kind, attribute, None))
                for attribute, wire_name in kind._names
            ]
        )
        return codecs


@dataclass_transform()
class CommandHeader:
    """The base of all custom headers; these are not derived from one another."""

    field_codecs: ClassVar[tuple[FieldCodec, ...]] = _FieldCodecs()  # type: ignore[assignment]  # until it has its own
    #: The attribute and the wire name of each field.
    _names: ClassVar[tuple[tuple[str, str], ...]]

    def __init_subclass__(cls, wire_names: Mapping[str, str] = _USUAL_WIRE_NAMES) -> None:
        assert cls.__bases__ == (CommandHeader,), "fields of another header would be left out"
        cls._names = tuple([(name, wire_names.get(name) or camel_case(name)) for name in cls.__annotations__])
        dataclasses.dataclass(cls)

    @classmethod
    def decode(cls, ext_fields: dict[str, str]) -> Self:
        """Read the header. Unknown fields are ignored; a wrong or missing one raises
        :class:`~engine.protocol.errors.MalformedHeader`.
        """
        return cls(*decode_fields(cls.field_codecs, ext_fields))

    def encode(self) -> dict[str, str]:
        """Return the fields that are not None, under their wire names, as Java would write them."""
        fields: dict[str, str] = {}
        for attribute, wire_name in self._names:
            value = getattr(self, attribute)
            if value is not None:
                fields[wire_name] = value if type(value) is str else _to_text(value)
        return fields

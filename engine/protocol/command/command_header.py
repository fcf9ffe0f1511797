"""Custom headers: typed fields that travel as strings in ``ext_fields`` (RocketMQ: ``CommandCustomHeader``).

A header is a class derived from :class:`CommandHeader`, which makes it a dataclass. A field's wire name is its own name
in camelCase unless ``wire_names`` says otherwise; a field without default is mandatory (RocketMQ: ``@CFNotNull``); its
annotation (``str``, ``bool``, :data:`Int32`, :data:`Int64`, each perhaps ``| None``) decides how it is read.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Mapping
from typing import (
    Annotated,
    Any,
    ClassVar,
    NamedTuple,
    Self,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from engine.protocol.errors import MalformedHeader

#: A whole number that must fit a signed 32-bit (64-bit) integer.
Int32 = Annotated[int, 32]
Int64 = Annotated[int, 64]

#: Wire names that are not simply the attribute in camelCase. Some headers spell even these out: ``wire_names={}``.
_USUAL_WIRE_NAMES = {"broker_name": "bname", "client_id": "clientID"}
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False, "": False}


def parse_integer(name: str, text: str, bits: int) -> int:
    """``text`` as a signed integer of ``bits`` bits. Raises :class:`MalformedHeader` that names the field."""
    limit = 1 << (bits - 1)
    # 20 characters hold every 64-bit number; a longer text would only cost time to parse.
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 20):
        raise MalformedHeader(name, f"must be a whole number, got {text[:40]!r}")
    value = int(text)
    if not -limit <= value < limit:
        raise MalformedHeader(name, f"{value} does not fit {bits} bits")
    return value


def parse_boolean(name: str, text: str) -> bool:
    """Java writes true and false, C++ clients 1 and 0."""
    value = _BOOLEANS.get(text.lower())
    if value is None:
        raise MalformedHeader(name, f"must be true, false, 1 or 0, got {text[:40]!r}")
    return value


class _FieldCodec(NamedTuple):
    """How one field of a header is read."""

    attribute: str
    wire_name: str
    parse: Callable[[str], Any]
    mandatory: bool


def camel_case(name: str) -> str:
    """``queue_id`` as Java spells it: ``queueId``."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _parser(wire_name: str, annotation: Any) -> Callable[[str], Any]:
    if get_origin(annotation) in (Union, types.UnionType):
        annotation = next(part for part in get_args(annotation) if part is not type(None))
    if annotation is str:
        return str
    if annotation is bool:
        return lambda text: parse_boolean(wire_name, text)
    bits = get_args(annotation)[1]
    return lambda text: parse_integer(wire_name, text, bits)


def _to_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))  # an IntEnum travels as its number
    return str(value)


@dataclass_transform()
class CommandHeader:
    """Base of all custom headers."""

    field_codecs: ClassVar[tuple[_FieldCodec, ...]]

    def __init_subclass__(cls, wire_names: Mapping[str, str] = _USUAL_WIRE_NAMES) -> None:
        dataclasses.dataclass(cls)
        hints = get_type_hints(cls, include_extras=True)
        codecs = []
        for name in cls.__annotations__:
            wire_name = wire_names.get(name, camel_case(name))
            codecs.append(_FieldCodec(name, wire_name, _parser(wire_name, hints[name]), not hasattr(cls, name)))
        cls.field_codecs = tuple(codecs)

    @classmethod
    def decode(cls, ext_fields: Mapping[str, str]) -> Self:
        """Read the header. Unknown fields are ignored; a wrong or missing one raises :class:`MalformedHeader`."""
        values: dict[str, Any] = {}
        for codec in cls.field_codecs:
            text = ext_fields.get(codec.wire_name)
            if text is not None:
                values[codec.attribute] = codec.parse(text)
            elif codec.mandatory:
                raise MalformedHeader(codec.wire_name, "is missing")
        return cls(**values)

    def encode(self) -> dict[str, str]:
        """The fields that are not None, under their wire names, as Java would write them."""
        fields: dict[str, str] = {}
        for codec in self.field_codecs:
            value = getattr(self, codec.attribute)
            if value is not None:
                fields[codec.wire_name] = _to_text(value)
        return fields

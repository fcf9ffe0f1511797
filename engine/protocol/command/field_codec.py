"""The reader of a custom header's fields, which travel as text (RocketMQ: ``decodeCommandCustomHeader``)."""

from __future__ import annotations

from typing import Any, Final

from engine.protocol.errors import MalformedHeader

_BOOLEANS: Final = {"true": True, "1": True, "false": False, "0": False, "": False}
#: The maximum length of a number's text: every 64-bit number fits, and a longer text would only take time to parse.
_DIGITS_MAX: Final = 20


class FieldCodec:
    """The codec of one header field.

    :ivar kind: ``str``, ``bool`` or ``int``.
    :ivar bits: an ``int`` must fit a signed integer of this many bits.
    :ivar is_mandatory: whether the field must be present; otherwise a missing one is ``default``.
    """

    __slots__ = ("bits", "default", "is_mandatory", "kind", "wire_name")

    def __init__(self, wire_name: str, kind: type, bits: int, is_mandatory: bool, default: object) -> None:
        self.wire_name = wire_name
        self.kind = kind
        self.bits = bits
        self.is_mandatory = is_mandatory
        self.default = default

    def parse(self, text: str) -> str | bool | int:
        """Parse the field's value. Raises :class:`MalformedHeader` that names the field."""
        if self.kind is str:
            return text
        if self.kind is bool:
            return _parse_boolean(self.wire_name, text)
        return _parse_integer(self.wire_name, text, self.bits)


def decode_fields(codecs: tuple[FieldCodec, ...], ext_fields: dict[str, str]) -> list[Any]:
    """Return the values of all fields of ``codecs``, in their order; ignore others. Raises :class:`MalformedHeader`."""
    values: list[Any] = []
    for codec in codecs:
        text = ext_fields.get(codec.wire_name)
        if text is not None:
            values.append(codec.parse(text))
        elif codec.is_mandatory:
            raise MalformedHeader(codec.wire_name, "is missing")
        else:
            values.append(codec.default)
    return values


def _parse_integer(name: str, text: str, bits: int) -> int:
    digits = text[1:] if text.startswith(("-", "+")) else text
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS_MAX):
        raise MalformedHeader(name, f"must be a whole number, got {text[:40]!r}")
    value = int(text)
    limit = 1 << (bits - 1)
    if not -limit <= value < limit:
        raise MalformedHeader(name, f"{value} does not fit {bits} bits")
    return value


def _parse_boolean(name: str, text: str) -> bool:
    """Read a boolean: Java writes true and false, C++ clients 1 and 0."""
    value = _BOOLEANS.get(text.lower())
    if value is None:
        raise MalformedHeader(name, f"must be true, false, 1 or 0, got {text[:40]!r}")
    return value

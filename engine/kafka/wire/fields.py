"""Types of fields in a frame, and messages made of them (Kafka: ``Schema``, ``Struct`` of the protocol package).

A message is a dataclass whose annotations are the types below, nested messages, or tuples of either. Encoding, decoding
and the tree that the lab shows are derived from that one description. All numbers are big-endian; strings and bytes
begin with their length (-1: null), arrays with their count (-1: null). These are the "non-flexible" versions of Kafka's
messages.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from struct import Struct
from typing import Annotated, Any, NamedTuple, Protocol, Self, get_args, get_origin, get_type_hints

from engine.kafka.records.error_code import KafkaErrorCode, KafkaRefusal
from engine.kafka.wire.records_tree import FieldTree, records_tree

#: The length of a string is a signed 16-bit number.
TEXT_MAX_BYTES = (1 << 15) - 1
#: Limit for all arrays of a frame together, so that 16 MiB cannot become millions of objects: 10,000 topics with one
#: partition each, with leader and replicas, are 40,000.
ITEMS_MAX = 50_000


class Reader:
    """Read a frame from the front. Raises :class:`KafkaRefusal`, INVALID_REQUEST, if it is too short."""

    __slots__ = ("data", "items_left", "position")

    def __init__(self, data: bytes, position: int = 0) -> None:
        self.data = data
        self.position = position
        self.items_left = ITEMS_MAX

    def take(self, length: int) -> bytes:
        """Return the next ``length`` bytes."""
        end = self.position + length
        if length < 0 or end > len(self.data):
            raise malformed(f"{length} bytes at byte {self.position} of a frame of {len(self.data)}")
        taken = self.data[self.position : end]
        self.position = end
        return taken


def malformed(text: str) -> KafkaRefusal:
    """Return the error for an invalid frame."""
    return KafkaRefusal(KafkaErrorCode.INVALID_REQUEST, text)


class FieldType(Protocol):
    """The encoding of one type of value."""

    def write(self, value: Any, out: list[bytes]) -> None:
        """Append the bytes of ``value``."""
        ...

    def read(self, reader: Reader) -> Any:
        """Read the next value."""
        ...

    def tree(self, name: str, reader: Reader) -> FieldTree:
        """Read the next value with the positions of its bytes."""
        ...


class _Plain:
    """A type whose values have no parts."""

    def read(self, reader: Reader) -> Any:
        raise NotImplementedError

    def tree(self, name: str, reader: Reader) -> FieldTree:
        start = reader.position
        value = self.read(reader)
        return FieldTree(name, _shown(value), start, reader.position - start)


class _Number(_Plain):
    def __init__(self, form: str) -> None:
        self._struct = Struct(form)

    def write(self, value: int, out: list[bytes]) -> None:
        out.append(self._struct.pack(value))

    def read(self, reader: Reader) -> int:
        (value,) = self._struct.unpack(reader.take(self._struct.size))
        return int(value)


class _Flag(_Plain):
    def write(self, value: bool, out: list[bytes]) -> None:
        out.append(b"\1" if value else b"\0")

    def read(self, reader: Reader) -> bool:
        return reader.take(1) != b"\0"


class _Text(_Plain):
    _length = _Number(">h")

    def write(self, value: str | None, out: list[bytes]) -> None:
        encoded = None if value is None else value.encode()
        self._length.write(-1 if encoded is None else len(encoded), out)
        out.append(encoded or b"")

    def read(self, reader: Reader) -> str | None:
        length = self._length.read(reader)
        if length < 0:
            return None
        # As in Kafka, invalid UTF-8 is replaced, and then names nothing. The replacement takes up more room.
        text = reader.take(length).decode(errors="replace")
        if len(text.encode()) > TEXT_MAX_BYTES:
            raise malformed(f"a text before byte {reader.position} that is not UTF-8, and too long to show")
        return text


class _NeededText(_Text):
    def read(self, reader: Reader) -> str:
        value = super().read(reader)
        if value is None:
            raise malformed(f"missing text before byte {reader.position}, where it is required")
        return value


class _Bytes(_Plain):
    _length = _Number(">i")

    def write(self, value: bytes | None, out: list[bytes]) -> None:
        self._length.write(-1 if value is None else len(value), out)
        out.append(value or b"")

    def read(self, reader: Reader) -> bytes | None:
        length = self._length.read(reader)
        return None if length < 0 else reader.take(length)


class _Records(_Bytes):
    def tree(self, name: str, reader: Reader) -> FieldTree:
        start = reader.position
        value = self.read(reader)
        children = () if not value else records_tree(value, start + 4)
        return FieldTree(name, _shown(value), start, reader.position - start, children)


class _Array:
    _count = _Number(">i")

    def __init__(self, items: FieldType, *, is_nullable: bool = False) -> None:
        self._items = items
        self._is_nullable = is_nullable

    def write(self, value: tuple[Any, ...] | None, out: list[bytes]) -> None:
        self._count.write(-1 if value is None else len(value), out)
        for item in value or ():
            self._items.write(item, out)

    def _length(self, reader: Reader) -> int | None:
        count = self._count.read(reader)
        if count < 0 and self._is_nullable:
            return None
        if not 0 <= count <= len(reader.data) - reader.position:
            raise malformed(f"an array of {count} at byte {reader.position} of a frame of {len(reader.data)}")
        reader.items_left -= count
        if reader.items_left < 0:
            raise malformed(f"more than {ITEMS_MAX} items in the arrays of one frame")
        return count

    def read(self, reader: Reader) -> tuple[Any, ...] | None:
        count = self._length(reader)
        return None if count is None else tuple([self._items.read(reader) for _ in range(count)])

    def tree(self, name: str, reader: Reader) -> FieldTree:
        start = reader.position
        count = self._length(reader)
        children = tuple([self._items.tree(f"{name}[{number}]", reader) for number in range(count or 0)])
        return FieldTree(name, "null" if count is None else f"{count}", start, reader.position - start, children)


class _Nested:
    def __init__(self, message: type[KafkaMessage]) -> None:
        self._message = message

    def write(self, value: KafkaMessage, out: list[bytes]) -> None:
        value.write(out)

    def read(self, reader: Reader) -> KafkaMessage:
        return self._message.read(reader)

    def tree(self, name: str, reader: Reader) -> FieldTree:
        start = reader.position
        children = self._message.trees(reader)
        return FieldTree(name, "", start, reader.position - start, children)


Int8 = Annotated[int, _Number(">b")]
Int16 = Annotated[int, _Number(">h")]
Int32 = Annotated[int, _Number(">i")]
Int64 = Annotated[int, _Number(">q")]
Bool = Annotated[bool, _Flag()]
String = Annotated[str, _NeededText()]
NullableString = Annotated[str | None, _Text()]
#: Batches, one after the other; the tree shows their contents.
Records = Annotated[bytes | None, _Records()]


class _Field(NamedTuple):
    name: str
    type: FieldType


@dataclass(frozen=True)
class KafkaMessage:
    """A message, or a part of one. A subclass is a frozen dataclass whose fields have the types above."""

    def encode(self) -> bytes:
        """Return the bytes of the message."""
        out: list[bytes] = []
        self.write(out)
        return b"".join(out)

    @classmethod
    def decode(cls, data: bytes, position: int = 0) -> Self:
        """Decode all bytes from ``position`` on. Raises :class:`KafkaRefusal`, INVALID_REQUEST."""
        reader = Reader(data, position)
        message = cls.read(reader)
        if reader.position != len(data):
            raise malformed(f"{len(data) - reader.position} bytes after the end of a {cls.__name__}")
        return message

    def write(self, out: list[bytes]) -> None:
        """Append the bytes of the message."""
        for field in _fields_of(type(self)):
            field.type.write(getattr(self, field.name), out)

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Read the next message."""
        return cls(*[field.type.read(reader) for field in _fields_of(cls)])

    @classmethod
    def trees(cls, reader: Reader) -> tuple[FieldTree, ...]:
        """Return the fields of the next message, with the positions of their bytes."""
        return tuple([field.type.tree(field.name, reader) for field in _fields_of(cls)])


_known_fields: dict[type[KafkaMessage], tuple[_Field, ...]] = {}


def _fields_of(message: type[KafkaMessage]) -> tuple[_Field, ...]:
    found = _known_fields.get(message)
    if found is None:
        hints = get_type_hints(message, include_extras=True)
        found = tuple(_Field(field.name, _type_of(hints[field.name])) for field in fields(message))
        _known_fields[message] = found
    return found


def _type_of(hint: Any) -> FieldType:
    if get_origin(hint) is Annotated:
        field_type: FieldType = get_args(hint)[1]
        return field_type
    if get_origin(hint) is tuple:
        return _Array(_type_of(get_args(hint)[0]))
    choices = [choice for choice in get_args(hint) if choice is not type(None)]
    if choices:
        return _Array(_type_of(get_args(choices[0])[0]), is_nullable=True)
    return _Nested(hint)


def _shown(value: object) -> str:
    match value:
        case None:
            return "null"
        case bytes():
            return f"{len(value)} bytes"
        case _:
            return str(value)

"""Batches as a tree of fields with the positions of their bytes, for inspecting a frame or a file."""

from __future__ import annotations

from typing import NamedTuple

from engine.kafka.records.compression import Codec, decompress
from engine.kafka.records.error_code import KafkaRefusal
from engine.kafka.records.record import decode_record
from engine.kafka.records.record_batch import HEADER, HEADER_BYTES, BatchHeader, checked_header
from engine.kafka.records.varint import decode_varint

_HEADER_WIDTHS = (8, 4, 4, 1, 4, 2, 4, 8, 8, 8, 2, 4, 4)
#: Compressed records are shown up to this decompressed size.
_SHOWN_MAX_BYTES = 4 * 1024 * 1024


class FieldTree(NamedTuple):
    """A field with its value and its parts.

    :ivar position: position of its first byte in the frame or file; -1: it has none because it was compressed.
    :ivar value: the value as text.
    """

    name: str
    value: str
    position: int
    length: int
    children: tuple[FieldTree, ...] = ()


def records_tree(data: bytes, position: int) -> tuple[FieldTree, ...]:
    """Return one tree per batch in ``data``, whose first byte is at ``position``; bytes that are not a batch are shown
    as such.
    """
    trees: list[FieldTree] = []
    place = 0
    while place < len(data):
        try:
            header = checked_header(data, place)
        except KafkaRefusal as refusal:
            trees.append(FieldTree("damaged", str(refusal), position + place, len(data) - place))
            break
        trees.append(_batch_tree(data[place : place + header.size_bytes], header, position + place, len(trees)))
        place += header.size_bytes
    return tuple(trees)


def _batch_tree(batch: bytes, header: BatchHeader, position: int, number: int) -> FieldTree:
    children = []
    place = position
    for name, width, value in zip(BatchHeader._fields, _HEADER_WIDTHS, HEADER.unpack_from(batch), strict=True):
        shown = f"{value:08x}" if name == "checksum" else str(value)
        children.append(FieldTree(name, shown, place, width))
        place += width
    packed = batch[HEADER_BYTES:]
    try:
        codec = header.codec
        content = decompress(codec, packed, _SHOWN_MAX_BYTES)
        # Compressed records have no bytes of their own in the frame.
        first = position + HEADER_BYTES if codec is Codec.NONE else None
        records = _record_trees(content, header, first)
        shown = f"{len(packed)} bytes" if codec is Codec.NONE else f"{len(packed)} bytes, {codec.name}: {len(content)}"
    except KafkaRefusal as refusal:
        records, shown = (), str(refusal)
    children.append(FieldTree("records", shown, position + HEADER_BYTES, len(packed), records))
    value = f"{header.base_offset}..{header.last_offset}"
    return FieldTree(f"batch[{number}]", value, position, len(batch), tuple(children))


def _record_trees(content: bytes, header: BatchHeader, first: int | None) -> tuple[FieldTree, ...]:
    trees = []
    place = 0
    for number in range(header.record_count):
        record, end = decode_record(content, place, header.base_offset, header.base_timestamp_ms)
        walk = _RecordWalk(content, place, first)
        trees.append(FieldTree(f"record[{number}]", f"{record.offset}", walk.shown(place), end - place, walk.fields()))
        place = end
    return tuple(trees)


class _RecordWalk:
    """Walk through one record that has been decoded before, so that nothing in it can be wrong."""

    def __init__(self, content: bytes, place: int, first: int | None) -> None:
        self._content = content
        self._place = place
        self._first = first

    def shown(self, place: int) -> int:
        """Return the position in the frame; -1 if the records were compressed."""
        return -1 if self._first is None else self._first + place

    def fields(self) -> tuple[FieldTree, ...]:
        """Return all fields, in order."""
        trees = [self._number("length")[0], self._bytes("attributes", 1)]
        trees += [self._number(name)[0] for name in ("timestamp_delta_ms", "offset_delta")]
        trees += [*self._counted("key"), *self._counted("value")]
        tree, count = self._number("header_count")
        trees.append(tree)
        for number in range(count):
            trees += [*self._counted(f"header[{number}].key"), *self._counted(f"header[{number}].value")]
        return tuple(trees)

    def _number(self, name: str) -> tuple[FieldTree, int]:
        start = self._place
        value, self._place = decode_varint(self._content, start)
        return FieldTree(name, str(value), self.shown(start), self._place - start), value

    def _counted(self, name: str) -> tuple[FieldTree, ...]:
        tree, length = self._number(f"{name}_length")
        return (tree,) if length < 0 else (tree, self._bytes(name, length))

    def _bytes(self, name: str, length: int) -> FieldTree:
        start = self._place
        self._place += length
        return FieldTree(name, _text(self._content[start : self._place]), self.shown(start), length)


def _text(value: bytes) -> str:
    return value.decode(errors="backslashreplace")

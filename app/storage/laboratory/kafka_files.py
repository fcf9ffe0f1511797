"""The files of Kafka's log, unit by unit, in the engine's own layouts."""

from __future__ import annotations

import struct
from functools import partial
from typing import TYPE_CHECKING

from app.foundation.json_types import JsonValue
from app.observation.unix_time import unix_us
from app.storage.laboratory.file_units import TEXT_FORMAT, FileFormat, FileUnit, field, struct_fields
from engine.kafka.log import log_segment
from engine.kafka.records.record_batch import decode_batch, read_header
from engine.kafka.wire.records_tree import FieldTree, records_tree

if TYPE_CHECKING:
    from app.picture.pages.storage import BatchedRecord
    from app.picture.record import RecordField

#: Records of one batch that are shown, and bytes of each value.
RECORDS_MAX = 60
_VALUE_MAX_BYTES = 60


def format_of(path: str) -> FileFormat:
    """Return the format of the file at ``path``."""
    return _FORMATS.get(path.rpartition(".")[2], TEXT_FORMAT)


def _base_offset(path: str) -> int:
    """Return the base offset of a file's segment: the file's name."""
    return log_segment.base_offset_of(path.rpartition("/")[2].partition(".")[0] + log_segment.LOG_SUFFIX) or 0


def _log_units(_path: str, data: bytes) -> list[FileUnit]:
    units: list[FileUnit] = []
    position = 0
    while position < len(data):
        header = read_header(data, position)
        values: dict[str, JsonValue] = {
            "base_offset": header.base_offset,
            "last_offset": header.last_offset,
            "records": header.record_count,
            "codec": header.codec.name.lower(),
            "bytes": header.size_bytes,
        }
        units.append(FileUnit("batch", position, header.size_bytes, values))
        position += header.size_bytes
    return units


def _log_fields(data: bytes, unit: FileUnit) -> list[RecordField]:
    (batch,) = records_tree(data[unit.start : unit.end], 0)
    *header, records = batch.children
    fields: list[RecordField] = [_tree_field("batch", tree) for tree in header]
    if not records.children or records.children[0].position < 0:
        return [*fields, field("batch", "packed_records", records.position, records.length, records.value)]
    for record in records.children[:RECORDS_MAX]:
        fields += [
            {**_tree_field("kafka_record", tree), "name": f"{record.name} {tree.name}"} for tree in record.children
        ]
    return fields


def _tree_field(layout: str, tree: FieldTree) -> RecordField:
    value = int(tree.value) if tree.name.endswith("_timestamp_ms") else tree.value
    return field(layout, tree.name, tree.position, tree.length, value)


def _shown(text: bytes) -> str:
    return text[:_VALUE_MAX_BYTES].decode("utf-8", "replace") + ("…" if len(text) > _VALUE_MAX_BYTES else "")


def contents(data: bytes, unit: FileUnit) -> list[BatchedRecord]:
    """Return the records of a batch, decompressed."""
    records = decode_batch(data, unit.start) if unit.kind == "batch" else []
    return [
        {
            "offset": record.offset,
            "time_us": unix_us(record.timestamp_ms),
            "key": None if record.key is None else _shown(record.key),
            "value": None if record.value is None else _shown(record.value),
        }
        for record in records[:RECORDS_MAX]
    ]


def _entry_units(kind: str, entry: struct.Struct, names: tuple[str, ...], path: str, data: bytes) -> list[FileUnit]:
    base_offset = _base_offset(path)
    units = []
    for number, values in enumerate(entry.iter_unpack(data)):
        named = dict(zip(names, values, strict=True))
        fields = {**named, "number": number, "offset": base_offset + named["relative_offset"]}
        units.append(FileUnit(kind, number * entry.size, entry.size, fields))
    return units


def _index_format(name: str, kind: str, entry: struct.Struct, names: tuple[str, ...]) -> FileFormat:
    return FileFormat(name, partial(_entry_units, kind, entry, names), partial(struct_fields, kind, entry, names))


_FORMATS = {
    "log": FileFormat("log", _log_units, _log_fields),
    "index": _index_format("offset_index", "offset_entry", log_segment.INDEX_ENTRY, log_segment.INDEX_FIELDS),
    "timeindex": _index_format("time_index", "time_entry", log_segment.TIME_INDEX_ENTRY, log_segment.TIME_INDEX_FIELDS),
}

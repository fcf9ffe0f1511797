"""The files of RocketMQ's store, unit by unit, in the engine's own layouts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.observation.record_view import queue_entry_view, record_fields
from app.storage.laboratory.file_units import TEXT_FORMAT, FileFormat, FileUnit, field, no_fields, struct_fields, unused
from app.storage.laboratory.rocketmq_side import CONFIG
from engine.protocol.message.message_codec import decode_stored_message
from engine.protocol.message.record_layout import BLANK_MAGIC, MESSAGE_MAGIC, SIZE_AND_MAGIC
from engine.store.files import store_checkpoint
from engine.store.files.consume_queue_entry import CONSUME_QUEUE_ENTRY, ENTRY_SIZE_BYTES
from engine.store.files.mapped_file import start_offset_of
from engine.store.queues import index_file

if TYPE_CHECKING:
    from app.picture.record import RecordField

_FIRST_ENTRY = index_file.HEADER_SIZE_BYTES + CONFIG.max_hash_slot_num * index_file.SLOT_SIZE_BYTES


def format_of(path: str) -> FileFormat:
    """Return the format of the file at ``path``."""
    folder = path.partition("/")[0]
    return _FORMATS.get(folder, TEXT_FORMAT)


def _start_of(path: str) -> int:
    """Return the offset in the file's name: that of its first byte in the whole log or queue."""
    return start_offset_of(path.rpartition("/")[2]) or 0


def _commit_log_units(_path: str, data: bytes) -> list[FileUnit]:
    units: list[FileUnit] = []
    position = 0
    while position + SIZE_AND_MAGIC.size <= len(data):
        size, magic = SIZE_AND_MAGIC.unpack_from(data, position)
        if magic == MESSAGE_MAGIC:
            message = decode_stored_message(data[position : position + size], check_crc=False)
            values = {name: getattr(message, name) for name in ("topic", "queue_id", "queue_offset")}
            units.append(FileUnit("record", position, size, {**values, "key": next(iter(message.keys), "–")}))
        elif magic == BLANK_MAGIC:
            units.append(FileUnit("blank", position, size, {"bytes": size}))
        else:
            break
        position += size
    return units + unused(data, position)


def _record_unit_fields(data: bytes, unit: FileUnit) -> list[RecordField]:
    if unit.kind == "record":
        return record_fields(data[unit.start : unit.end])
    if unit.kind == "blank":
        return struct_fields("blank", SIZE_AND_MAGIC, ("size", "magic"), data, unit)
    return []


def _consume_queue_units(path: str, data: bytes) -> list[FileUnit]:
    # The tags code of the last entry may end with zeros: round up to whole entries.
    count = -(-len(data.rstrip(b"\0")) // ENTRY_SIZE_BYTES)
    first = _start_of(path) // ENTRY_SIZE_BYTES
    units = []
    for number in range(count):
        offset, size, _ = CONSUME_QUEUE_ENTRY.unpack_from(data, number * ENTRY_SIZE_BYTES)
        values = {"number": first + number, "commit_log_offset": offset, "bytes": size}
        units.append(FileUnit("queue_entry", number * ENTRY_SIZE_BYTES, ENTRY_SIZE_BYTES, values))
    return units + unused(data, count * ENTRY_SIZE_BYTES)


def _queue_entry_fields(data: bytes, unit: FileUnit) -> list[RecordField]:
    if unit.kind != "queue_entry":
        return []
    return queue_entry_view(CONSUME_QUEUE_ENTRY.unpack_from(data, unit.start))["fields"]


def _index_units(_path: str, data: bytes) -> list[FileUnit]:
    header = dict(zip(index_file.HEADER_FIELDS, index_file.HEADER.unpack_from(data), strict=True))
    units = [FileUnit("index_header", 0, index_file.HEADER_SIZE_BYTES, header)]
    for slot in range(CONFIG.max_hash_slot_num):
        start = index_file.HEADER_SIZE_BYTES + slot * index_file.SLOT_SIZE_BYTES
        entry = int.from_bytes(data[start : start + index_file.SLOT_SIZE_BYTES], "big", signed=True)
        kind = "index_slot" if entry else "empty_slot"
        units.append(FileUnit(kind, start, index_file.SLOT_SIZE_BYTES, {"slot": slot, "entry": entry}))
    size = index_file.ENTRY_SIZE_BYTES
    # RocketMQ counts from 1, because 0 marks an empty slot: the place of entry 0 stays empty.
    units.append(FileUnit("unused", _FIRST_ENTRY, size, {"bytes": size}))
    for number in range(1, header["index_count"]):
        start = _FIRST_ENTRY + number * size
        names = index_file.ENTRY_FIELDS
        values = dict(zip(names, index_file.ENTRY.unpack_from(data, start), strict=True))
        slot = values["key_hash"] % CONFIG.max_hash_slot_num
        units.append(FileUnit("index_entry", start, size, {**values, "number": number, "slot": slot}))
    return units + unused(data, units[-1].end)


def _index_fields(data: bytes, unit: FileUnit) -> list[RecordField]:
    if unit.kind == "index_header":
        return struct_fields("index_header", index_file.HEADER, index_file.HEADER_FIELDS, data, unit)
    if unit.kind in ("index_slot", "empty_slot"):
        return [field("index_slot", "entry", 0, unit.length, unit.values["entry"])]
    if unit.kind == "index_entry":
        return struct_fields("index_entry", index_file.ENTRY, index_file.ENTRY_FIELDS, data, unit)
    return []


def _checkpoint_units(_path: str, data: bytes) -> list[FileUnit]:
    times = dict(zip(store_checkpoint.TIMES_FIELDS, store_checkpoint.TIMES.unpack_from(data), strict=True))
    return [FileUnit("checkpoint", 0, store_checkpoint.TIMES.size, times), *unused(data, store_checkpoint.TIMES.size)]


def _checkpoint_fields(data: bytes, unit: FileUnit) -> list[RecordField]:
    if unit.kind != "checkpoint":
        return no_fields(data, unit)
    return struct_fields("checkpoint", store_checkpoint.TIMES, store_checkpoint.TIMES_FIELDS, data, unit)


_FORMATS = {
    "commitlog": FileFormat("commitlog", _commit_log_units, _record_unit_fields),
    "consumequeue": FileFormat("consumequeue", _consume_queue_units, _queue_entry_fields),
    "index": FileFormat("index", _index_units, _index_fields),
    "checkpoint": FileFormat("checkpoint", _checkpoint_units, _checkpoint_fields),
}

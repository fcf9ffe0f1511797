"""Reading the commit log's bytes without making message objects (RocketMQ: ``CommitLog.checkMessageAndReturnSize``).

The layout is drawn in :mod:`engine.protocol.message.message_codec`. The CRC in a message covers its body only;
therefore a message is taken as whole only if all its lengths agree, if it lies where it says it lies (the physical
offset), if its topic is a legal name, if its logical offset is possible (every earlier message of the queue lies before
it and takes 91 bytes at least), and if no disk sector of its properties was lost (a lost sector reads as zeros). A
changed bit in a time stamp, say, cannot be seen: RocketMQ's format has no check for it.
"""

from __future__ import annotations

import struct
import zlib

from engine.protocol.errors import IllegalName
from engine.protocol.java_hash import java_string_hash
from engine.protocol.message.message_codec import FIXED_SIZE_BYTES, MESSAGE_MAGIC
from engine.protocol.message.message_properties import (
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_KEYS,
    PROPERTY_TAGS,
    PROPERTY_UNIQUE_KEY,
    decode_properties,
)
from engine.protocol.names import SCHEDULE_TOPIC, validate_topic
from engine.protocol.system_flags import (
    BORN_HOST_V6,
    STORE_HOST_V6,
    TRANSACTION_COMMIT_TYPE,
    TRANSACTION_MASK,
)
from engine.store.queues.dispatch_request import DispatchRequest

#: The magic as bytes, to search for.
MESSAGE_MAGIC_BYTES = struct.pack(">i", MESSAGE_MAGIC)

#: total size, magic, (12 bytes of CRC, queue id, flag), (queue offset), physical offset: enough to recognise a message.
RECORD_PEEK = struct.Struct(">ii20xq")

#: Where in a record its queue id (int32) and its logical offset (int64) lie.
QUEUE_ID_POSITION = 12
QUEUE_OFFSET_POSITION = 20

#: total size, magic, CRC, queue id, flag, queue offset, physical offset, system flag, born timestamp.
_HEAD = struct.Struct(">iiIiiqqiq")
_LONG = struct.Struct(">q")
_LENGTH = struct.Struct(">i")
_SHORT = struct.Struct(">H")
_IPV6_EXTRA_BYTES = 12
#: What a disk writes whole or not at all.
_SECTOR_BYTES = 512


def is_record_at(buffer: bytes, position: int, size: int, commit_log_offset: int) -> bool:
    """True when a message of ``size`` bytes that belongs at ``commit_log_offset`` starts at ``position``."""
    if position + RECORD_PEEK.size > len(buffer):
        return False
    found_size, magic, physical_offset = RECORD_PEEK.unpack_from(buffer, position)
    return bool(found_size == size and magic == MESSAGE_MAGIC and physical_offset == commit_log_offset)


def store_timestamp_of(record: bytes, position: int = 0) -> int:
    """The store timestamp (ms) of the message that starts at ``position``."""
    (sys_flag,) = _LENGTH.unpack_from(record, position + 36)
    at = position + (56 + _IPV6_EXTRA_BYTES if sys_flag & BORN_HOST_V6 else 56)
    return int(_LONG.unpack_from(record, at)[0])


def predecessor_of(record: bytes, position: int) -> int | None:
    """Where in the log the message lies that the one at ``position`` was made of; None: it came from a sender.

    The field is that of committed messages (prepared transaction offset). A delivered message has the complement of the
    place there, because 0 means nothing in it and is a place too.
    """
    (sys_flag,) = _LENGTH.unpack_from(record, position + 36)
    extra_bytes = bool(sys_flag & BORN_HOST_V6) + bool(sys_flag & STORE_HOST_V6)
    (place,) = _LONG.unpack_from(record, position + 76 + extra_bytes * _IPV6_EXTRA_BYTES)
    if sys_flag & TRANSACTION_MASK == TRANSACTION_COMMIT_TYPE:
        return int(place)
    return ~int(place) if place < 0 else None


def parse_record(
    buffer: bytes, position: int, commit_log_offset: int, delay_levels_ms: tuple[int, ...]
) -> DispatchRequest | None:
    """The message at ``position`` of ``buffer``, which is byte ``commit_log_offset`` of the log; None if not whole.

    ``delay_levels_ms``: see :class:`~engine.store.files.store_config.MessageStoreConfig`.
    """
    try:
        return _parse(buffer, position, commit_log_offset, delay_levels_ms)
    except (struct.error, IndexError, UnicodeDecodeError, IllegalName):
        return None


def _parse(
    buffer: bytes, position: int, commit_log_offset: int, delay_levels_ms: tuple[int, ...]
) -> DispatchRequest | None:
    size, magic, crc, queue_id, _, queue_offset, physical_offset, sys_flag, _ = _HEAD.unpack_from(buffer, position)
    end = position + size
    if magic != MESSAGE_MAGIC or size < FIXED_SIZE_BYTES or end > len(buffer) or physical_offset != commit_log_offset:
        return None
    if queue_id < 0 or not 0 <= queue_offset * FIXED_SIZE_BYTES <= physical_offset:
        return None
    store_timestamp_at = position + (56 + _IPV6_EXTRA_BYTES if sys_flag & BORN_HOST_V6 else 56)
    body_length_at = store_timestamp_at + (28 + _IPV6_EXTRA_BYTES if sys_flag & STORE_HOST_V6 else 28)
    (store_timestamp,) = _LONG.unpack_from(buffer, store_timestamp_at)
    (body_length,) = _LENGTH.unpack_from(buffer, body_length_at)
    body_start = body_length_at + 4
    topic_at = body_start + body_length
    if body_length < 0 or topic_at >= end:
        return None
    properties_length_at = topic_at + 1 + buffer[topic_at]
    properties_at = properties_length_at + 2
    if properties_at > end or properties_at + _SHORT.unpack_from(buffer, properties_length_at)[0] != end:
        return None
    if zlib.crc32(memoryview(buffer)[body_start:topic_at]) & 0x7FFFFFFF != crc:
        return None
    topic = buffer[topic_at + 1 : properties_length_at].decode("ascii")
    properties_bytes = buffer[properties_at:end]
    if b"\0" in properties_bytes and lacks_sector(properties_bytes, commit_log_offset + properties_at - position):
        return None
    validate_topic(topic)
    properties = decode_properties(properties_bytes.decode())
    return DispatchRequest(
        topic,
        queue_id,
        queue_offset,
        physical_offset,
        size,
        _tags_code(topic, properties, store_timestamp, delay_levels_ms),
        store_timestamp,
        sys_flag,
        properties.get(PROPERTY_KEYS, ""),
        properties.get(PROPERTY_UNIQUE_KEY, ""),
    )


def lacks_sector(data: bytes, offset: int) -> bool:
    """True when ``data``, which begins at ``offset`` of the log, is all zeros within one disk sector."""
    position = 0
    while position < len(data):
        sector_end = position + _SECTOR_BYTES - (offset + position) % _SECTOR_BYTES
        piece = data[position:sector_end]
        # A sector that begins inside the data; one that began before it was judged by what lies there.
        if (offset + position) % _SECTOR_BYTES == 0 and piece.count(0) == len(piece):
            return True
        position = sector_end
    return False


def _tags_code(topic: str, properties: dict[str, str], store_timestamp: int, delay_levels_ms: tuple[int, ...]) -> int:
    if topic == SCHEDULE_TOPIC:
        level = properties.get(PROPERTY_DELAY_TIME_LEVEL, "")
        if level.isascii() and level.isdigit() and int(level) > 0:
            return deliver_timestamp(store_timestamp, int(level), delay_levels_ms)
    tags = properties.get(PROPERTY_TAGS)
    return java_string_hash(tags) if tags else 0


def deliver_timestamp(store_timestamp: int, delay_level: int, delay_levels_ms: tuple[int, ...]) -> int:
    """When a delayed message is due, ms. A level beyond the last one counts as the last one."""
    return store_timestamp + delay_levels_ms[min(delay_level, len(delay_levels_ms) - 1)]

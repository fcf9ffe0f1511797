"""The checks of a message before the store delivers it (RocketMQ: ``CommitLog.checkMessageAndReturnSize``).

RocketMQ checks a message during recovery and later sends whatever its consume queues point to. Here each message is
checked when it is read: that it is at the offset that it names, that it is the requested one, that its lengths add up
to its size, and that its body matches its CRC. Fields that the format does not check (a timestamp, a flag, the
properties) may still have changed: properties may contain any bytes, so their content does not reveal damage.
"""

from __future__ import annotations

import zlib
from enum import Enum
from typing import Final

from engine.protocol.message.record_layout import HOST_FLAGS, MESSAGE_MAGIC, PROPERTIES_LENGTH, SYSTEM_FLAG, fields_at
from engine.store.queues.consume_queue import ConsumeQueue

_FRAMES: Final = fields_at(
    "size", "magic", "crc", "queue_id", "queue_offset", "commit_log_offset", "sys_flag", "body_length"
)
_FRAME: Final = _FRAMES[0]
#: The unit that a disk writes whole or not at all.
_SECTOR_BYTES: Final = 512


class RecordDamage(Enum):
    """The reasons for which a message is not sent. The first two may also be caused by a damaged consume-queue
    entry.
    """

    NO_MESSAGE = "there is no message of that size"
    ANOTHER_MESSAGE = "it is another message: its topic, queue id or queue offset are not those of the queue"
    LENGTHS = "its lengths do not add up to its size"
    BODY = "its body does not match its CRC"
    TOPIC = "its topic cannot be read"


def damage_of(
    view: bytes | memoryview,
    position: int,
    size: int,
    commit_log_offset: int,
    queue: ConsumeQueue | None = None,
    queue_offset: int = 0,
    *,
    check_crc: bool = True,
) -> RecordDamage | None:
    """Return what is wrong with the message of ``size`` bytes at ``position`` of ``view``; None if it may be sent.

    The message must have the offset ``commit_log_offset`` and, if ``queue`` is given, be its message ``queue_offset``.
    """
    end = position + size
    body_at = position + _FRAME.size
    if position < 0 or body_at > len(view) or end > len(view):
        return RecordDamage.NO_MESSAGE
    found_size, magic, crc, queue_id, found_offset, place, sys_flag, body_size = _FRAME.unpack_from(view, position)
    if found_size != size or magic != MESSAGE_MAGIC or place != commit_log_offset:
        return RecordDamage.NO_MESSAGE
    if queue is not None and (found_offset != queue_offset or queue_id != queue.queue_id):
        return RecordDamage.ANOTHER_MESSAGE
    if sys_flag & HOST_FLAGS:
        frame = _FRAMES[sys_flag & HOST_FLAGS]
        body_at = position + frame.size
        body_size = frame.unpack_from(view, position)[-1] if body_at <= len(view) else -1
    topic_at = body_at + body_size
    if body_size < 0 or topic_at >= end:
        return RecordDamage.LENGTHS
    if check_crc and zlib.crc32(view[body_at:topic_at]) & 0x7FFFFFFF != crc:
        return RecordDamage.BODY
    return _damage_behind_body(bytes(view[topic_at:end]), queue.topic_block if queue is not None else None)


def _damage_behind_body(rest: bytes, topic_block: bytes | None) -> RecordDamage | None:
    """Return what is wrong with the topic or the length of the properties; None if nothing is."""
    topic_size = 1 + rest[0]
    properties_at = topic_size + PROPERTIES_LENGTH.size
    if len(rest) < properties_at or int.from_bytes(rest[topic_size:properties_at], "big") != len(rest) - properties_at:
        return RecordDamage.LENGTHS
    if topic_block is None:
        return None if rest[1:topic_size].isascii() else RecordDamage.TOPIC
    return None if rest.startswith(topic_block) else RecordDamage.ANOTHER_MESSAGE


def may_lack_sector(record: bytes, position: int, following: bytes = b"") -> bool:
    """Return whether a crash of the machine may have erased part of the properties of ``record``.

    ``record`` is a good message that begins at ``position`` of its file; ``following`` are the bytes after it in its
    last sector.

    A disk writes a sector whole or not at all, and what it has not written reads as zeros up to the sector's end. So
    the end of each sector is examined. Properties may also contain zeros: other evidence that the message was on disk
    takes precedence.
    """
    (sys_flag,) = SYSTEM_FLAG.unpack_from(record)
    frame = _FRAMES[sys_flag & HOST_FLAGS]
    topic_at = frame.size + frame.unpack_from(record)[-1]
    properties_at = topic_at + 1 + record[topic_at] + PROPERTIES_LENGTH.size
    properties = record[properties_at:]
    if 0 not in properties:
        return False
    first_end = -(position + properties_at + 1) % _SECTOR_BYTES
    return (properties[-1] == 0 and not following.strip(b"\0")) or 0 in properties[first_end::_SECTOR_BYTES]


def rest_of_sector(position: int) -> int:
    """Return how many bytes are between ``position`` of a file and the end of the sector that contains the byte before
    it.
    """
    return -position % _SECTOR_BYTES

"""What the store vouches for when a message leaves it (RocketMQ: ``CommitLog.checkMessageAndReturnSize``).

RocketMQ checks a message when it recovers and sends later whatever its consume queues point to. Here each one is
checked on its way out: that it lies where it says, that it is the one asked for, that its lengths add up to its size,
that its body has its CRC, and that no disk sector of its properties is lost, which reads as zeros. Properties that are
not UTF-8 are the sender's. What the format has no check for (a time stamp, a flag, a letter of a property) may still
have changed.
"""

from __future__ import annotations

import zlib
from enum import Enum
from typing import Final

from engine.protocol.message.record_layout import HOST_FLAGS, MESSAGE_MAGIC, PROPERTIES_LENGTH, fields_at
from engine.store.queues.consume_queue import ConsumeQueue

_FRAMES: Final = fields_at(
    "size", "magic", "crc", "queue_id", "queue_offset", "commit_log_offset", "sys_flag", "body_length"
)
_FRAME: Final = _FRAMES[0]
#: What a disk writes whole or not at all.
_SECTOR_BYTES: Final = 512


class Damage(Enum):
    """Why a message is not sent. The first two may also be the fault of the consume-queue entry that led to it."""

    NO_MESSAGE = "no message of that size lies there"
    ANOTHER_MESSAGE = (
        "it says that it is another message: its topic, queue id or queue offset are not those of the queue"
    )
    LENGTHS = "its lengths do not add up to its size"
    BODY = "its body does not have its CRC"
    PROPERTIES = "its topic cannot be read, or a disk sector of its properties is lost"


def damage_of(
    view: bytes | memoryview,
    position: int,
    size: int,
    commit_log_offset: int,
    queue: ConsumeQueue | None = None,
    queue_offset: int = 0,
    *,
    check_crc: bool = True,
) -> Damage | None:
    """What is wrong with the message of ``size`` bytes at ``position`` of ``view``, which belongs to
    ``commit_log_offset`` and, where ``queue`` is given, is its message ``queue_offset``; None: it may be sent.
    """
    end = position + size
    body_at = position + _FRAME.size
    if position < 0 or body_at > len(view) or end > len(view):
        return Damage.NO_MESSAGE
    found_size, magic, crc, queue_id, found_offset, place, sys_flag, body_size = _FRAME.unpack_from(view, position)
    if found_size != size or magic != MESSAGE_MAGIC or place != commit_log_offset:
        return Damage.NO_MESSAGE
    if queue is not None and (found_offset != queue_offset or queue_id != queue.queue_id):
        return Damage.ANOTHER_MESSAGE
    if sys_flag & HOST_FLAGS:
        frame = _FRAMES[sys_flag & HOST_FLAGS]
        body_at = position + frame.size
        body_size = frame.unpack_from(view, position)[-1] if body_at <= len(view) else -1
    topic_at = body_at + body_size
    if body_size < 0 or topic_at >= end:
        return Damage.LENGTHS
    if check_crc and zlib.crc32(view[body_at:topic_at]) & 0x7FFFFFFF != crc:
        return Damage.BODY
    rest = bytes(view[topic_at:end])
    return _damage_behind_body(rest, queue.topic_block if queue is not None else None, commit_log_offset + size)


def _damage_behind_body(rest: bytes, topic_block: bytes | None, end_offset: int) -> Damage | None:
    """The same of the topic, the length of the properties and the properties, which end at ``end_offset``."""
    topic_size = 1 + rest[0]
    properties_at = topic_size + PROPERTIES_LENGTH.size
    if len(rest) < properties_at or int.from_bytes(rest[topic_size:properties_at], "big") != len(rest) - properties_at:
        return Damage.LENGTHS
    if topic_block is None:
        if not rest[1:topic_size].isascii():
            return Damage.PROPERTIES
    elif not rest.startswith(topic_block):
        return Damage.ANOTHER_MESSAGE
    properties = rest[properties_at:]
    is_lost = 0 in properties and _lacks_sector(properties, end_offset - len(properties))
    return Damage.PROPERTIES if is_lost else None


def _lacks_sector(data: bytes, offset: int) -> bool:
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

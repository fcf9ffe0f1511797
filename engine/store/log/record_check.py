"""What the store vouches for when a message leaves it (RocketMQ: ``CommitLog.checkMessageAndReturnSize``).

RocketMQ checks a message when it recovers and sends later whatever its consume queues point to. Here each one is
checked on its way out: that it lies where it says, that it is the one asked for, that its lengths add up to its size,
that its body has its CRC, and that its properties can be read. What the format has no check for (a time stamp, a flag,
a letter of a property) may still have changed.
"""

from __future__ import annotations

import struct
import zlib
from enum import Enum

from engine.protocol.message.message_codec import MESSAGE_MAGIC
from engine.protocol.system_flags import BORN_HOST_V6, STORE_HOST_V6
from engine.store.log.stored_record import lacks_sector
from engine.store.queues.consume_queue import ConsumeQueue

#: total size, magic, CRC, queue id, (flag), queue offset, physical offset, system flag, (times and hosts), body length.
_FRAME = struct.Struct(">iiIi4xqqi44xi")
_LENGTH = struct.Struct(">i")
_IPV6_EXTRA_BYTES = 12
_IPV6_HOSTS = BORN_HOST_V6 | STORE_HOST_V6


#: total size, magic, queue id, queue offset, physical offset: what a message is known by.
IDENTITY = struct.Struct(">ii4xi4xqq")


class Damage(Enum):
    """Why a message is not sent. The first two may also be the fault of the consume-queue entry that led to it."""

    NO_MESSAGE = "no message of that size lies there"
    ANOTHER_MESSAGE = (
        "it says that it is another message: its topic, queue id or queue offset are not those of the queue"
    )
    LENGTHS = "its lengths do not add up to its size"
    BODY = "its body does not have its CRC"
    PROPERTIES = "its topic or its properties cannot be read"


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
    if sys_flag & _IPV6_HOSTS:
        body_at, body_size = _body_behind_ipv6(view, position, sys_flag)
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
    properties_at = topic_size + 2
    if len(rest) < properties_at or int.from_bytes(rest[topic_size:properties_at], "big") != len(rest) - properties_at:
        return Damage.LENGTHS
    if topic_block is None:
        if not rest[1:topic_size].isascii():
            return Damage.PROPERTIES
    elif not rest.startswith(topic_block):
        return Damage.ANOTHER_MESSAGE
    properties = rest[properties_at:]
    if properties.isascii() and b"\0" not in properties:
        return None
    return None if _can_be_read(properties, end_offset - len(properties)) else Damage.PROPERTIES


def queue_place_of(record: bytes) -> tuple[str, int, int]:
    """Topic, queue id and queue offset of a message that was found good."""
    _, _, _, queue_id, queue_offset, _, sys_flag, body_size = _FRAME.unpack_from(record)
    body_at = _FRAME.size
    if sys_flag & _IPV6_HOSTS:
        body_at, body_size = _body_behind_ipv6(record, 0, sys_flag)
    topic_at = body_at + body_size + 1
    return record[topic_at : topic_at + record[topic_at - 1]].decode("ascii"), queue_id, queue_offset


def _body_behind_ipv6(view: bytes | memoryview, position: int, sys_flag: int) -> tuple[int, int]:
    """Where the body begins and its size, which is -1 where the hosts alone reach over the end."""
    body_at = position + _FRAME.size + _IPV6_EXTRA_BYTES * (sys_flag & _IPV6_HOSTS).bit_count()
    return body_at, _LENGTH.unpack_from(view, body_at - _LENGTH.size)[0] if body_at <= len(view) else -1


def _can_be_read(properties: bytes, commit_log_offset: int) -> bool:
    try:
        properties.decode()
    except UnicodeDecodeError:
        return False
    return not lacks_sector(properties, commit_log_offset)

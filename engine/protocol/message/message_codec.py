"""The form in which a message lies in the commit log and travels in a pull reply (``MessageDecoder``).

Big-endian; offsets for IPv4 hosts (each IPv6 host adds 12 bytes)::

     0 int32 total size              40 int64 born timestamp          84 int32 body length n
     4 int32 magic 0xDAA320A7        48 8     born host ip, port      88 n     body
     8 int32 CRC-32 of the body      56 int64 store timestamp       88+n int8  topic length t
    12 int32 queue id                64 8     store host ip, port   89+n t     topic
    16 int32 flag                    72 int32 reconsume times         .. int16 properties length p
    20 int64 queue offset            76 int64 prepared transaction    .. p     properties
    28 int64 physical offset                  offset
    36 int32 system flag

The last message of a commit-log file is followed by a blank: its remaining size and :data:`BLANK_MAGIC`.
"""

from __future__ import annotations

import struct
import zlib

from engine.protocol.errors import MalformedMessage
from engine.protocol.message.addresses import decode_host, encode_host
from engine.protocol.message.compression import decompress_body
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_properties import PROPERTIES_MAX_BYTES, decode_properties, encode_properties
from engine.protocol.system_flags import (
    BORN_HOST_V6,
    COMPRESSION_TYPE_MASK,
    MESSAGE_COMPRESSED,
    STORE_HOST_V6,
)

#: Marks a message (0xDAA320A7 as a signed integer).
MESSAGE_MAGIC = -626_843_481
#: Marks the unused end of a commit-log file (0xCBD43194).
BLANK_MAGIC = -875_286_124

#: Size of a message with IPv4 hosts and no body, topic or properties.
FIXED_SIZE_BYTES = 91
#: Room that a commit-log file must keep after a message for the blank's size and magic.
BLANK_MIN_SIZE_BYTES = 8

SIZE_POSITION = 0
MAGIC_POSITION = 4
CRC_POSITION = 8
QUEUE_ID_POSITION = 12
QUEUE_OFFSET_POSITION = 20
PHYSICAL_OFFSET_POSITION = 28
SYSTEM_FLAG_POSITION = 36
BORN_HOST_POSITION = 48

_HEAD = struct.Struct(">iiIiiqqiq")  # total size ... born timestamp
_AFTER_BORN_HOST = struct.Struct(">q")
_AFTER_STORE_HOST = struct.Struct(">iqi")  # reconsume times, prepared transaction offset, body length
#: Everything before the body for IPv4 hosts, in one go: most messages take this way.
_FIXED_IPV4 = struct.Struct(">iiIiiqqiq8sq8siqi")
_SIZE_AND_MAGIC = struct.Struct(">ii")
_PROPERTIES_LENGTH = struct.Struct(">H")

_IPV4_HOST_BYTES = 8
_IPV6_HOST_BYTES = 20


def body_crc(body: bytes) -> int:
    """CRC-32 of ``body`` without the sign bit, as RocketMQ stores it."""
    return zlib.crc32(body) & 0x7FFFFFFF


def encode_stored_parts(
    *,
    topic: bytes,
    body: bytes,
    properties: bytes,
    queue_id: int,
    flag: int,
    queue_offset: int,
    physical_offset: int,
    sys_flag: int,
    born_timestamp: int,
    born_host: bytes,
    store_timestamp: int,
    store_host: bytes,
    reconsume_times: int,
    prepared_transaction_offset: int,
) -> bytes:
    """The stored form of a message whose parts are bytes already. The store's fast way.

    ``sys_flag`` must tell whether the hosts are IPv6. Raises :class:`MalformedMessage` when a part does not fit its
    length field.
    """
    if len(topic) > 127 or len(properties) > PROPERTIES_MAX_BYTES:
        raise MalformedMessage(
            f"topic of {len(topic)} bytes (at most 127), properties of {len(properties)} bytes "
            f"(at most {PROPERTIES_MAX_BYTES})"
        )
    head_bytes = 72 + len(born_host) + len(store_host)
    total = head_bytes + len(body) + 1 + len(topic) + 2 + len(properties)
    crc = zlib.crc32(body) & 0x7FFFFFFF
    if head_bytes == 88:
        fixed = _FIXED_IPV4.pack(
            total,
            MESSAGE_MAGIC,
            crc,
            queue_id,
            flag,
            queue_offset,
            physical_offset,
            sys_flag,
            born_timestamp,
            born_host,
            store_timestamp,
            store_host,
            reconsume_times,
            prepared_transaction_offset,
            len(body),
        )
    else:
        fixed = b"".join(
            (
                _HEAD.pack(
                    total,
                    MESSAGE_MAGIC,
                    crc,
                    queue_id,
                    flag,
                    queue_offset,
                    physical_offset,
                    sys_flag,
                    born_timestamp,
                ),
                born_host,
                _AFTER_BORN_HOST.pack(store_timestamp),
                store_host,
                _AFTER_STORE_HOST.pack(reconsume_times, prepared_transaction_offset, len(body)),
            )
        )
    return b"".join((fixed, body, bytes((len(topic),)), topic, _PROPERTIES_LENGTH.pack(len(properties)), properties))


def encode_stored_message(message: MessageExt, properties_text: str | None = None) -> bytes:
    """The stored form of ``message``: what :func:`decode_stored_message` reads.

    ``properties_text`` replaces the text made from ``message.properties`` (old clients end it with a separator).
    """
    text = encode_properties(message.properties) if properties_text is None else properties_text
    return encode_stored_parts(
        topic=message.topic.encode(),
        body=message.body,
        properties=text.encode(),
        queue_id=message.queue_id,
        flag=message.flag,
        queue_offset=message.queue_offset,
        physical_offset=message.commit_log_offset,
        sys_flag=message.sys_flag,
        born_timestamp=message.born_timestamp,
        born_host=encode_host(message.born_host),
        store_timestamp=message.store_timestamp,
        store_host=encode_host(message.store_host),
        reconsume_times=message.reconsume_times,
        prepared_transaction_offset=message.prepared_transaction_offset,
    )


def peek_stored_message(buffer: bytes | bytearray | memoryview, position: int = 0) -> tuple[int, int]:
    """``(total size, magic)`` of what starts at ``position``; ``(0, 0)`` where fewer than 8 bytes are left."""
    if position + _SIZE_AND_MAGIC.size > len(buffer):
        return 0, 0
    size, magic = _SIZE_AND_MAGIC.unpack_from(buffer, position)
    return size, magic


def decode_stored_message(
    buffer: bytes | bytearray | memoryview,
    position: int = 0,
    *,
    check_crc: bool = True,
    decompress: bool = False,
) -> MessageExt:
    """The message whose stored form starts at ``position`` of ``buffer``.

    With ``decompress`` the body is the sender's and the compression bits of ``sys_flag`` are cleared. Raises
    :class:`MalformedMessage` that says what does not fit.
    """
    size, magic = peek_stored_message(buffer, position)
    if magic != MESSAGE_MAGIC:
        raise MalformedMessage(f"no message at {position}: magic {magic & 0xFFFFFFFF:#010x}")
    if size < FIXED_SIZE_BYTES or position + size > len(buffer):
        raise MalformedMessage(f"message at {position} says {size} bytes, {len(buffer) - position} are there")
    data = bytes(buffer[position : position + size])
    try:
        message = _decode_whole(data)
    except (struct.error, IndexError, UnicodeDecodeError, ValueError) as error:
        raise MalformedMessage(f"message at {position} does not fit its own size {size}: {error}") from error
    if check_crc and body_crc(message.body) != message.body_crc:
        raise MalformedMessage(
            f"message at {position}: its body's CRC is {body_crc(message.body)}, {message.body_crc} was stored"
        )
    if decompress and message.sys_flag & MESSAGE_COMPRESSED:
        message.body = decompress_body(message.body, message.sys_flag)
        message.sys_flag &= ~(MESSAGE_COMPRESSED | COMPRESSION_TYPE_MASK)
    return message


def _decode_whole(data: bytes) -> MessageExt:
    (_, _, crc, queue_id, flag, queue_offset, physical_offset, sys_flag, born_timestamp) = _HEAD.unpack_from(data)
    at = _HEAD.size
    born_host_end = at + (_IPV6_HOST_BYTES if sys_flag & BORN_HOST_V6 else _IPV4_HOST_BYTES)
    born_host = decode_host(data[at:born_host_end])
    (store_timestamp,) = _AFTER_BORN_HOST.unpack_from(data, born_host_end)
    at = born_host_end + _AFTER_BORN_HOST.size
    store_host_end = at + (_IPV6_HOST_BYTES if sys_flag & STORE_HOST_V6 else _IPV4_HOST_BYTES)
    store_host = decode_host(data[at:store_host_end])
    reconsume_times, prepared_offset, body_length = _AFTER_STORE_HOST.unpack_from(data, store_host_end)
    at = store_host_end + _AFTER_STORE_HOST.size
    if not 0 <= body_length <= len(data) - at - 3:
        raise ValueError(f"body length {body_length}")
    body = data[at : at + body_length]
    at += body_length
    topic_end = at + 1 + data[at]
    topic = data[at + 1 : topic_end].decode()
    (properties_length,) = _PROPERTIES_LENGTH.unpack_from(data, topic_end)
    properties_start = topic_end + _PROPERTIES_LENGTH.size
    if properties_start + properties_length != len(data):
        raise ValueError(f"properties length {properties_length}")
    return MessageExt(
        topic=topic,
        body=body,
        properties=decode_properties(data[properties_start:].decode()),
        queue_id=queue_id,
        queue_offset=queue_offset,
        commit_log_offset=physical_offset,
        born_timestamp=born_timestamp,
        born_host=born_host,
        store_timestamp=store_timestamp,
        store_host=store_host,
        flag=flag,
        sys_flag=sys_flag,
        reconsume_times=reconsume_times,
        prepared_transaction_offset=prepared_offset,
        store_size=len(data),
        body_crc=crc,
    )


def stored_properties_text(data: bytes | memoryview) -> str:
    """The property string of one stored message, letter for letter (``data`` holds exactly that message)."""
    whole = bytes(data)
    (sys_flag,) = struct.unpack_from(">i", whole, SYSTEM_FLAG_POSITION)
    at = 72
    at += _IPV6_HOST_BYTES if sys_flag & BORN_HOST_V6 else _IPV4_HOST_BYTES
    at += _IPV6_HOST_BYTES if sys_flag & STORE_HOST_V6 else _IPV4_HOST_BYTES
    (body_length,) = struct.unpack_from(">i", whole, at - 4)
    at += body_length
    at += 1 + whole[at]
    return whole[at + _PROPERTIES_LENGTH.size :].decode()


def decode_messages(data: bytes, *, decompress: bool = True) -> list[MessageExt]:
    """All messages of a pull, view or query reply: stored forms one after the other."""
    messages = []
    position = 0
    while position < len(data):
        message = decode_stored_message(data, position, decompress=decompress)
        messages.append(message)
        position += message.store_size
    return messages

"""The codec of stored messages, as they are in the commit log and in pull replies (``MessageDecoder``).

The layout is drawn in :mod:`engine.protocol.message.record_layout`.
"""

from __future__ import annotations

import struct

from engine.protocol.byte_strings import BytesWriter
from engine.protocol.errors import MalformedMessage
from engine.protocol.java_text import java_text
from engine.protocol.message.addresses import decode_host, encode_host
from engine.protocol.message.compression import decompress_body
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_properties import PROPERTIES_MAX_BYTES, decode_properties, encode_properties
from engine.protocol.message.record_layout import (
    FIXED_PART,
    FIXED_SIZE_BYTES,
    HOST_FLAGS,
    IDENTITY,
    MESSAGE_MAGIC,
    PROPERTIES_LENGTH,
    SIZE_AND_MAGIC,
    SYSTEM_FLAG,
)
from engine.protocol.message.record_writer import body_crc, envelope_size, host_flags, write_record
from engine.protocol.system_flags import COMPRESSION_TYPE_MASK, MESSAGE_COMPRESSED


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
    """Encode a message whose parts are bytes already.

    ``sys_flag`` must say whether the hosts are IPv6. Raises :class:`MalformedMessage` when a part does not fit its
    length field.
    """
    if len(topic) > 127 or len(properties) > PROPERTIES_MAX_BYTES:
        raise MalformedMessage(
            f"topic of {len(topic)} bytes (at most 127), properties of {len(properties)} bytes "
            f"(at most {PROPERTIES_MAX_BYTES})"
        )
    topic_block = bytes((len(topic),)) + topic
    writer = BytesWriter()
    write_record(
        writer,
        envelope_size(host_flags(born_host, store_host), topic_block) + len(body) + len(properties),
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
        body,
        topic_block,
        properties,
    )
    return writer.getvalue()


def encode_stored_message(message: MessageExt, properties_text: str | None = None) -> bytes:
    """Encode ``message`` in the form that :func:`decode_stored_message` reads.

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
    """Return ``(total size, magic)`` of the record at ``position``; ``(0, 0)`` if fewer than 8 bytes are left."""
    if position + SIZE_AND_MAGIC.size > len(buffer):
        return 0, 0
    size, magic = SIZE_AND_MAGIC.unpack_from(buffer, position)
    return size, magic


def decode_stored_message(
    buffer: bytes | bytearray | memoryview,
    position: int = 0,
    *,
    check_crc: bool = True,
    decompress: bool = False,
) -> MessageExt:
    """Decode the message whose stored form starts at ``position`` of ``buffer``.

    With ``decompress`` the body is decompressed and the compression bits of ``sys_flag`` are cleared. Raises
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
    except (struct.error, IndexError, ValueError) as error:
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
    (sys_flag,) = SYSTEM_FLAG.unpack_from(data)
    layout = FIXED_PART[sys_flag & HOST_FLAGS]
    (
        _,
        _,
        crc,
        queue_id,
        flag,
        queue_offset,
        physical_offset,
        _,
        born_timestamp,
        born_host,
        store_timestamp,
        store_host,
        reconsume_times,
        prepared_offset,
        body_length,
    ) = layout.unpack_from(data)
    body_end = layout.size + body_length
    if not layout.size <= body_end <= len(data) - 3:
        raise ValueError(f"body length {body_length}")
    topic_end = body_end + 1 + data[body_end]
    (properties_length,) = PROPERTIES_LENGTH.unpack_from(data, topic_end)
    properties_start = topic_end + PROPERTIES_LENGTH.size
    if properties_start + properties_length != len(data):
        raise ValueError(f"properties length {properties_length}")
    return MessageExt(
        topic=java_text(data[body_end + 1 : topic_end]),
        body=data[layout.size : body_end],
        properties=decode_properties(java_text(data[properties_start:])),
        queue_id=queue_id,
        queue_offset=queue_offset,
        commit_log_offset=physical_offset,
        born_timestamp=born_timestamp,
        born_host=decode_host(born_host),
        store_timestamp=store_timestamp,
        store_host=decode_host(store_host),
        flag=flag,
        sys_flag=sys_flag,
        reconsume_times=reconsume_times,
        prepared_transaction_offset=prepared_offset,
        store_size=len(data),
        body_crc=crc,
    )


def stored_properties_text(data: bytes | memoryview) -> str:
    """Return the property string of one stored message (``data`` holds exactly that message)."""
    whole = bytes(data)
    (sys_flag,) = SYSTEM_FLAG.unpack_from(whole)
    layout = FIXED_PART[sys_flag & HOST_FLAGS]
    topic_at = layout.size + layout.unpack_from(whole)[-1]
    return java_text(whole[topic_at + 1 + whole[topic_at] + PROPERTIES_LENGTH.size :])


def decode_messages(data: bytes, *, decompress: bool = True, bodies_max_bytes: int = 0) -> list[MessageExt]:
    """Decode all messages of a pull, view or query reply: stored forms one after the other.

    A message that cannot be decoded does not hide the others: it comes with its position, and ``unreadable`` says why.
    The list ends where no message begins, and after the message with which the bodies together exceed
    ``bodies_max_bytes`` (0: no limit). Raises :class:`MalformedMessage` if the list would be empty though ``data`` is
    not.
    """
    messages: list[MessageExt] = []
    position = bodies_bytes = 0
    while position < len(data):
        try:
            message = decode_stored_message(data, position, decompress=decompress)
        except MalformedMessage as error:
            size, magic = peek_stored_message(data, position)
            if magic != MESSAGE_MAGIC or not FIXED_SIZE_BYTES <= size <= len(data) - position:
                if messages:
                    break
                raise
            message = _unreadable(data[position : position + size], str(error))
        messages.append(message)
        position += message.store_size
        bodies_bytes += len(message.body)
        if bodies_bytes > bodies_max_bytes > 0:
            break
    return messages


def message_without_content(queue_id: int, queue_offset: int, commit_log_offset: int, why: str) -> MessageExt:
    """Return a placeholder, without a topic, for a message of which only the position can be read."""
    nowhere = "0.0.0.0:0"
    return MessageExt(
        topic="",
        body=b"",
        properties={},
        queue_id=queue_id,
        queue_offset=queue_offset,
        commit_log_offset=commit_log_offset,
        born_timestamp=0,
        born_host=nowhere,
        store_timestamp=0,
        store_host=nowhere,
        unreadable=why,
    )


def _unreadable(record: bytes, why: str) -> MessageExt:
    try:
        message = _decode_whole(record)
    except (struct.error, IndexError, ValueError):
        # Its lengths do not fit, but its position precedes all fields that they move.
        size, _, queue_id, queue_offset, commit_log_offset = IDENTITY.unpack_from(record)
        message = message_without_content(queue_id, queue_offset, commit_log_offset, why)
        message.store_size = size
    message.unreadable = why
    return message

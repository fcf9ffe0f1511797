"""The body of a batch send (``MessageDecoder.encodeMessages``). Per message, one after the other::

    int32 total size | int32 magic 0 | int32 CRC 0 | int32 flag | int32 body length | body | int16 p | properties

All messages share one topic, which travels in the header. The broker stores each as an ordinary message.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final

from engine.protocol.byte_strings import read_i32_be
from engine.protocol.errors import MalformedMessage
from engine.protocol.message.message import Message
from engine.protocol.message.message_properties import PROPERTIES_MAX_BYTES, encode_properties

_HEAD: Final = struct.Struct(">iiiii")
_PROPERTIES_LENGTH: Final = struct.Struct(">H")
_FLAG_AT: Final = 12
_BODY_LENGTH_AT: Final = 16
_HEAD_BYTES: Final = 20
_PROPERTIES_LENGTH_BYTES: Final = 2
_OVERHEAD_BYTES: Final = 22
assert (_HEAD.size, _PROPERTIES_LENGTH.size) == (_HEAD_BYTES, _PROPERTIES_LENGTH_BYTES)


#: One message of a batch as the broker receives it: flag, body, properties.
BatchedMessage = tuple[int, bytes, bytes]


def encode_batched_message(flag: int, body: bytes, properties: bytes) -> bytes:
    """Encode one message of a batch. Raises :class:`MalformedMessage` if the properties are too long."""
    if len(properties) > PROPERTIES_MAX_BYTES:
        raise MalformedMessage(f"properties of {len(properties)} bytes; allowed: {PROPERTIES_MAX_BYTES}")
    total = _OVERHEAD_BYTES + len(body) + len(properties)
    head = _HEAD.pack(total, 0, 0, flag, len(body))
    return b"".join((head, body, _PROPERTIES_LENGTH.pack(len(properties)), properties))


def encode_batch(messages: Iterable[Message]) -> bytes:
    """Encode ``messages`` as the body of a batch. Raises :class:`MalformedMessage` if properties are too long."""
    return b"".join(
        [
            encode_batched_message(message.flag, message.body, encode_properties(message.properties).encode())
            for message in messages
        ]
    )


def decode_batch(data: bytes) -> list[BatchedMessage]:
    """Decode the messages of a batch body, at least one. Raises :class:`MalformedMessage`."""
    messages: list[BatchedMessage] = []
    position = 0
    end = len(data)
    while position < end:
        if end - position < _OVERHEAD_BYTES:
            raise MalformedMessage(f"{end - position} bytes left over after message {len(messages)} of the batch")
        total, flag = read_i32_be(data, position), read_i32_be(data, position + _FLAG_AT)
        body_length = read_i32_be(data, position + _BODY_LENGTH_AT)
        body_start = position + _HEAD_BYTES
        body_end = body_start + body_length
        properties_start = body_end + _PROPERTIES_LENGTH_BYTES
        if body_length < 0 or properties_start > end:
            raise MalformedMessage(f"message {len(messages)} of the batch has an impossible body length {body_length}")
        properties_length = data[body_end] << 8 | data[body_end + 1]
        next_position = properties_start + properties_length
        if next_position > end or next_position - position != total:
            raise MalformedMessage(f"message {len(messages)} of the batch says {total} bytes, its parts say otherwise")
        messages.append((flag, data[body_start:body_end], data[properties_start:next_position]))
        position = next_position
    if not messages:
        raise MalformedMessage("the batch is empty")
    return messages

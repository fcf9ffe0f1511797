"""Integers of variable length (Kafka: ``ByteUtils``, after Protocol Buffers).

Each byte holds seven bits, the lowest first; the top bit says that another byte follows. Signed numbers are folded so
that small ones stay short on both sides of zero ("zigzag")::

    0 -> 0, -1 -> 1, 1 -> 2, -2 -> 3, ...        300 -> 600 -> 1101 1000  0000 0100
"""

from __future__ import annotations

from engine.kafka.records.error_code import KafkaErrorCode, KafkaRefusal

#: A 64-bit number takes at most 10 bytes.
VARINT_MAX_BYTES = 10

_INT64_MIN, _INT64_MAX = -(1 << 63), (1 << 63) - 1


def encode_unsigned_varint(value: int) -> bytes:
    """Encode ``value``, from 0 to 2^64 - 1."""
    assert 0 <= value < 1 << 64, f"{value} does not fit into 64 bits"
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


#: Nearly all numbers in a record are lengths and differences of this size.
_SHORT_MIN, _SHORT_MAX = -2_048, 2_047
_SHORT = tuple(
    encode_unsigned_varint((value << 1) ^ (value >> 63)) for value in (*range(_SHORT_MAX + 1), *range(_SHORT_MIN, 0))
)


def encode_varint(value: int) -> bytes:
    """Encode ``value``, a signed 64-bit number."""
    if _SHORT_MIN <= value <= _SHORT_MAX:
        return _SHORT[value]
    assert _INT64_MIN <= value <= _INT64_MAX, f"{value} does not fit into 64 bits"
    return encode_unsigned_varint((value << 1) ^ (value >> 63))


def decode_unsigned_varint(data: bytes | memoryview, position: int) -> tuple[int, int]:
    """Return the number at ``position`` and the position after it. Raises :class:`KafkaRefusal`, CORRUPT_MESSAGE."""
    value = shift = 0
    for place in range(position, min(position + VARINT_MAX_BYTES, len(data))):
        byte = data[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >= 1 << 64:
                break
            return value, place + 1
        shift += 7
    raise KafkaRefusal(
        KafkaErrorCode.CORRUPT_MESSAGE,
        f"no variable-length number at byte {position} of {len(data)}: it ends within {VARINT_MAX_BYTES} bytes",
    )


def decode_varint(data: bytes | memoryview, position: int) -> tuple[int, int]:
    """Decode as :func:`decode_unsigned_varint` does, for a signed number."""
    if position < len(data) and (byte := data[position]) < 0x80:
        return (byte >> 1) ^ -(byte & 1), position + 1
    folded, end = decode_unsigned_varint(data, position)
    return (folded >> 1) ^ -(folded & 1), end

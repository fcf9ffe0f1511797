"""A record, Kafka's name for a message (Kafka: ``DefaultRecord``).

Layout inside a batch, all numbers but the attributes of variable length::

    | length | attributes (1 byte, unused) | timestamp delta | offset delta |
    | key length (-1: none) | key | value length (-1: none) | value |
    | header count | per header: key length, key, value length (-1: none), value |
"""

from __future__ import annotations

from typing import NamedTuple

from engine.kafka.records.error_code import KafkaErrorCode, KafkaRefusal
from engine.kafka.records.varint import decode_varint, encode_varint


class Record(NamedTuple):
    """A record of a partition.

    :ivar timestamp_ms: since 1970. ``value`` None is a tombstone of a compacted topic.
    """

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()


_NO_BYTES = encode_varint(-1)


def encode_record(record: Record, offset_delta: int, timestamp_delta_ms: int) -> bytes:
    """Encode a record with its length."""
    _, _, key, value, headers = record
    parts = [
        b"\0",
        encode_varint(timestamp_delta_ms),
        encode_varint(offset_delta),
        *((_NO_BYTES,) if key is None else (encode_varint(len(key)), key)),
        *((_NO_BYTES,) if value is None else (encode_varint(len(value)), value)),
        encode_varint(len(headers)),
    ]
    for name, content in headers:
        encoded_name = name.encode()
        parts += (encode_varint(len(encoded_name)), encoded_name)
        parts += (_NO_BYTES,) if content is None else (encode_varint(len(content)), content)
    body = b"".join(parts)
    return encode_varint(len(body)) + body


def decode_record(data: bytes, position: int, base_offset: int, base_timestamp_ms: int) -> tuple[Record, int]:
    """Decode the record at ``position``; return it and the position after it. Raises :class:`KafkaRefusal`."""
    length, start = decode_varint(data, position)
    end = start + length
    if length < 1 or end > len(data):
        raise damaged(f"a record at byte {position} claims {length} bytes of {len(data) - start}")
    timestamp_delta_ms, place = decode_varint(data, start + 1)
    offset_delta, place = decode_varint(data, place)
    key, place = _decode_bytes(data, place, end)
    value, place = _decode_bytes(data, place, end)
    header_count, place = decode_varint(data, place)
    headers: tuple[tuple[str, bytes | None], ...] = ()
    if header_count:
        headers, place = _decode_headers(data, place, end, header_count)
    if place != end:
        raise damaged(f"a record at byte {position} of {length} bytes ends at byte {place - start}")
    return Record(base_offset + offset_delta, base_timestamp_ms + timestamp_delta_ms, key, value, headers), end


def _decode_headers(data: bytes, place: int, end: int, count: int) -> tuple[tuple[tuple[str, bytes | None], ...], int]:
    if not 0 <= count <= end - place:
        raise damaged(f"a record at byte {place} claims {count} headers")
    headers = []
    for _ in range(count):
        name, place = _decode_bytes(data, place, end)
        content, place = _decode_bytes(data, place, end)
        try:
            headers.append(((name or b"").decode(), content))
        except UnicodeDecodeError as error:
            raise damaged(f"the name of a header is not UTF-8: {name!r}") from error
    return tuple(headers), place


def _decode_bytes(data: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    length, start = decode_varint(data, position)
    if length < 0:
        return None, start
    if start + length > end:
        raise damaged(f"{length} bytes at byte {start} reach beyond the record's end at byte {end}")
    return data[start : start + length], start + length


def damaged(text: str) -> KafkaRefusal:
    """Return the error for bytes that are not a valid record."""
    return KafkaRefusal(KafkaErrorCode.CORRUPT_MESSAGE, text)

"""One stored record for display: a one-line summary, or every field with its byte range.

``engine/protocol/message/record_layout.py`` shows the layout. This module walks it field by field, because the page
marks the bytes of the field under the pointer.
"""

from __future__ import annotations

import re
import struct
import zlib
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from app.observation.unix_time import world_us
from engine.protocol.errors import MalformedMessage, ProtocolError
from engine.protocol.message.addresses import decode_host
from engine.protocol.message.compression import decompress_body
from engine.protocol.message.message_codec import decode_stored_message
from engine.protocol.message.message_properties import encode_properties
from engine.protocol.message.record_writer import body_crc
from engine.protocol.system_flags import (
    BORN_HOST_V6,
    COMPRESSION_LZ4,
    COMPRESSION_TYPE_MASK,
    COMPRESSION_ZSTD,
    MESSAGE_COMPRESSED,
    MESSAGE_MULTI_TAGS,
    STORE_HOST_V6,
    TRANSACTION_COMMIT_TYPE,
    TRANSACTION_MASK,
    TRANSACTION_PREPARED_TYPE,
    TRANSACTION_ROLLBACK_TYPE,
)
from engine.texts import Text

if TYPE_CHECKING:
    from app.picture.record import FieldText, QueueEntryView, RecordField, RecordSummary, RecordView, StoredRecord
    from engine.protocol.message.message import MessageExt

#: Characters of a body that a summary shows.
PREVIEW_CHARACTERS = 120
#: Bytes of a body (after decompression) that the detailed view sends to the page; the rest is counted only.
VIEW_BODY_MAX_BYTES = 64 * 1024
#: Bytes of the record that the detailed view sends as hex.
VIEW_HEX_MAX_BYTES = 64 * 1024

_QUEUE_ENTRY = struct.Struct(">qiq")
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def record_summary(raw: bytes) -> RecordSummary:
    """Return one line about the record in ``raw`` (the record's bytes, from TOTALSIZE to its last property).

    Its body is not checked against its CRC. Raises :class:`MalformedMessage` when the lengths do not fit.
    """
    return message_summary(decode_stored_message(raw, check_crc=False))


def stored_record(message: MessageExt, begin_ms: int = 0) -> StoredRecord:
    """Return what both pages show of a stored message whose body is still as stored (compressed where it was).

    :param begin_ms: time of the broker's clock at which the time of the picture begins.
    """
    return {
        "offset": message.commit_log_offset,
        "size_bytes": message.store_size,
        "topic": message.topic,
        "queue_id": message.queue_id,
        "queue_offset": message.queue_offset,
        "stored_us": world_us(message.store_timestamp, begin_ms),
        "tags": message.tags,
        "body_preview": _preview(message.body, message.sys_flag),
        "reconsume_times": message.reconsume_times,
    }


def message_summary(message: MessageExt, begin_ms: int = 0) -> RecordSummary:
    """Return one line about a stored message whose body is still as stored."""
    return {
        **stored_record(message, begin_ms),
        "born_us": world_us(message.born_timestamp, begin_ms),
        "born_host": message.born_host,
        "keys": list(message.keys),
        "unique_id": message.unique_id,
        "offset_message_id": message.offset_message_id,
        "body_bytes": len(message.body),
        "sys_flag": message.sys_flag,
        "properties_bytes": len(encode_properties(message.properties).encode()),
    }


def record_view(raw: bytes, begin_ms: int = 0) -> RecordView:
    """Return everything about one record: summary, fields with byte ranges, properties, body.

    ``raw`` is exactly the record. Raises :class:`MalformedMessage` when the lengths do not fit.
    """
    message = decode_stored_message(raw, check_crc=False)
    try:
        body, body_problem = decompress_body(message.body, message.sys_flag), None
    except ProtocolError as error:
        body, body_problem = message.body, str(error)
    return {
        "record": message_summary(message, begin_ms),
        "fields": record_fields(raw),
        "properties": dict(message.properties),
        "crc_matches": body_crc(message.body) == message.body_crc,
        "body_text": _text_or_none(body),
        "body_hex": body[:VIEW_BODY_MAX_BYTES].hex(),
        "body_bytes": len(body),
        "body_problem": body_problem,
        "hex": raw[:VIEW_HEX_MAX_BYTES].hex(),
        "hex_omitted_bytes": max(0, len(raw) - VIEW_HEX_MAX_BYTES),
    }


def queue_entry_view(entry: tuple[int, int, int]) -> QueueEntryView:
    """Return one consume-queue entry (commit-log offset, size, tags code) as its 20 bytes and three fields."""
    raw = _QUEUE_ENTRY.pack(*entry)
    walk = _FieldWalk(raw, "queue_entry.")
    walk.number("COMMITLOGOFFSET", ">q")
    walk.number("SIZE", ">i")
    walk.number("TAGSCODE", ">q")
    return {
        "offset": entry[0],
        "size_bytes": entry[1],
        "tags_code": str(entry[2]),
        "hex": raw.hex(),
        "fields": walk.fields,
    }


def field_text(layout: str, name: str) -> FieldText:
    """Return name and explanation of a field of a ``record.`` or a ``queue_entry.``. In English it has the name of
    RocketMQ's source (``CommitLog.MessageExtEncoder``, ``ConsumeQueue``).
    """
    title, explanation = Text(f"{layout}{name}.name"), Text(f"{layout}{name}.explanation")
    return {
        "name": title["en"],
        "name_zh": title["zh"],
        "explanation": explanation["en"],
        "explanation_zh": explanation["zh"],
    }


class _FieldWalk:
    """Reads ``raw`` from its start, one field after the other, and notes the position of each.

    :param layout: ``record.`` or ``queue_entry.``: the prefix of the texts of its fields.
    """

    def __init__(self, raw: bytes, layout: str) -> None:
        self.raw = raw
        self.layout = layout
        self.position = 0
        self.fields: list[RecordField] = []

    def add(self, name: str, length: int, value: str) -> None:
        """Note that the next ``length`` bytes are field ``name`` with ``value``. All values are texts: a browser's
        numbers are exact to 2**53 only.
        """
        text = field_text(self.layout, name)
        self.fields.append({**text, "start": self.position, "length": length, "value": value})
        self.position += length

    def peek(self, layout: str) -> int:
        value: int = struct.unpack_from(layout, self.raw, self.position)[0]
        return value

    def take(self, length: int) -> bytes:
        """Return the next ``length`` bytes, without moving on."""
        return self.raw[self.position : self.position + length]

    def number(self, name: str, layout: str) -> int:
        value = self.peek(layout)
        self.add(name, struct.calcsize(layout), str(value))
        return value

    def time(self, name: str) -> None:
        milliseconds = self.peek(">q")
        self.add(name, 8, f"{milliseconds} ({_utc_text(milliseconds)})")

    def host(self, name: str, *, is_ipv6: bool) -> None:
        length = 20 if is_ipv6 else 8
        self.add(name, length, decode_host(self.take(length)))

    def text(self, name: str, length: int) -> None:
        self.add(name, length, _visible(self.take(length).decode("utf-8", "replace")))


def record_fields(raw: bytes) -> list[RecordField]:
    """Return every field of one record with its position and its explanation. Raises :class:`MalformedMessage`."""
    walk = _FieldWalk(raw, "record.")
    walk.number("TOTALSIZE", ">i")
    walk.add("MAGICCODE", 4, f"0x{walk.peek('>I'):08X}")
    walk.add("BODYCRC", 4, f"0x{walk.peek('>I'):08X}")
    walk.number("QUEUEID", ">i")
    walk.number("FLAG", ">i")
    walk.number("QUEUEOFFSET", ">q")
    walk.number("PHYSICALOFFSET", ">q")
    sys_flag = walk.peek(">i")
    walk.add("SYSFLAG", 4, describe_system_flag(sys_flag))
    walk.time("BORNTIMESTAMP")
    walk.host("BORNHOST", is_ipv6=bool(sys_flag & BORN_HOST_V6))
    walk.time("STORETIMESTAMP")
    walk.host("STOREHOSTADDRESS", is_ipv6=bool(sys_flag & STORE_HOST_V6))
    walk.number("RECONSUMETIMES", ">i")
    walk.number("PREPAREDTRANSACTIONOFFSET", ">q")
    body_length = walk.number("BODYLENGTH", ">i")
    walk.add("BODY", body_length, _preview(walk.take(body_length), sys_flag))
    walk.text("TOPIC", walk.number("TOPICLENGTH", ">B"))
    walk.text("PROPERTIES", walk.number("PROPERTIESLENGTH", ">H"))
    if walk.position != len(raw):
        raise MalformedMessage(f"the fields end at byte {walk.position}, the record at {len(raw)}")
    return walk.fields


def describe_system_flag(sys_flag: int) -> str:
    """Return ``sysFlag`` in hexadecimal with the names of the bits that are set."""
    names = []
    if sys_flag & MESSAGE_COMPRESSED:
        algorithm = sys_flag & COMPRESSION_TYPE_MASK
        names.append(
            {COMPRESSION_LZ4: "compressed LZ4", COMPRESSION_ZSTD: "compressed ZSTD"}.get(algorithm, "compressed zlib")
        )
    if sys_flag & MESSAGE_MULTI_TAGS:
        names.append("multi tags")
    transaction = {
        TRANSACTION_PREPARED_TYPE: "transaction prepared",
        TRANSACTION_COMMIT_TYPE: "transaction commit",
        TRANSACTION_ROLLBACK_TYPE: "transaction rollback",
    }.get(sys_flag & TRANSACTION_MASK)
    if transaction is not None:
        names.append(transaction)
    if sys_flag & BORN_HOST_V6:
        names.append("born host IPv6")
    if sys_flag & STORE_HOST_V6:
        names.append("store host IPv6")
    return f"0x{sys_flag & 0xFFFFFFFF:X}" + (f" ({', '.join(names)})" if names else "")


def _preview(body: bytes, sys_flag: int) -> str:
    """Return the first characters of a body for one line. Never decompresses more than it shows."""
    head = body[: PREVIEW_CHARACTERS * 4]
    if sys_flag & MESSAGE_COMPRESSED:
        if sys_flag & COMPRESSION_TYPE_MASK in (COMPRESSION_LZ4, COMPRESSION_ZSTD):
            return ""
        try:
            head = zlib.decompressobj().decompress(body[:4096], PREVIEW_CHARACTERS * 4)
        except zlib.error:
            return ""
    text = head.decode("utf-8", "replace")[:PREVIEW_CHARACTERS]
    return _visible(text.rstrip("\ufffd") if len(head) < len(body) else text)


def _visible(text: str) -> str:
    """Return ``text`` with control characters as their Unicode pictures: visible, and harmless to the layout."""
    return _CONTROL_CHARACTERS.sub(lambda found: chr(0x2400 + ord(found[0])) if found[0] != "\x7f" else "\u2421", text)


def _text_or_none(body: bytes) -> str | None:
    """Return the body as text when it is UTF-8 and, apart from line breaks and tabs, without control characters."""
    shown = body[:VIEW_BODY_MAX_BYTES]
    try:
        text = shown.decode("utf-8")
    except UnicodeDecodeError as error:
        if len(shown) == len(body) or error.start < len(shown) - 3:
            return None
        text = shown[: error.start].decode("utf-8")  # the cut fell inside one character
    return None if _CONTROL_CHARACTERS.search(text.replace("\r\n", "\n")) else text


def _utc_text(milliseconds: int) -> str:
    try:
        moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (OverflowError, OSError, ValueError):
        return "no valid time"
    return moment.strftime("%Y-%m-%d %H:%M:%S.") + f"{milliseconds % 1000:03d} UTC"

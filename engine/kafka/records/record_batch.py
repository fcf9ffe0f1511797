"""A batch of records, the unit in which Kafka sends, stores, copies and compresses (Kafka: ``DefaultRecordBatch``,
magic 2).

Layout, big-endian; the checksum (CRC-32C) covers everything from the attributes on::

    0  base offset (8)            21 attributes (2)               43 producer id (8)
    8  length of what follows (4) 23 last offset delta (4)        51 producer epoch (2)
    12 leader epoch (4)           27 base timestamp, ms (8)       53 base sequence (4)
    16 magic (1)                  35 largest timestamp, ms (8)    57 count of records (4)
    17 checksum (4)                                               61 records, packed together if at all

Base offset and leader epoch, which a broker changes when it appends a batch, are outside the checksum's range, so the
broker needs neither to decompress the records nor to compute the checksum again. Attributes: bits 0 to 2 the codec, bit
3 the kind of timestamp (0: set by the producer), bit 4 part of a transaction, bit 5 control.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple

from engine.kafka.records.compression import Codec, compress, decompress
from engine.kafka.records.crc32c import crc32c
from engine.kafka.records.error_code import KafkaErrorCode, KafkaRefusal
from engine.kafka.records.record import Record, damaged, decode_record, encode_record

MAGIC = 2
HEADER = Struct(">qiibIhiqqqhii")
HEADER_BYTES = HEADER.size
#: Base offset and length, which ``batch_length`` does not count.
LENGTH_END_BYTES = 12
MAGIC_BYTE = 16
ATTRIBUTES_BYTE = 21
#: Limit of a batch's decompressed size: a hundred times the compressed size that one frame may carry.
UNPACKED_MAX_BYTES = 100 * 16 * 1024 * 1024

#: Bits of the attributes: part of a transaction; control batch.
TRANSACTIONAL, CONTROL = 0x10, 0x20
_PLACE = Struct(">qii")
_CODEC_BITS = 0b111


class BatchHeader(NamedTuple):
    """The header of a batch; without a producer id the last three fields are -1."""

    base_offset: int
    batch_length: int
    leader_epoch: int
    magic: int
    checksum: int
    attributes: int
    last_offset_delta: int
    base_timestamp_ms: int
    max_timestamp_ms: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size_bytes(self) -> int:
        """Return the size of the whole batch."""
        return LENGTH_END_BYTES + self.batch_length

    @property
    def last_offset(self) -> int:
        """Return the offset of its last record."""
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        """Return the first offset of the batch after it."""
        return self.base_offset + self.last_offset_delta + 1

    @property
    def is_transactional(self) -> bool:
        """Return whether the batch is part of a transaction."""
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        """Return whether its only record is a transaction marker of the broker."""
        return bool(self.attributes & CONTROL)

    @property
    def codec(self) -> Codec:
        """Return the codec. Raises :class:`KafkaRefusal`, UNSUPPORTED_COMPRESSION_TYPE, for an unknown one."""
        number = self.attributes & _CODEC_BITS
        try:
            return Codec(number)
        except ValueError as error:
            known = ", ".join(f"{codec.value} {codec.name}" for codec in Codec)
            raise KafkaRefusal(
                KafkaErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"codec {number} is unknown; allowed: {known}"
            ) from error


def read_header(data: bytes | memoryview, position: int = 0) -> BatchHeader:
    """Read the header at ``position`` without checking it; there must be :data:`HEADER_BYTES` bytes."""
    return BatchHeader._make(HEADER.unpack_from(data, position))


def checked_header(data: bytes | memoryview, position: int = 0) -> BatchHeader:
    """Return the header of a complete batch. Raises :class:`KafkaRefusal`, which says what is wrong with it."""
    available = len(data) - position
    if available < HEADER_BYTES:
        raise damaged(f"{available} bytes are not a record batch: its header alone has {HEADER_BYTES}")
    header = read_header(data, position)
    if header.magic != MAGIC:
        raise KafkaRefusal(
            KafkaErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT if header.magic in (0, 1) else KafkaErrorCode.CORRUPT_MESSAGE,
            f"magic {header.magic} at offset {header.base_offset}: only {MAGIC} is allowed",
        )
    if not HEADER_BYTES <= header.size_bytes <= available:
        raise damaged(f"a batch of {header.size_bytes} bytes at offset {header.base_offset}: there are {available}")
    with memoryview(data) as view:
        checksum = crc32c(bytes(view[position + ATTRIBUTES_BYTE : position + header.size_bytes]))
    if checksum != header.checksum:
        raise damaged(f"batch at offset {header.base_offset}: checksum {checksum:08x}, not {header.checksum:08x}")
    return header


def is_older_message(data: bytes) -> bool:
    """Return whether ``data`` is a whole message of Kafka's formats before batches: magic 0 or 1, and a CRC-32 over
    everything after it.
    """
    checksum = zlib.crc32(data[MAGIC_BYTE:]).to_bytes(4, "big")
    return len(data) > MAGIC_BYTE and data[MAGIC_BYTE] < MAGIC and data[LENGTH_END_BYTES:MAGIC_BYTE] == checksum


def encode_batch(
    records: Sequence[Record],
    codec: Codec = Codec.NONE,
    *,
    base_offset: int = 0,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    leader_epoch: int = -1,
    flags: int = 0,
) -> bytes:
    """Encode a batch of at least one record; the records get offsets from ``base_offset`` on, whatever offsets they
    carry.

    ``flags``: :data:`TRANSACTIONAL`, :data:`CONTROL`. Raises :class:`KafkaRefusal` for an unsupported codec.
    """
    assert records, "a batch has records"
    base_timestamp_ms = records[0].timestamp_ms
    packed = compress(
        codec,
        b"".join(
            [
                encode_record(record, delta, record.timestamp_ms - base_timestamp_ms)
                for delta, record in enumerate(records)
            ]
        ),
    )
    header = BatchHeader(
        base_offset=base_offset,
        batch_length=HEADER_BYTES - LENGTH_END_BYTES + len(packed),
        leader_epoch=leader_epoch,
        magic=MAGIC,
        checksum=0,
        attributes=codec | flags,
        last_offset_delta=len(records) - 1,
        base_timestamp_ms=base_timestamp_ms,
        max_timestamp_ms=max(record.timestamp_ms for record in records),
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        record_count=len(records),
    )
    covered = HEADER.pack(*header)[ATTRIBUTES_BYTE:] + packed
    return HEADER.pack(*header._replace(checksum=crc32c(covered)))[:ATTRIBUTES_BYTE] + covered


def decode_batch(data: bytes, position: int = 0) -> list[Record]:
    """Return the records of the batch at ``position``, with their offsets in the partition. Raises
    :class:`KafkaRefusal`.
    """
    header = checked_header(data, position)
    content = decompress(header.codec, data[position + HEADER_BYTES : position + header.size_bytes], UNPACKED_MAX_BYTES)
    records = []
    place = 0
    if not 0 <= header.record_count <= len(content):
        raise damaged(f"batch at offset {header.base_offset}: {header.record_count} records in {len(content)} bytes")
    for _ in range(header.record_count):
        record, place = decode_record(content, place, header.base_offset, header.base_timestamp_ms)
        records.append(record)
    if place != len(content):
        raise damaged(f"batch at offset {header.base_offset}: {len(content) - place} bytes after its last record")
    return records


def placed(batch: bytes, base_offset: int, leader_epoch: int) -> bytes:
    """Return the batch as a broker stores it: with its place in the partition, otherwise unchanged."""
    (_, batch_length, _) = _PLACE.unpack_from(batch)
    return _PLACE.pack(base_offset, batch_length, leader_epoch) + batch[_PLACE.size :]

"""Validation of what a producer sends for a partition (Kafka: ``ProduceRequest.validateRecords``, ``LogValidator``).

The partition checks the rest. Simplified: Kafka decompresses the batch and also checks each record.
"""

from __future__ import annotations

from engine.kafka.records.error_code import KafkaErrorCode, KafkaRefusal
from engine.kafka.records.record_batch import HEADER_BYTES, read_header


def checked_batch(records: bytes | None) -> bytes:
    """Return ``records`` if it is exactly one batch. Raises :class:`KafkaRefusal`, INVALID_RECORD."""
    data = records or b""
    header = read_header(data) if len(data) >= HEADER_BYTES else None
    if header is None or HEADER_BYTES <= header.size_bytes != len(data):
        raise KafkaRefusal(KafkaErrorCode.INVALID_RECORD, f"{len(data)} bytes are not one whole batch")
    if header.magic in (0, 1) or header.base_offset:
        raise KafkaRefusal(
            KafkaErrorCode.INVALID_RECORD,
            f"a batch of magic {header.magic} with base offset {header.base_offset}; allowed: 2 and 0",
        )
    return data

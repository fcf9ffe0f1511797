"""A parser of the commit log's bytes that makes no message objects (RocketMQ: ``CommitLog.checkMessageAndReturnSize``).

Recovery needs stricter checks than reading (:mod:`engine.store.log.record_check`), because the expected message is
unknown: the topic must be a legal name and the logical offset a possible one (every earlier message of the queue
precedes it and takes at least 91 bytes).
"""

from __future__ import annotations

from typing import Final

from engine.protocol.errors import IllegalName
from engine.protocol.java_text import java_text
from engine.protocol.message.message_properties import decode_properties, read_delay_level
from engine.protocol.message.record_layout import (
    FIXED_SIZE_BYTES,
    HOST_FLAGS,
    PROPERTIES_LENGTH,
    SYSTEM_FLAG,
    fields_at,
)
from engine.protocol.names import SCHEDULE_TOPIC, validate_topic
from engine.protocol.system_flags import TRANSACTION_COMMIT_TYPE, TRANSACTION_MASK
from engine.store.log.record_check import damage_of
from engine.store.queues.dispatch_request import DispatchRequest, dispatched_fields

_PREPARED_OFFSET: Final = fields_at("prepared_transaction_offset")
_PLACE: Final = fields_at("queue_id", "queue_offset", "body_length")
_PARSED: Final = fields_at("size", "queue_id", "queue_offset", "sys_flag", "store_timestamp", "body_length")


def predecessor_of(record: bytes, position: int) -> int | None:
    """Return the offset of the message from which the one at ``position`` was made; None if it came from a sender.

    For committed messages it is the field "prepared transaction offset". For delivered delayed messages the field
    contains the complement of the offset, because 0 means nothing there, but is also an offset.
    """
    (sys_flag,) = SYSTEM_FLAG.unpack_from(record, position)
    (place,) = _PREPARED_OFFSET[sys_flag & HOST_FLAGS].unpack_from(record, position)
    if sys_flag & TRANSACTION_MASK == TRANSACTION_COMMIT_TYPE:
        return int(place)
    return ~int(place) if place < 0 else None


def queue_place_of(record: bytes) -> tuple[str, int, int]:
    """Return topic, queue id and queue offset of a message that was found good."""
    (sys_flag,) = SYSTEM_FLAG.unpack_from(record)
    fields = _PLACE[sys_flag & HOST_FLAGS]
    queue_id, queue_offset, body_length = fields.unpack_from(record)
    topic_at = fields.size + body_length + 1
    return record[topic_at : topic_at + record[topic_at - 1]].decode("ascii"), queue_id, queue_offset


def parse_record(
    buffer: bytes, position: int, commit_log_offset: int, delay_levels_ms: tuple[int, ...]
) -> DispatchRequest | None:
    """Return the message at ``position`` of ``buffer``, which is byte ``commit_log_offset`` of the log.

    None if it is not whole. ``delay_levels_ms``: :class:`~engine.store.files.store_config.MessageStoreConfig`.
    """
    fields = _PARSED[0]
    if position + fields.size > len(buffer):
        return None
    size, queue_id, queue_offset, sys_flag, store_timestamp, body_length = fields.unpack_from(buffer, position)
    if damage_of(buffer, position, size, commit_log_offset) is not None:
        return None
    if sys_flag & HOST_FLAGS:
        fields = _PARSED[sys_flag & HOST_FLAGS]
        *_, store_timestamp, body_length = fields.unpack_from(buffer, position)
    if queue_id < 0 or not 0 <= queue_offset * FIXED_SIZE_BYTES <= commit_log_offset:
        return None
    topic_at = position + fields.size + body_length + 1
    topic_end = topic_at + buffer[topic_at - 1]
    topic = buffer[topic_at:topic_end].decode("ascii")
    try:
        validate_topic(topic)
    except IllegalName:
        return None
    properties = decode_properties(java_text(buffer[topic_end + PROPERTIES_LENGTH.size : position + size]))
    tags_code, keys, unique_key = dispatched_fields(properties)
    if topic == SCHEDULE_TOPIC:
        tags_code = _due_ms(properties, store_timestamp, delay_levels_ms) or tags_code
    return DispatchRequest(
        topic,
        queue_id,
        queue_offset,
        commit_log_offset,
        size,
        tags_code,
        store_timestamp,
        sys_flag,
        keys,
        unique_key,
    )


def _due_ms(properties: dict[str, str], store_timestamp: int, delay_levels_ms: tuple[int, ...]) -> int | None:
    level = read_delay_level(properties)
    if level is not None and level > 0:
        return deliver_timestamp(store_timestamp, level, delay_levels_ms)
    return None


def deliver_timestamp(store_timestamp: int, delay_level: int, delay_levels_ms: tuple[int, ...]) -> int:
    """Return when a delayed message is due, ms. A level over the maximum counts as the maximum."""
    return store_timestamp + delay_levels_ms[min(delay_level, len(delay_levels_ms) - 1)]

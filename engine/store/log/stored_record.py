"""Reading the commit log's bytes without making message objects (RocketMQ: ``CommitLog.checkMessageAndReturnSize``).

What recovery finds in the log must be more than vouched for (:mod:`engine.store.log.record_check`): it is not known
which message lies there, so its topic has to be a legal name and its logical offset a possible one (every earlier
message of the queue lies before it and takes 91 bytes at least).
"""

from __future__ import annotations

from typing import Final

from engine.protocol.errors import IllegalName
from engine.protocol.java_hash import java_string_hash
from engine.protocol.message.message_properties import (
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_KEYS,
    PROPERTY_TAGS,
    PROPERTY_UNIQUE_KEY,
    decode_properties,
)
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
from engine.store.queues.dispatch_request import DispatchRequest

_PREPARED_OFFSET: Final = fields_at("prepared_transaction_offset")
_PLACE: Final = fields_at("queue_id", "queue_offset", "body_length")
_PARSED: Final = fields_at("size", "queue_id", "queue_offset", "sys_flag", "store_timestamp", "body_length")


def predecessor_of(record: bytes, position: int) -> int | None:
    """Where in the log the message lies that the one at ``position`` was made of; None: it came from a sender.

    The field is that of committed messages (prepared transaction offset). A delivered message has the complement of the
    place there, because 0 means nothing in it and is a place too.
    """
    (sys_flag,) = SYSTEM_FLAG.unpack_from(record, position)
    (place,) = _PREPARED_OFFSET[sys_flag & HOST_FLAGS].unpack_from(record, position)
    if sys_flag & TRANSACTION_MASK == TRANSACTION_COMMIT_TYPE:
        return int(place)
    return ~int(place) if place < 0 else None


def queue_place_of(record: bytes) -> tuple[str, int, int]:
    """Topic, queue id and queue offset of a message that was found good."""
    (sys_flag,) = SYSTEM_FLAG.unpack_from(record)
    fields = _PLACE[sys_flag & HOST_FLAGS]
    queue_id, queue_offset, body_length = fields.unpack_from(record)
    topic_at = fields.size + body_length + 1
    return record[topic_at : topic_at + record[topic_at - 1]].decode("ascii"), queue_id, queue_offset


def parse_record(
    buffer: bytes, position: int, commit_log_offset: int, delay_levels_ms: tuple[int, ...]
) -> DispatchRequest | None:
    """The message at ``position`` of ``buffer``, which is byte ``commit_log_offset`` of the log; None if not whole.

    ``delay_levels_ms``: see :class:`~engine.store.files.store_config.MessageStoreConfig`.
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
    # As Java reads them: what is no UTF-8 becomes U+FFFD, here and in no other place; the log keeps the bytes.
    text = buffer[topic_end + PROPERTIES_LENGTH.size : position + size].decode("utf-8", "replace")
    properties = decode_properties(text)
    return DispatchRequest(
        topic,
        queue_id,
        queue_offset,
        commit_log_offset,
        size,
        _tags_code(topic, properties, store_timestamp, delay_levels_ms),
        store_timestamp,
        sys_flag,
        properties.get(PROPERTY_KEYS, ""),
        properties.get(PROPERTY_UNIQUE_KEY, ""),
    )


def _tags_code(topic: str, properties: dict[str, str], store_timestamp: int, delay_levels_ms: tuple[int, ...]) -> int:
    if topic == SCHEDULE_TOPIC:
        level = properties.get(PROPERTY_DELAY_TIME_LEVEL, "")
        if level.isascii() and level.isdigit() and int(level) > 0:
            return deliver_timestamp(store_timestamp, int(level), delay_levels_ms)
    tags = properties.get(PROPERTY_TAGS)
    return java_string_hash(tags) if tags else 0


def deliver_timestamp(store_timestamp: int, delay_level: int, delay_levels_ms: tuple[int, ...]) -> int:
    """When a delayed message is due, ms. A level beyond the last one counts as the last one."""
    return store_timestamp + delay_levels_ms[min(delay_level, len(delay_levels_ms) - 1)]

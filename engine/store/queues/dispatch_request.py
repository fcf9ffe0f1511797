"""A stored message as the dispatcher needs it (RocketMQ: ``DispatchRequest``)."""

from __future__ import annotations

from collections.abc import Mapping

from engine.protocol.java_hash import java_string_hash
from engine.protocol.message.message_properties import PROPERTY_KEYS, PROPERTY_TAGS, PROPERTY_UNIQUE_KEY
from engine.protocol.system_flags import TRANSACTION_MASK, TRANSACTION_PREPARED_TYPE, TRANSACTION_ROLLBACK_TYPE


class DispatchRequest:
    """A request to dispatch one message. One is made for every message, so it is a plain class, whose compiled form is
    fastest.

    ``tags_code`` is the hash of the tags, or the delivery time (ms) in the topic of delayed messages.
    """

    __slots__ = (
        "commit_log_offset",
        "keys",
        "queue_id",
        "queue_offset",
        "size_bytes",
        "store_timestamp",
        "sys_flag",
        "tags_code",
        "topic",
        "unique_key",
    )

    def __init__(
        self,
        topic: str,
        queue_id: int,
        queue_offset: int,
        commit_log_offset: int,
        size_bytes: int,
        tags_code: int,
        store_timestamp: int,
        sys_flag: int,
        keys: str,
        unique_key: str,
    ) -> None:
        self.topic = topic
        self.queue_id = queue_id
        self.queue_offset = queue_offset
        self.commit_log_offset = commit_log_offset
        self.size_bytes = size_bytes
        self.tags_code = tags_code
        self.store_timestamp = store_timestamp
        self.sys_flag = sys_flag
        self.keys = keys
        self.unique_key = unique_key

    @property
    def end_offset(self) -> int:
        """Return the commit-log offset after the message."""
        return self.commit_log_offset + self.size_bytes

    def placed_at(self, queue_id: int, queue_offset: int) -> DispatchRequest:
        """Return the same message at another position of its topic."""
        return DispatchRequest(
            self.topic,
            queue_id,
            queue_offset,
            self.commit_log_offset,
            self.size_bytes,
            self.tags_code,
            self.store_timestamp,
            self.sys_flag,
            self.keys,
            self.unique_key,
        )


def dispatched_fields(properties: Mapping[str, str]) -> tuple[int, str, str]:
    """Return tags code, keys and unique key of a message that is stored with exactly these ``properties``.

    Writers and recovery both use this function, so that a rebuilt queue or index is the same as the original.
    """
    tags = properties.get(PROPERTY_TAGS)
    tags_code = java_string_hash(tags) if tags else 0
    return tags_code, properties.get(PROPERTY_KEYS, ""), properties.get(PROPERTY_UNIQUE_KEY, "")


def belongs_in_consume_queue(sys_flag: int) -> bool:
    """Return False for prepared and rolled-back messages: consumers must never see them, so they get no logical offset.

    (Since 3.2.4 RocketMQ stores half messages in a topic of their own, without these bits.)
    """
    return sys_flag & TRANSACTION_MASK not in (TRANSACTION_PREPARED_TYPE, TRANSACTION_ROLLBACK_TYPE)

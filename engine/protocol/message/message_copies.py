"""The role of a stored message among the copies of one message.

A message that is delayed, retried or given up is stored again at each step. Its unique id stays the same; its topic and
its properties show which step the copy belongs to.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, Protocol

from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_properties import (
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_ORIGIN_MESSAGE_ID,
    PROPERTY_REAL_TOPIC,
    PROPERTY_RESENT_DEAD_LETTER,
    PROPERTY_RETRY_TOPIC,
    PROPERTY_TRANSACTION_CHECK_TIMES,
)
from engine.protocol.names import (
    SCHEDULE_TOPIC,
    TRANSACTION_CHECK_MAX_TIME_TOPIC,
    TRANSACTION_HALF_TOPIC,
    group_of_retry_or_dlq_topic,
    is_dlq_topic,
    is_retry_topic,
    is_system_topic,
)


class StoredCopy(Protocol):
    """The parts of a stored message that show its step."""

    @property
    def topic(self) -> str: ...
    @property
    def queue_id(self) -> int: ...
    @property
    def reconsume_times(self) -> int: ...
    @property
    def properties(self) -> Mapping[str, str]: ...


class PlacedCopy(StoredCopy, Protocol):
    """The same, and where and when it is stored."""

    @property
    def queue_offset(self) -> int: ...
    @property
    def commit_log_offset(self) -> int: ...
    @property
    def store_timestamp(self) -> int: ...


class CopyKind(StrEnum):
    """The kinds of copies.

    ``stored``: in its topic; ``half``: invisible until it is committed; ``given-up``: no producer could report the
    outcome; ``delayed``: waiting at a delay level; ``due``: the delay is over, and it is visible to consumers;
    ``dead``: a dead letter; ``resent``: sent again by hand for a dead letter.
    """

    STORED = "stored"
    HALF = "half"
    GIVEN_UP = "given-up"
    DELAYED = "delayed"
    DUE = "due"
    DEAD = "dead"
    RESENT = "resent"


_BY_TOPIC: Final = {
    SCHEDULE_TOPIC: CopyKind.DELAYED,
    TRANSACTION_HALF_TOPIC: CopyKind.HALF,
    TRANSACTION_CHECK_MAX_TIME_TOPIC: CopyKind.GIVEN_UP,
}


def kind_of_copy(message: StoredCopy) -> CopyKind | None:
    """Return the kind of a copy, or None for a message of the broker's own."""
    topic = message.topic
    if topic in _BY_TOPIC:
        return _BY_TOPIC[topic]
    if is_system_topic(topic) or topic.endswith("_REPLY_TOPIC"):
        return None
    if is_dlq_topic(topic):
        return CopyKind.DEAD
    properties = message.properties
    if PROPERTY_RESENT_DEAD_LETTER in properties and message.reconsume_times == 0:
        return CopyKind.RESENT
    return CopyKind.DUE if PROPERTY_DELAY_TIME_LEVEL in properties or is_retry_topic(topic) else CopyKind.STORED


def destination(message: StoredCopy) -> str:
    """Return the topic that a message is meant for; a delayed or half message is stored in another one."""
    return message.properties.get(PROPERTY_REAL_TOPIC, "") if message.topic in _BY_TOPIC else message.topic


def group_of_copy(message: StoredCopy) -> str | None:
    """Return the group that alone receives a message, or that gave it up; None if it is for all groups."""
    return group_of_retry_or_dlq_topic(destination(message))


def first_topic(message: StoredCopy) -> str:
    """Return the topic to which a message was first sent."""
    return message.properties.get(PROPERTY_RETRY_TOPIC) or destination(message)


def delay_level(message: StoredCopy) -> int:
    """Return the delay level at which a message waits (each level has a queue); 0 if it does not wait."""
    return message.queue_id + 1 if message.topic == SCHEDULE_TOPIC else 0


def checks_asked(message: StoredCopy) -> int:
    """Return the number of transaction checks sent before this half message was stored."""
    text = message.properties.get(PROPERTY_TRANSACTION_CHECK_TIMES, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def identity(message: MessageExt) -> str:
    """Return the id shared by all copies: the unique id or, if the sender gave none, the first offset message id."""
    return message.unique_id or message.properties.get(PROPERTY_ORIGIN_MESSAGE_ID) or message.offset_message_id

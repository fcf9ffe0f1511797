"""Which step of a message's life a stored copy of it is."""

from __future__ import annotations

from enum import StrEnum

from engine.lab.checkers.watch.logged_message import LoggedMessage
from engine.protocol.message.message_properties import (
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_REAL_TOPIC,
    PROPERTY_RETRY_TOPIC,
    PROPERTY_TRANSACTION_CHECK_TIMES,
    decode_properties,
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


class CopyKind(StrEnum):
    """See :func:`app.observation.message_copies.kind_of_copy`, which tells the same of a message that was read."""

    STORED = "stored"
    HALF = "half"
    GIVEN_UP = "given-up"
    DELAYED = "delayed"
    DUE = "due"
    DEAD = "dead"
    RESENT = "resent"


_BY_TOPIC = {
    SCHEDULE_TOPIC: CopyKind.DELAYED,
    TRANSACTION_HALF_TOPIC: CopyKind.HALF,
    TRANSACTION_CHECK_MAX_TIME_TOPIC: CopyKind.GIVEN_UP,
}


def kind_of(message: LoggedMessage) -> CopyKind | None:
    """None for a message of the broker's own."""
    topic = message.topic
    if topic in _BY_TOPIC:
        return _BY_TOPIC[topic]
    if is_system_topic(topic) or topic.endswith("_REPLY_TOPIC"):
        return None
    if is_dlq_topic(topic):
        return CopyKind.DEAD
    if message.resends >= 0 and message.reconsume_times == 0:
        return CopyKind.RESENT
    if is_retry_topic(topic) or PROPERTY_DELAY_TIME_LEVEL in decode_properties(message.properties_text):
        return CopyKind.DUE
    return CopyKind.STORED


def group_of(message: LoggedMessage) -> str | None:
    """The group that alone gets this copy; None: it is for everybody."""
    return group_of_retry_or_dlq_topic(_destination(message))


def first_topic(message: LoggedMessage) -> str:
    """The topic that the message had before anything happened to it."""
    return decode_properties(message.properties_text).get(PROPERTY_RETRY_TOPIC) or _destination(message)


def delay_level(message: LoggedMessage) -> int:
    """The level at which a delayed copy waits: each has a queue."""
    return message.queue_id + 1


def checks_asked(message: LoggedMessage) -> int:
    """How often the producers had been asked when this half message was stored."""
    text = decode_properties(message.properties_text).get(PROPERTY_TRANSACTION_CHECK_TIMES, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _destination(message: LoggedMessage) -> str:
    if message.topic in _BY_TOPIC:
        return decode_properties(message.properties_text).get(PROPERTY_REAL_TOPIC, "")
    return message.topic

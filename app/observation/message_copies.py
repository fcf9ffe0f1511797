"""What a stored message is to somebody who follows one message through its copies.

A message that is delayed, retried or given up is stored anew at each step. Its unique id stays the same; where it lies
and its properties say which step it is.
"""

from __future__ import annotations

from engine.broker.delivery.dead_letter import PROPERTY_RESENT_DEAD_LETTER
from engine.protocol.message.message import MessageExt
from engine.protocol.message.message_properties import (
    PROPERTY_DELAY_TIME_LEVEL,
    PROPERTY_ORIGIN_MESSAGE_ID,
    PROPERTY_REAL_TOPIC,
    PROPERTY_RETRY_TOPIC,
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


def kind_of_copy(message: MessageExt) -> str | None:
    """``stored`` in its topic; ``half``: nobody sees it before it is committed; ``given-up``: nobody could say;
    ``delayed``: it waits at a delay level; ``due``: it has waited, and lies where consumers find it; ``dead``: a dead
    letter; ``resent``: by hand, for a dead letter. None for a message of the broker's own.
    """
    topic, properties = message.topic, message.properties
    if topic == SCHEDULE_TOPIC:
        return "delayed"
    if topic == TRANSACTION_HALF_TOPIC:
        return "half"
    if topic == TRANSACTION_CHECK_MAX_TIME_TOPIC:
        return "given-up"
    if is_system_topic(topic) or topic.endswith("_REPLY_TOPIC"):
        return None
    if is_dlq_topic(topic):
        return "dead"
    if PROPERTY_RESENT_DEAD_LETTER in properties and message.reconsume_times == 0:
        return "resent"
    return "due" if PROPERTY_DELAY_TIME_LEVEL in properties or is_retry_topic(topic) else "stored"


def destination(message: MessageExt) -> str:
    """The topic that it is meant for: of a delayed or half message another one than that in which it lies."""
    if message.topic in (SCHEDULE_TOPIC, TRANSACTION_HALF_TOPIC, TRANSACTION_CHECK_MAX_TIME_TOPIC):
        return message.properties.get(PROPERTY_REAL_TOPIC, "")
    return message.topic


def group_of_copy(message: MessageExt) -> str | None:
    """The group that alone gets it, or has given it up; None: it is for everybody."""
    return group_of_retry_or_dlq_topic(destination(message))


def first_topic(message: MessageExt) -> str:
    """The topic that the message had before anything happened to it."""
    return message.properties.get(PROPERTY_RETRY_TOPIC) or destination(message)


def delay_level(message: MessageExt) -> int:
    """The level at which it waits; 0: it does not wait."""
    text = message.properties.get(PROPERTY_DELAY_TIME_LEVEL, "") if message.topic == SCHEDULE_TOPIC else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 4 else 0


def identity(message: MessageExt) -> str:
    """The same for all copies: the unique id or, where the sender gave it none, the first offset message id."""
    return message.unique_id or message.properties.get(PROPERTY_ORIGIN_MESSAGE_ID) or message.offset_message_id

"""The checks of messages before a send (RocketMQ: ``Validators``). A refused message is not sent."""

from __future__ import annotations

from collections.abc import Collection

from engine.client.foundation.errors import IllegalClientArgument
from engine.protocol.errors import IllegalName
from engine.protocol.message.message import Message
from engine.protocol.message.message_properties import (
    PRODUCER_PROPERTIES,
    PROPERTIES_MAX_BYTES,
    RESERVED_PROPERTIES,
    encode_properties,
    is_carriable,
)
from engine.protocol.names import NOT_ALLOWED_SEND_TOPICS, validate_topic


def check_topic_to_send(topic: str) -> None:
    """Raise :class:`IllegalClientArgument` unless clients may send to ``topic``."""
    try:
        validate_topic(topic)
    except IllegalName as error:
        raise IllegalClientArgument(str(error)) from error
    if topic in NOT_ALLOWED_SEND_TOPICS:
        raise IllegalClientArgument(f"topic {topic!r} belongs to the broker; clients may not send to it")


def check_message(message: Message, max_message_size: int, own_properties: Collection[str] = ()) -> None:
    """Raise :class:`IllegalClientArgument` naming what is wrong with ``message``.

    :param own_properties: reserved names that this kind of send has written itself, in addition to the usual ones.
    """
    check_topic_to_send(message.topic)
    if not isinstance(message.body, bytes | bytearray | memoryview):
        raise IllegalClientArgument(f"a message body must be bytes, got {type(message.body).__name__}")
    if not len(message.body):
        raise IllegalClientArgument("the message body is empty; RocketMQ wants at least one byte")
    if len(message.body) > max_message_size:
        raise IllegalClientArgument(
            f"the message body has {len(message.body)} bytes; allowed: at most {max_message_size} (max_message_size)"
        )
    check_properties(message, own_properties)


def check_properties(message: Message, own_properties: Collection[str] = ()) -> None:
    """Raise :class:`IllegalClientArgument` unless the properties are valid in RocketMQ's property string.

    None may have a name that only a broker, a consumer or another kind of send may write.
    """
    for name, value in message.properties.items():
        if name in RESERVED_PROPERTIES and name not in PRODUCER_PROPERTIES and name not in own_properties:
            raise IllegalClientArgument(
                f"property {name} is reserved by RocketMQ; make a new message, "
                "and of a received one copy user_properties"
            )
        if not (_is_text(name) and _is_text(value)):
            raise IllegalClientArgument(
                f"property {name!r} = {value!r}: names and values must be strings, not blank, and without the "
                "characters \\x01 and \\x02"
            )
    length = len(encode_properties(message.properties).encode())
    if length > PROPERTIES_MAX_BYTES:
        raise IllegalClientArgument(f"the properties take {length} bytes; allowed: at most {PROPERTIES_MAX_BYTES}")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and is_carriable(value)

"""Many messages in one request (RocketMQ: ``MessageBatch``)."""

from __future__ import annotations

from collections.abc import Sequence

from engine.client.errors import IllegalClientArgument
from engine.protocol.message import Message
from engine.protocol.message_properties import PROPERTY_WAIT_STORE_MSG_OK
from engine.protocol.names import is_retry_topic


def check_batch(messages: Sequence[Message]) -> None:
    """Raise :class:`IllegalClientArgument` unless RocketMQ allows these messages in one batch."""
    if not messages:
        raise IllegalClientArgument("the batch is empty")
    first = messages[0]
    for number, message in enumerate(messages):
        if message.delay_level:
            raise IllegalClientArgument(f"message {number} has a delay level; delayed messages cannot be batched")
        if is_retry_topic(message.topic):
            raise IllegalClientArgument(f"message {number} goes to the retry topic {message.topic!r}; send it alone")
        if message.topic != first.topic:
            raise IllegalClientArgument(
                f"message {number} has topic {message.topic!r}, the first has {first.topic!r}; a batch has one topic"
            )
        if message.wait_store_msg_ok != first.wait_store_msg_ok:
            raise IllegalClientArgument(f"message {number} differs from the first in {PROPERTY_WAIT_STORE_MSG_OK}")


class MessageBatch:
    """A checked batch: what the broker treats as one request.

    :ivar properties: the properties of the request as a whole.
    """

    __slots__ = ("messages", "properties", "topic")

    def __init__(self, messages: Sequence[Message]) -> None:
        check_batch(messages)
        self.messages = tuple(messages)
        self.topic = messages[0].topic
        self.properties = {PROPERTY_WAIT_STORE_MSG_OK: "true" if messages[0].wait_store_msg_ok else "false"}

    @property
    def unique_id(self) -> str:
        """The ids of all messages, joined by commas, as RocketMQ reports a batch."""
        return ",".join(message.unique_id or "" for message in self.messages)

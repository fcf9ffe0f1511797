"""Many messages in one request (RocketMQ: ``MessageBatch``, and ``DefaultMQProducer.batch`` for the checks).

Every refusal names the message by its number, from 0, and the rule it breaks; then nothing of the batch has left the
client. RocketMQ accepts a transactional message in a batch and stores it as an ordinary one, immediately visible; here
it is refused.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.client.foundation.errors import IllegalClientArgument
from engine.client.producer.message_validator import check_message
from engine.protocol.message.message import Message
from engine.protocol.message.message_properties import PROPERTY_TRANSACTION_PREPARED, PROPERTY_WAIT_STORE_MSG_OK
from engine.protocol.names import is_retry_topic


def check_batch(messages: Sequence[Message]) -> None:
    """Raise :class:`IllegalClientArgument` unless RocketMQ allows these messages in one batch."""
    if not messages:
        raise IllegalClientArgument("the batch is empty")
    first = messages[0]
    for number, message in enumerate(messages):
        if message.delay_level:
            raise IllegalClientArgument(
                f"message {number} has delay level {message.delay_level}; delayed messages cannot be batched, "
                "send it alone"
            )
        if message.properties.get(PROPERTY_TRANSACTION_PREPARED, "").lower() == "true":
            raise IllegalClientArgument(
                f"message {number} is transactional ({PROPERTY_TRANSACTION_PREPARED}); transactional messages cannot "
                "be batched, send it with send_message_in_transaction"
            )
        if is_retry_topic(message.topic):
            raise IllegalClientArgument(f"message {number} goes to the retry topic {message.topic!r}; send it alone")
        if message.topic != first.topic:
            raise IllegalClientArgument(
                f"message {number} has topic {message.topic!r}, the first has {first.topic!r}; a batch has one topic"
            )
        if message.wait_store_msg_ok != first.wait_store_msg_ok:
            raise IllegalClientArgument(
                f"message {number} differs from the first in {PROPERTY_WAIT_STORE_MSG_OK}; the broker waits for the "
                "flush of a whole batch or of none of it"
            )


def check_batch_messages(messages: Sequence[Message], max_message_size: int) -> None:
    """Raise :class:`IllegalClientArgument` unless each of ``messages`` could be sent by itself."""
    for number, message in enumerate(messages):
        try:
            check_message(message, max_message_size)
        except IllegalClientArgument as error:
            raise IllegalClientArgument(f"message {number} of the batch: {error}") from error


def check_batch_size(body_bytes: int, message_count: int, max_message_size: int) -> None:
    """Raise :class:`IllegalClientArgument` if the body of the whole batch is too large."""
    if body_bytes <= max_message_size:
        return
    allowed = f"{body_bytes} bytes; allowed: at most {max_message_size} (max_message_size)"
    if message_count == 1:
        raise IllegalClientArgument(f"message 0 takes {allowed}; it is alone, so there is nothing to cut")
    raise IllegalClientArgument(f"the batch of {message_count} messages takes {allowed}; cut it with ListSplitter")


class MessageBatch:
    """A checked batch, which the broker treats as one request.

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
        """Return the ids of all messages, joined by commas, as RocketMQ reports a batch."""
        return ",".join(message.unique_id or "" for message in self.messages)

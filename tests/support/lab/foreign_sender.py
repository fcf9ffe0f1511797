"""Sends what our own producers refuse, as a client of another make does."""

from __future__ import annotations

from collections.abc import Mapping

from engine.client import DefaultMQProducer, Message
from engine.client.callbacks.send_result import SendResult
from engine.client.producer.send_kernel import outgoing_message
from engine.protocol.message.message_properties import PROPERTY_UNIQUE_KEY


def foreign_message(topic: str, body: bytes, properties: Mapping[str, str]) -> Message:
    """A message with any properties, whatever their names."""
    message = Message(topic, body)
    message.properties.update(properties)
    return message


async def send_unchecked(producer: DefaultMQProducer, message: Message, **properties: str) -> SendResult:
    """Send ``message`` with further ``properties``, whatever their names."""
    message.properties.update(properties)
    message.properties.setdefault(PROPERTY_UNIQUE_KEY, producer._unique_ids.next())
    return await producer._impl.send(outgoing_message(message, producer.config), producer.config.send_msg_timeout_ms)

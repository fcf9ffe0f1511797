"""Sends what our own producers refuse, as a client of another make does."""

from __future__ import annotations

from engine.client import DefaultMQProducer, Message
from engine.client.callbacks.send_result import SendResult
from engine.client.producer.send_kernel import outgoing_message
from engine.protocol.message.message_properties import PROPERTY_UNIQUE_KEY


async def send_unchecked(producer: DefaultMQProducer, message: Message, **properties: str) -> SendResult:
    """Send ``message`` with further ``properties``, whatever their names."""
    message.properties.update(properties)
    message.properties.setdefault(PROPERTY_UNIQUE_KEY, producer._unique_ids.next())
    return await producer._impl.send(outgoing_message(message, producer.config), producer.config.send_msg_timeout_ms)

"""Replies to requests (RocketMQ: ``MessageUtil``)::

async def listen(messages, context):
    for request in messages:
        await producer.send(create_reply_message(request, b"42"))
    return ConsumeConcurrentlyStatus.CONSUME_SUCCESS
"""

from __future__ import annotations

from engine.client.foundation.errors import IllegalClientArgument
from engine.protocol.message.message import Message, MessageExt
from engine.protocol.message.message_properties import (
    PROPERTY_CLUSTER,
    PROPERTY_CORRELATION_ID,
    PROPERTY_MESSAGE_TYPE,
    PROPERTY_REPLY_TO_CLIENT,
    PROPERTY_TTL,
    REPLY_MESSAGE_TYPE,
)
from engine.protocol.names import reply_topic

#: The properties that a message needs to be answered; the broker adds the cluster.
_NEEDED = (PROPERTY_CLUSTER, PROPERTY_CORRELATION_ID, PROPERTY_REPLY_TO_CLIENT)


def is_request(message: MessageExt) -> bool:
    """Return whether a client waits for a reply to ``message``."""
    return all(name in message.properties for name in _NEEDED)


def reply_to_client(message: MessageExt) -> str | None:
    """Return the client id of the requester that waits for the reply to ``message``."""
    return message.properties.get(PROPERTY_REPLY_TO_CLIENT)


def is_expired(request: MessageExt, now_ms: int) -> bool:
    """Return whether the timeout (``TTL``) of ``request`` is over, so that no client waits for its reply any more.

    A responder can check this first and acknowledge without work. It compares its own clock with that of the requester.
    False for a message that is not a request, or has no timeout.
    """
    ttl = request.properties.get(PROPERTY_TTL, "")
    return is_request(request) and ttl.isascii() and ttl.isdigit() and request.born_timestamp + int(ttl) <= now_ms


def create_reply_message(request: MessageExt, body: bytes) -> Message:
    """Create the reply to ``request``; send it with any producer.

    Sending it fails with code 1 if the requester is gone. It is sent to any broker of the cluster, and the requester
    must have a connection to that one: a refusal is therefore retried at another broker. Raises
    :class:`IllegalClientArgument` naming what ``request`` lacks.
    """
    for name in _NEEDED:
        if name not in request.properties:
            raise IllegalClientArgument(f"message {request.message_id} is not a request: property {name} is missing")
    reply = Message(reply_topic(request.properties[PROPERTY_CLUSTER]), body)
    reply.properties[PROPERTY_MESSAGE_TYPE] = REPLY_MESSAGE_TYPE
    for name in (PROPERTY_CORRELATION_ID, PROPERTY_REPLY_TO_CLIENT, PROPERTY_TTL):
        if name in request.properties:
            reply.properties[name] = request.properties[name]
    return reply

"""Choosing the queue of a message by its content (RocketMQ: ``MessageQueueSelector``).

A selector is a function ``(queues, message, argument) -> queue``. Messages that must stay in order have to reach the
same queue, so they are sent with the same argument, for instance an order number. The order breaks when the number of
queues changes: then the same argument selects another queue while older messages wait in the former one.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from engine.client.errors import IllegalClientArgument
from engine.protocol.java_hash import java_string_hash
from engine.protocol.message import Message
from engine.protocol.message_queue import MessageQueue

#: The argument is whatever the caller of ``send`` passed on.
MessageQueueSelector = Callable[[Sequence[MessageQueue], Message, object], MessageQueue]


def java_hash_code(value: object) -> int:
    """What Java's ``hashCode`` gives for a string, an Integer or a Long of the same value; a signed 32-bit number.

    A Python producer and a Java producer therefore select the same queue for the same key.
    """
    if isinstance(value, str):
        return java_string_hash(value)
    if isinstance(value, int) and -(1 << 63) <= value < 1 << 63:
        if -(1 << 31) <= value < 1 << 31:
            return value
        unsigned = value & 0xFFFFFFFFFFFFFFFF
        folded = (unsigned ^ (unsigned >> 32)) & 0xFFFFFFFF
        return folded - (1 << 32) if folded & 0x80000000 else folded
    raise IllegalClientArgument(
        f"select_message_queue_by_hash takes a string or a 64-bit integer as argument, got {value!r}"
    )


def select_message_queue_by_hash(queues: Sequence[MessageQueue], message: Message, argument: object) -> MessageQueue:
    """The queue at ``|hash of argument mod number of queues|`` (``SelectMessageQueueByHash``)."""
    return queues[abs(java_hash_code(argument)) % len(queues)]


class SelectMessageQueueByRandom:
    """Any queue (``SelectMessageQueueByRandom``).

    :param generator: where the numbers come from, e.g. ``runtime.random_for("queue selector")``.
    """

    def __init__(self, generator: random.Random) -> None:
        self._generator = generator

    def __call__(self, queues: Sequence[MessageQueue], message: Message, argument: object) -> MessageQueue:
        """See :data:`MessageQueueSelector`."""
        return self._generator.choice(queues)

"""The argument and the result of a concurrent listener (``MessageListenerConcurrently``,
``ConsumeConcurrentlyContext``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.message.message import MessageExt

#: The default ``ack_index``: everything is acknowledged.
ACK_ALL = 0x7FFF_FFFF


class ConsumeConcurrentlyStatus(StrEnum):
    """The result of a concurrent listener call."""

    #: The messages are consumed, up to and including ``context.ack_index``.
    CONSUME_SUCCESS = "CONSUME_SUCCESS"
    #: No message is consumed; all must be delivered again later.
    RECONSUME_LATER = "RECONSUME_LATER"


class ConsumeConcurrentlyContext:
    """The context of a listener call; the listener may change ``ack_index`` and ``delay_level_when_next_consume``.

    Both raise ``TypeError`` or ``ValueError`` immediately for invalid values: in a listener that counts as a failure,
    and its messages are delivered again.

    :ivar message_queue: the queue of the messages.
    """

    __slots__ = ("_ack_index", "_delay_level_when_next_consume", "message_queue")

    def __init__(self, message_queue: MessageQueue) -> None:
        self.message_queue = message_queue
        self._ack_index = ACK_ALL
        self._delay_level_when_next_consume = 0

    @property
    def ack_index(self) -> int:
        """Return the index of the last consumed message, with CONSUME_SUCCESS; later ones are delivered again.

        -1: no message is consumed. Greater than the last index: all are. RocketMQ loses a call with an index below -1:
        it fails with ``IndexOutOfBoundsException`` without informing the listener.
        """
        return self._ack_index

    @ack_index.setter
    def ack_index(self, index: int) -> None:
        self._ack_index = _integer_within("ack_index", index, -1, ACK_ALL)

    @property
    def delay_level_when_next_consume(self) -> int:
        """Return when failed messages are delivered again.

        0 lets the broker choose (10 s, then longer each time), 1 to 18 is a delay level (a higher one counts as the
        broker's last), -1 means never: to the dead-letter topic immediately.
        """
        return self._delay_level_when_next_consume

    @delay_level_when_next_consume.setter
    def delay_level_when_next_consume(self, level: int) -> None:
        self._delay_level_when_next_consume = _integer_within("delay_level_when_next_consume", level, -1, ACK_ALL)


def _integer_within(name: str, value: object, low: int, high: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} is an integer, got {value!r}")
    if not low <= value <= high:
        raise ValueError(f"{name} is {low} to {high}, got {value}")
    return value


#: ``listener(messages, context)``: a plain or a coroutine function which returns a ConsumeConcurrentlyStatus. Anything
#: else that it returns, and any exception, count as RECONSUME_LATER.
MessageListenerConcurrently = Callable[[Sequence[MessageExt], ConsumeConcurrentlyContext], Any]

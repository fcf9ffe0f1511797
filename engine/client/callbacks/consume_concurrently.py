"""What a concurrent listener gets and returns (``MessageListenerConcurrently``, ``ConsumeConcurrentlyContext``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.message.message import MessageExt

#: ``ack_index`` as it is before the listener changes it: everything is acknowledged.
ACK_ALL = 0x7FFF_FFFF


class ConsumeConcurrentlyStatus(StrEnum):
    """What became of the messages."""

    #: They are done, up to and including ``context.ack_index``.
    CONSUME_SUCCESS = "CONSUME_SUCCESS"
    #: None is done; all shall come again later.
    RECONSUME_LATER = "RECONSUME_LATER"


class ConsumeConcurrentlyContext:
    """Handed to the listener with the messages; the listener may change the last two.

    Both raise ``TypeError`` or ``ValueError`` at once for what they cannot be: in a listener that counts as a failure,
    and its messages come again.

    :ivar message_queue: where the messages come from.
    """

    __slots__ = ("_ack_index", "_delay_level_when_next_consume", "message_queue")

    def __init__(self, message_queue: MessageQueue) -> None:
        self.message_queue = message_queue
        self._ack_index = ACK_ALL
        self._delay_level_when_next_consume = 0

    @property
    def ack_index(self) -> int:
        """With CONSUME_SUCCESS, the index of the last message that is done; the later ones come again.

        -1: none is done. Beyond the last message: all are. RocketMQ loses a call with an index below -1: it fails with
        ``IndexOutOfBoundsException`` behind the listener's back.
        """
        return self._ack_index

    @ack_index.setter
    def ack_index(self, index: int) -> None:
        self._ack_index = _integer_within("ack_index", index, -1, ACK_ALL)

    @property
    def delay_level_when_next_consume(self) -> int:
        """When failed messages come again: 0 lets the broker choose (10 s, then longer each time), 1 to 18 is a delay
        level (a higher one counts as the broker's last), -1 means never: to the dead-letter topic at once.
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

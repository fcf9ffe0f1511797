"""What a concurrent listener gets and returns (RocketMQ: ``MessageListenerConcurrently`` and its context)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from engine.protocol.message import MessageExt
from engine.protocol.message_queue import MessageQueue

#: ``ack_index`` as it is before the listener changes it: everything is acknowledged.
ACK_ALL = 0x7FFF_FFFF


class ConsumeConcurrentlyStatus(StrEnum):
    """What became of the messages."""

    #: They are done, up to and including ``context.ack_index``.
    CONSUME_SUCCESS = "CONSUME_SUCCESS"
    #: None is done; all shall come again later.
    RECONSUME_LATER = "RECONSUME_LATER"


@dataclass(slots=True)
class ConsumeConcurrentlyContext:
    """Handed to the listener with the messages; the listener may change the last two.

    :ivar message_queue: where the messages come from.
    :ivar delay_level_when_next_consume: when failed messages come again: 0 lets the broker choose (10 s, then longer
        each time), 1 to 18 is a delay level, -1 means never: to the dead-letter topic at once.
    :ivar ack_index: with CONSUME_SUCCESS, the index of the last message that is done; the later ones come again.
    """

    message_queue: MessageQueue
    delay_level_when_next_consume: int = 0
    ack_index: int = ACK_ALL


#: ``listener(messages, context)``: a plain or a coroutine function which returns a ConsumeConcurrentlyStatus. Anything
#: else that it returns, and any exception, count as RECONSUME_LATER.
MessageListenerConcurrently = Callable[[Sequence[MessageExt], ConsumeConcurrentlyContext], Any]

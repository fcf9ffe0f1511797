"""What an orderly listener gets and returns (RocketMQ: ``MessageListenerOrderly``, ``ConsumeOrderlyContext``)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.message.message import MessageExt

#: ``suspend_current_queue_time_ms`` of a context that the listener did not change: the consumer's setting counts.
SUSPEND_AS_CONFIGURED = -1


class ConsumeOrderlyStatus(StrEnum):
    """What became of the messages."""

    #: They are done. With ``auto_commit`` off: they stay in hand until a later call returns COMMIT or ROLLBACK.
    SUCCESS = "SUCCESS"
    #: With ``auto_commit`` off: everything in hand waits again, and the queue with it. Else it counts as SUCCESS.
    ROLLBACK = "ROLLBACK"
    #: With ``auto_commit`` off: everything in hand is done. Else it counts as SUCCESS.
    COMMIT = "COMMIT"
    #: They are not done. They wait again, and nothing behind them in the queue is consumed before them.
    SUSPEND_CURRENT_QUEUE_A_MOMENT = "SUSPEND_CURRENT_QUEUE_A_MOMENT"


@dataclass(slots=True)
class ConsumeOrderlyContext:
    """Handed to the listener with the messages; the listener may change the last two.

    :ivar message_queue: where the messages come from.
    :ivar auto_commit: False: only COMMIT makes progress. Counts for this call only, so set it in every call.
    :ivar suspend_current_queue_time_ms: how long the queue rests after SUSPEND_CURRENT_QUEUE_A_MOMENT or ROLLBACK,
        brought into 10 ms to 30 s; -1: as the consumer is configured.
    """

    message_queue: MessageQueue
    auto_commit: bool = True
    suspend_current_queue_time_ms: int = SUSPEND_AS_CONFIGURED


#: ``listener(messages, context)``: a plain or a coroutine function which returns a ConsumeOrderlyStatus. Anything else
#: that it returns, and any exception, count as SUSPEND_CURRENT_QUEUE_A_MOMENT.
MessageListenerOrderly = Callable[[Sequence[MessageExt], ConsumeOrderlyContext], Any]

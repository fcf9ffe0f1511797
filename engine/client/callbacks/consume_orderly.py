"""The argument and the result of an orderly listener (RocketMQ: ``MessageListenerOrderly``,
``ConsumeOrderlyContext``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from engine.protocol.body.message_queue import MessageQueue
from engine.protocol.message.message import MessageExt

#: The default ``suspend_current_queue_time_ms`` of a context: the consumer's setting applies.
SUSPEND_AS_CONFIGURED = -1


class ConsumeOrderlyStatus(StrEnum):
    """The result of an orderly listener call."""

    #: The messages are consumed. With ``auto_commit`` off they stay in progress until a later call returns COMMIT or
    #: ROLLBACK.
    SUCCESS = "SUCCESS"
    #: With ``auto_commit`` off: all messages in progress wait again, and the queue with them. Otherwise it counts as
    #: SUCCESS.
    ROLLBACK = "ROLLBACK"
    #: With ``auto_commit`` off: all messages in progress are consumed. Otherwise it counts as SUCCESS.
    COMMIT = "COMMIT"
    #: The messages are not consumed. They wait again, and nothing after them in the queue is consumed before them.
    SUSPEND_CURRENT_QUEUE_A_MOMENT = "SUSPEND_CURRENT_QUEUE_A_MOMENT"


@dataclass(slots=True)
class ConsumeOrderlyContext:
    """The context of a listener call; the listener may change the last two attributes.

    :ivar message_queue: the queue of the messages.
    :ivar auto_commit: False: only COMMIT makes progress. Applies to this call only, so set it in every call.
    :ivar suspend_current_queue_time_ms: how long the queue pauses after SUSPEND_CURRENT_QUEUE_A_MOMENT or ROLLBACK,
        limited to 10 ms to 30 s; -1: as the consumer is configured.
    """

    message_queue: MessageQueue
    auto_commit: bool = True
    suspend_current_queue_time_ms: int = SUSPEND_AS_CONFIGURED


#: ``listener(messages, context)``: a plain or a coroutine function which returns a ConsumeOrderlyStatus. Anything else
#: that it returns, and any exception, count as SUSPEND_CURRENT_QUEUE_A_MOMENT.
MessageListenerOrderly = Callable[[Sequence[MessageExt], ConsumeOrderlyContext], Any]

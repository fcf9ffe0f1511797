"""The state of pulling one queue (RocketMQ: ``PullRequest``). There is one per ProcessQueue, which circulates
forever.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.client.queues.process_queue import ProcessQueue
from engine.protocol.body.message_queue import MessageQueue


@dataclass(slots=True, eq=False)
class PullRequest:
    """The next pull of one queue.

    :ivar previously_locked: an orderly consumer has read the committed offset since it got the broker lock.
    :ivar failures: how many pulls have failed since the last success.
    """

    message_queue: MessageQueue
    process_queue: ProcessQueue
    next_offset: int
    previously_locked: bool = False
    failures: int = 0

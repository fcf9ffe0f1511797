"""Which messages of a queue a reader wants (RocketMQ: ``MessageFilter``)."""

from __future__ import annotations

from typing import Protocol

from engine.store.queues.consume_queue_ext import ConsumeQueueExtUnit


class MessageFilter(Protocol):
    """Asked in two steps, because the first needs no look into the message."""

    @property
    def reads_message(self) -> bool:
        """False when the tags code decides alone: the messages then need not be taken apart."""
        ...

    @property
    def effort(self) -> int:
        """What judging one message by :meth:`matches_commit_log` costs: characters of expression; 0: nothing."""
        ...

    def matches_consume_queue(self, tags_code: int, unit: ConsumeQueueExtUnit | None) -> bool:
        """True when the message may be wanted, judged by its tags code, and by its unit where there is one."""
        ...

    def matches_commit_log(self, record: bytes) -> bool:
        """True when the stored message ``record`` (all its bytes) is wanted. Asked only if ``reads_message``."""
        ...

"""A reader's filter for the messages of a queue (RocketMQ: ``MessageFilter``)."""

from __future__ import annotations

from typing import Protocol

from engine.store.queues.consume_queue_ext import ConsumeQueueExtUnit


class MessageFilter(Protocol):
    """A filter with two steps, because the first does not need to read the message."""

    @property
    def reads_message(self) -> bool:
        """Return False if the tags code alone decides: then the messages need not be decoded."""
        ...

    @property
    def effort(self) -> int:
        """Return the cost of evaluating one message by :meth:`matches_commit_log`, in characters of expression; 0:
        nothing.
        """
        ...

    def matches_consume_queue(self, tags_code: int, unit: ConsumeQueueExtUnit | None) -> bool:
        """Return True if the message may match, judged by its tags code, and by its unit if it has one."""
        ...

    def matches_commit_log(self, record: bytes) -> bool:
        """Return True if the stored message ``record`` (all its bytes) matches. Only called if ``reads_message``."""
        ...

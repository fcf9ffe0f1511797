"""The broker's side of tag filtering (RocketMQ: ``ExpressionMessageFilter``, for expressions of type TAG)."""

from __future__ import annotations

from engine.protocol.body.subscription_data import SubscriptionData
from engine.store.queues.consume_queue_ext import ConsumeQueueExtUnit


class TagMessageFilter:
    """Compares hash codes only.

    A tag with the same hash code gets through; the client compares the text again.
    """

    __slots__ = ("_codes",)

    def __init__(self, subscription: SubscriptionData) -> None:
        self._codes = frozenset(subscription.code_set)

    @property
    def reads_message(self) -> bool:
        """Tags are judged by their codes alone."""
        return False

    @property
    def effort(self) -> int:
        """No message is read."""
        return 0

    def matches_consume_queue(self, tags_code: int, unit: ConsumeQueueExtUnit | None) -> bool:
        """True when the tags code is one of those subscribed to."""
        return tags_code in self._codes

    def matches_commit_log(self, record: bytes) -> bool:
        """Always true: the tags code has said everything."""
        return True

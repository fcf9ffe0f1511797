"""Statistics of a consumer's pulls and listener calls, per topic (RocketMQ: ``ConsumerStatsManager``).

Simplified: averages since the consumer's start instead of over the last minute.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class TopicConsumeStats:
    """The counts of one topic; times in milliseconds.

    :ivar unwanted_messages: messages received although their tag is another one with the same hash code.
    :ivar failed_messages: messages whose listener requested redelivery.
    :ivar unreadable_messages: messages that could not be decoded, and that no listener received.
    """

    pulls: int = 0
    pull_ms: int = 0
    pulled_messages: int = 0
    unwanted_messages: int = 0
    consume_calls: int = 0
    consume_ms: int = 0
    consumed_messages: int = 0
    failed_messages: int = 0
    unreadable_messages: int = 0


class ConsumerStatsManager:
    """The statistics of one consumer.

    :param started_ms: when the consumer was created.
    """

    def __init__(self, started_ms: int) -> None:
        self.started_ms = started_ms
        self.topics: dict[str, TopicConsumeStats] = {}

    def of_topic(self, topic: str) -> TopicConsumeStats:
        """Return the counts of ``topic``, to be added to."""
        stats = self.topics.get(topic)
        if stats is None:
            stats = self.topics[topic] = TopicConsumeStats()
        return stats

    def status_table(self, now_ms: int) -> dict[str, dict[str, float]]:
        """Return RocketMQ's ``ConsumeStatus`` by topic."""
        seconds = max(1, now_ms - self.started_ms) / 1000
        return {
            topic: {
                "pullRT": stats.pull_ms / max(1, stats.pulls),
                "pullTPS": stats.pulled_messages / seconds,
                "consumeRT": stats.consume_ms / max(1, stats.consume_calls),
                "consumeOKTPS": stats.consumed_messages / seconds,
                "consumeFailedTPS": stats.failed_messages / seconds,
                "consumeFailedMsgs": stats.failed_messages,
            }
            for topic, stats in sorted(self.topics.items())
        }

"""Checker: no message is retried more often than allowed.

Anomaly: *duplicate*. A copy in the retry topic whose retry count is beyond the limit should have become a dead letter.

Fault model: any. The limit is the consumer's ``max_reconsume_times`` (16 unless set): consumers send it along, and it
then counts instead of the group's ``retryMaxTimes``, in RocketMQ too. What is counted are copies that brokers stored.
A consumer that cannot reach any broker consumes a failed message again every 5 s by itself without storing anything,
and RocketMQ bounds that by nothing.
"""

from __future__ import annotations

from engine.client.queues.consumer_config import PushConsumerConfig
from engine.lab.checkers.watch.checker import Checker, has_clustering_group
from engine.lab.checkers.watch.group_watch import GroupWatch
from engine.lab.checkers.watch.violation import Anomaly
from engine.lab.witness.logged_message import LoggedMessage
from engine.protocol.names import group_of_retry_or_dlq_topic, is_retry_topic


class RetryCountWithinLimit(Checker):
    """Check that retry counts stay within the limit."""

    name = "retry-count-within-limit"
    anomaly = Anomaly.DUPLICATE
    applies = staticmethod(has_clustering_group)

    def message_stored(self, message: LoggedMessage) -> None:
        if not is_retry_topic(message.destination):
            return
        group = self.watch.groups.get(group_of_retry_or_dlq_topic(message.destination) or "")
        if group is None:
            return
        limit = self._limit(group)
        if message.reconsume_times > limit:
            self.report(message.element, self.text("too_many", message=message, group=group.name, limit=limit))

    def _limit(self, group: GroupWatch) -> int:
        limits = [0]
        for spec in group.members:
            setting = self.world.nodes[spec.name].settings.get("max_reconsume_times", -1)
            limits.append(PushConsumerConfig(max_reconsume_times=int(setting)).max_reconsume_times_or_default)
        return max(limits)

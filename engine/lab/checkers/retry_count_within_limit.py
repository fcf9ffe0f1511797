"""Checker: no message is retried more often than allowed.

Anomaly: *duplicate*. A copy in the retry topic whose retry count is beyond the limit should have become a dead letter.

Fault model: any. The limit is the consumer's ``max_reconsume_times`` (16 unless set): consumers send it along, and it
then counts instead of the group's ``retryMaxTimes``, in RocketMQ too. What is counted are copies that brokers stored.
A consumer that cannot reach any broker consumes a failed message again every 5 s by itself without storing anything,
and RocketMQ bounds that by nothing.
"""

from __future__ import annotations

from typing import ClassVar

from engine.client.consumer_config import PushConsumerConfig
from engine.lab.checkers.checker import Checker, Texts
from engine.lab.checkers.group_watch import GroupWatch
from engine.lab.checkers.logged_message import LoggedMessage
from engine.lab.checkers.violation import Anomaly
from engine.lab.scenario import Role, Scenario
from engine.protocol.names import group_of_retry_or_dlq_topic, is_retry_topic


class RetryCountWithinLimit(Checker):
    """See the module."""

    name = "retry-count-within-limit"
    anomaly = Anomaly.DUPLICATE
    title: ClassVar[Texts] = {"en": "Retries stay within the limit", "zh": "重试次数不超过上限"}
    why: ClassVar[Texts] = {
        "en": "A message that can never be consumed must end as a dead letter, not go round for ever.",
        "zh": "永远无法消费的消息必须进入死信队列，而不是无休止地循环。",
    }

    @classmethod
    def applies(cls, scenario: Scenario) -> bool:
        """There is a clustering group."""
        return any(spec.model == "clustering" for spec in scenario.of_role(Role.CONSUMER))

    def message_stored(self, message: LoggedMessage) -> None:
        """A copy for a retry may be one too many."""
        if not is_retry_topic(message.destination):
            return
        group = self.watch.groups.get(group_of_retry_or_dlq_topic(message.destination) or "")
        if group is None:
            return
        limit = self._limit(group)
        if message.reconsume_times > limit:
            self.report(
                message.element,
                (message.first_key,),
                f"Message {message.first_key} is to be delivered to group {group.name} for the "
                f"{message.reconsume_times}. retry; the limit is {limit}.",
                f"消息 {message.first_key} 将第 {message.reconsume_times} 次重试投递给消费组 {group.name}，"
                f"上限是 {limit} 次。",
            )

    def _limit(self, group: GroupWatch) -> int:
        limits = [0]
        for spec in group.members:
            setting = self.world.nodes[spec.name].settings.get("max_reconsume_times", -1)
            limits.append(PushConsumerConfig(max_reconsume_times=int(setting)).max_reconsume_times_or_default)
        return max(limits)

"""Checker: a group's stored offset lies within its queue.

Anomaly: *skipped*. An offset behind the end of a queue passes messages before they exist.

Fault model: any, but for queues whose tail a power cut took. There a consumer that was further reports its old offset
once more, and the broker takes it (RocketMQ too: ``ConsumerOffsetManager.commitOffset`` compares with nothing). At its
start a broker cuts the offsets that it had stored itself; RocketMQ does not.
"""

from __future__ import annotations

from typing import ClassVar

from engine.lab.checkers.broker_watch import BrokerWatch
from engine.lab.checkers.checker import Checker, Texts
from engine.lab.checkers.violation import Anomaly
from engine.lab.scenario import Role, Scenario


class CommittedOffsetsWithinQueue(Checker):
    """See the module."""

    name = "committed-offsets-within-queue"
    anomaly = Anomaly.SKIPPED
    title: ClassVar[Texts] = {"en": "Stored offsets lie within their queues", "zh": "已存位点都在队列范围之内"}
    why: ClassVar[Texts] = {
        "en": "An offset behind the end of a queue skips messages that are yet to come.",
        "zh": "超出队列末尾的位点会跳过将来的消息。",
    }

    @classmethod
    def applies(cls, scenario: Scenario) -> bool:
        """There is a clustering group."""
        return any(spec.model == "clustering" for spec in scenario.of_role(Role.CONSUMER))

    def offset_committed(
        self, broker: BrokerWatch, group: str, topic: str, queue_id: int, before: int, offset: int
    ) -> None:
        """Compare with the end of the queue."""
        self._compare(broker, group, topic, queue_id, offset)

    def broker_loaded(self, broker: BrokerWatch) -> None:
        """What the file of offsets says must fit what the log still holds."""
        for topic, group, offsets in broker.broker.consumer_offset_manager.entries():
            for queue_id, offset in offsets.items():
                max_offset = broker.broker.store.max_offset(topic, queue_id)
                if offset > max_offset:
                    self._report(broker, group, topic, queue_id, offset, max_offset)

    def _compare(self, broker: BrokerWatch, group: str, topic: str, queue_id: int, offset: int) -> None:
        max_offset = broker.broker.store.max_offset(topic, queue_id)
        if 0 <= offset <= max(max_offset, broker.lost_until.get((topic, queue_id), 0)):
            return
        self._report(broker, group, topic, queue_id, offset, max_offset)

    def _report(self, broker: BrokerWatch, group: str, topic: str, queue_id: int, offset: int, max_offset: int) -> None:
        self.report(
            {"node": broker.name, "group": group, "topic": topic, "queue": queue_id, "offset": offset},
            (),
            f"Group {group} has offset {offset} stored for queue {queue_id} of {topic} on {broker.name}, which ends at "
            f"{max_offset}.",
            f"消费组 {group} 在 {broker.name} 上为 {topic} 队列 {queue_id} 存储了位点 {offset}，"
            f"而该队列结束于 {max_offset}。",
        )

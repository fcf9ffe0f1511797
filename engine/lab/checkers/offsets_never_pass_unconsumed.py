"""Checker: a group's stored offset never passes a message that the group is not done with.

Anomaly: *skipped*. The broker's offset of a group says that everything before it is done; whoever takes the queue over
begins there. A message before it that was neither consumed nor given back (and stored again as a retry or a dead
letter) will never be seen.

Fault model: any crash of clients, any fault of links, crashes of brokers. After a power cut took the tail of a queue,
its offsets are given to other messages while consumers may still stand behind them: those offsets are left out.

RocketMQ does not promise that the offset only grows: after a crash of a consumer or broker, or when reports overtake
each other, it goes back, and messages are delivered again (at least once). Of a group whose members subscribe to
different things, or begin at the last offset before their first report, nothing is claimed. Nor of a group without
retry queues: it wants failed messages to be dropped.

One offset per queue is told of: a group that has begun to pass messages over goes on doing so. Which of them are
missing in the end, ``consumed-in-the-end`` says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from engine.lab.checkers.broker_watch import BrokerWatch
from engine.lab.checkers.checker import Checker, Texts
from engine.lab.checkers.violation import Anomaly
from engine.lab.scenario import Role, Scenario

if TYPE_CHECKING:
    from engine.lab.checkers.cluster_watch import ClusterWatch


class OffsetsNeverPassUnconsumed(Checker):
    """See the module."""

    name = "offsets-never-pass-unconsumed"
    anomaly = Anomaly.SKIPPED
    title: ClassVar[Texts] = {"en": "Offsets never pass an unconsumed message", "zh": "位点不会越过未消费的消息"}
    why: ClassVar[Texts] = {
        "en": "Who takes the queue over begins at the stored offset: what lies before it is never delivered again.",
        "zh": "接管队列的消费者从已存位点开始：位点之前的消息不会再被投递。",
    }

    def __init__(self, watch: ClusterWatch) -> None:
        super().__init__(watch)
        self._dropping = {group.name: None for group in self.world.scenario.groups if group.retry_queues == 0}
        #: (broker, group, topic, queue id) that a violation tells of.
        self._told: dict[tuple[str, str, str, int], None] = {}

    @classmethod
    def applies(cls, scenario: Scenario) -> bool:
        """There is a clustering group."""
        return any(spec.model == "clustering" for spec in scenario.of_role(Role.CONSUMER))

    def offset_committed(
        self, broker: BrokerWatch, group: str, topic: str, queue_id: int, before: int, offset: int
    ) -> None:
        """Look at everything between the offset before and the new one."""
        members = self.watch.groups.get(group)
        if members is None or not members.is_consistent or group in self._dropping:
            return
        place = (broker.name, group, topic, queue_id)
        if place in self._told or (before < 0 and not members.begins_at_first):
            return
        first = max(before, 0, broker.lost_until.get((topic, queue_id), 0))
        end = min(offset, broker.broker.store.max_offset(topic, queue_id))
        for passed in range(first, end):
            message = broker.by_place.get((topic, queue_id, passed))
            if message is None or not members.wants(message) or members.is_settled(message):
                continue
            self._told[place] = None
            self.report(
                {"node": broker.name, "group": group, **message.element},
                (message.first_key,),
                f"Group {group} stored offset {offset} for queue {queue_id} of {topic} on {broker.name}, but message "
                f"{message.first_key} at offset {passed} was neither consumed nor given back.",
                f"消费组 {group} 在 {broker.name} 上为 {topic} 队列 {queue_id} 存储了位点 {offset}，"
                f"但偏移量 {passed} 处的消息 {message.first_key} 既未消费成功，也未退回。",
            )

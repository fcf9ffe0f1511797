"""Checker: a group's stored offset never passes a message that the group has not finished.

Anomaly: *skipped*. The broker's offset of a group says that everything before it is done; the next owner of the queue
begins there. A message before it that was neither consumed nor given back (and stored again as a retry or a dead
letter) will never be seen.

Fault model: any crash of clients, any fault of links, crashes of brokers. After a power cut took the tail of a queue,
its offsets are given to other messages while consumers may still be past them: those offsets are left out.

RocketMQ does not promise that the offset only grows: after a crash of a consumer or broker, or when reports overtake
each other, it goes back, and messages are delivered again (at least once). Of a group whose members subscribe to
different things, or begin at the last offset before their first report, nothing is claimed. Nor of a group without
retry queues: it wants failed messages to be dropped.

One offset per queue is reported: a group that has begun to skip messages continues to do so. Which of them are missing
in the end, ``consumed-in-the-end`` says.
"""

from __future__ import annotations

from engine.lab.checkers.watch.broker_watch import BrokerWatch
from engine.lab.checkers.watch.checker import Checker, has_clustering_group
from engine.lab.checkers.watch.cluster_watch import ClusterWatch
from engine.lab.checkers.watch.violation import Anomaly


class OffsetsNeverPassUnconsumed(Checker):
    """Check that offsets never pass unconsumed messages."""

    name = "offsets-never-pass-unconsumed"
    anomaly = Anomaly.SKIPPED
    applies = staticmethod(has_clustering_group)

    def __init__(self, watch: ClusterWatch) -> None:
        super().__init__(watch)
        self._dropping = {group.name: None for group in self.world.scenario.groups if group.retry_queues == 0}
        #: (broker, group, topic, queue id) with a reported violation.
        self._noted: dict[tuple[str, str, str, int], None] = {}

    def offset_committed(
        self, broker: BrokerWatch, group: str, topic: str, queue_id: int, before: int, offset: int
    ) -> None:
        members = self.watch.groups.get(group)
        if members is None or not members.is_consistent or group in self._dropping:
            return
        place = (broker.name, group, topic, queue_id)
        if place in self._noted or (before < 0 and not members.begins_at_first):
            return
        first = max(before, 0, broker.lost_until.get((topic, queue_id), 0))
        end = min(offset, broker.broker.store.max_offset(topic, queue_id))
        for passed in range(first, end):
            message = broker.by_place.get((topic, queue_id, passed))
            if message is None or not members.wants(message) or members.is_settled(message):
                continue
            self._noted[place] = None
            self.report(
                {"node": broker.name, "group": group, **message.element},
                self.text(
                    "passed",
                    group=group,
                    offset=offset,
                    queue_id=queue_id,
                    topic=topic,
                    broker=broker.name,
                    message=message,
                    passed=passed,
                ),
            )

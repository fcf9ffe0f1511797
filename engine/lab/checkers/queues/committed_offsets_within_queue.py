"""Checker: a group's stored offset is within its queue.

Anomaly: *skipped*. An offset past the end of a queue skips messages before they exist.

Fault model: any, but for queues whose tail a power cut took. There a consumer that was further reports its old offset
once more, and the broker takes it (RocketMQ too: ``ConsumerOffsetManager.commitOffset`` compares with nothing). At its
start a broker cuts the offsets that it had stored itself; RocketMQ does not.
"""

from __future__ import annotations

from engine.lab.checkers.watch.broker_watch import BrokerWatch
from engine.lab.checkers.watch.checker import Checker, has_clustering_group
from engine.lab.checkers.watch.violation import Anomaly


class CommittedOffsetsWithinQueue(Checker):
    """Check that committed offsets are within their queues."""

    name = "committed-offsets-within-queue"
    anomaly = Anomaly.SKIPPED
    applies = staticmethod(has_clustering_group)

    def offset_committed(
        self, broker: BrokerWatch, group: str, topic: str, queue_id: int, before: int, offset: int
    ) -> None:
        max_offset = broker.broker.store.max_offset(topic, queue_id)
        if not 0 <= offset <= max(max_offset, broker.lost_until.get((topic, queue_id), 0)):
            self._report(broker, group, topic, queue_id, offset, max_offset)

    def broker_loaded(self, broker: BrokerWatch) -> None:
        for topic, group, offsets in broker.broker.consumer_offset_manager.entries():
            for queue_id, offset in offsets.items():
                max_offset = broker.broker.store.max_offset(topic, queue_id)
                if offset > max_offset:
                    self._report(broker, group, topic, queue_id, offset, max_offset)

    def _report(self, broker: BrokerWatch, group: str, topic: str, queue_id: int, offset: int, max_offset: int) -> None:
        self.report(
            {"node": broker.name, "group": group, "topic": topic, "queue": queue_id, "offset": offset},
            self.text(
                "found",
                group=group,
                offset=offset,
                queue_id=queue_id,
                topic=topic,
                broker=broker.name,
                max_offset=max_offset,
            ),
        )

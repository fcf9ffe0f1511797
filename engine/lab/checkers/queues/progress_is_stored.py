"""Checker, at the end of a run: a group that has consumed a queue has stored its offset.

Anomaly: *duplicate*, of what is consumed next: all messages of a queue are consumed, nothing is wrong any more, and the
stored offset is not at the queue's end. The next owner will begin there.

Fault model: any, once the cluster has been calm for as long as ``consumed-in-the-end`` waits. Before that offsets lag
behind, are lost with a crash, and even go back when frames overtake each other: RocketMQ promises at least once. But a
client reports its offsets every 5 s; so an offset that stays wrong is wrong in its memory.
"""

from __future__ import annotations

from engine.lab.checkers.watch.broker_watch import BrokerWatch
from engine.lab.checkers.watch.checker import Checker, has_clustering_group
from engine.lab.checkers.watch.group_watch import GroupWatch
from engine.lab.checkers.watch.violation import Anomaly
from engine.lab.witness.logged_message import LoggedMessage


class ProgressIsStored(Checker):
    """Check that progress is stored."""

    name = "progress-is-stored"
    anomaly = Anomaly.DUPLICATE
    applies = staticmethod(has_clustering_group)

    def run_ended(self) -> None:
        watch = self.watch
        if not watch.has_been_calm or not all(broker.is_up for broker in watch.brokers.values()):
            return
        for group in watch.groups.values():
            if group.is_consistent and watch.is_idle(group):
                for broker in watch.brokers.values():
                    self._check(group, broker)

    def _check(self, group: GroupWatch, broker: BrokerWatch) -> None:
        last: dict[tuple[str, int], LoggedMessage] = {}
        unfinished: dict[tuple[str, int], None] = {}
        for message in broker.messages:
            if message.topic not in (group.topic, group.retry_topic):
                continue
            queue = message.topic, message.queue_id
            last[queue] = message
            if group.wants(message) and not group.is_settled(message):
                unfinished[queue] = None
        for queue, message in last.items():
            topic, queue_id = queue
            end = broker.broker.store.max_offset(topic, queue_id)
            stored = broker.broker.consumer_offset_manager.query_offset(group.name, topic, queue_id)
            if queue not in unfinished and 0 <= stored < end:
                self.report(
                    {"node": broker.name, "group": group.name, "topic": topic, "queue": queue_id},
                    self.text("not_stored", group=group.name, last=message, end=end, stored=stored),
                    messages=(message.first_key,),
                )

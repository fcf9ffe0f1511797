"""Checker: a consumer that has lost a queue of an orderly group does not start consuming its messages any more.

Anomalies: *duplicate* (the former owner begins with a message that the new owner has begun with), *out of order* (with
one that comes later). The calls need not overlap: the former owner may act long after, when the new owner is further
down the queue, and overwrite its results.

Fault model: as for ``one-consumption-per-queue``, the lease model. A new owner may begin where the stored offset says,
and so repeat what the former one has done; that is "at least once" and allowed. The reverse is not: the queue goes from
owner to owner, never back to one that has not taken it over again.
"""

from __future__ import annotations

from engine.lab.checkers.watch.checker import Checker, consumption_element, has_orderly_group
from engine.lab.checkers.watch.cluster_watch import ClusterWatch
from engine.lab.checkers.watch.violation import Anomaly
from engine.lab.nodes.consumer_node import ConsumerNode
from engine.lab.nodes.history import ConsumeBegan
from engine.lab.scenario.kinds.consumer import ConsumerSpec
from engine.lab.world.world import ScenarioWorld
from engine.protocol.body.message_queue import MessageQueue


def holds_queue(world: ScenarioWorld, node: str, queue: MessageQueue) -> bool:
    """Return whether the consumer on ``node`` has a process queue of ``queue`` that it has not given up."""
    role = world.find(ConsumerNode, node)
    if role is None or role.consumer is None:
        return False
    process_queue = role.consumer.process_queues.get(queue)
    return process_queue is not None and not process_queue.dropped


class NoCallAfterTakeover(Checker):
    """Check that consumers stop after a takeover."""

    name = "no-call-after-takeover"
    anomaly = Anomaly.DUPLICATE
    applies = staticmethod(has_orderly_group)

    def __init__(self, watch: ClusterWatch) -> None:
        super().__init__(watch)
        orderly = [spec for spec in self.world.scenario.of_kind(ConsumerSpec) if spec.orderly]
        self._orderly = {spec.group: None for spec in orderly if spec.model == "clustering"}
        #: (group, queue) -> the last consumer to begin, and how far it came.
        self._last: dict[tuple[str, MessageQueue], tuple[str, int]] = {}

    def consume_began(self, entry: ConsumeBegan) -> None:
        if entry.group not in self._orderly:
            return
        queue = MessageQueue(entry.topic, entry.broker, entry.queue_id)
        last, furthest = self._last.get((entry.group, queue), (entry.node, -1))
        if last != entry.node and not holds_queue(self.world, entry.node, queue):
            late = self.text("late", entry=entry, owner=last, furthest=furthest)
            anomaly = Anomaly.DUPLICATE if entry.queue_offset <= furthest else Anomaly.OUT_OF_ORDER
            self.report(consumption_element(entry), late, anomaly)
            return
        self._last[entry.group, queue] = (entry.node, max(furthest, entry.queue_offset))

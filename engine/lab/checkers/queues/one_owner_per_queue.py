"""Checker: within a clustering group, a queue has one owner.

Anomaly: *two owners*. Two members hold a process queue of the same queue and consume its messages twice.

Fault model: the rebalance model. Every member works out by itself which queues are its own, from what it knows of the
others, every 20 s and when a broker notifies it that the group changed. RocketMQ promises no exclusion for concurrent
consumers: whenever members come or go, links fail or a process pauses, two may own a queue until the next heartbeat (30
s) and rebalance (20 s) of both. So the claim is: once the cluster has been calm (nothing broken, no command, every
broker knows exactly the running members) for a heartbeat and a rebalance more, no queue has two owners. To what orderly
consumers promise beyond that they are held by ``one-consumption-per-queue``.
"""

from __future__ import annotations

from engine.lab.checkers.watch.checker import Checker, has_clustering_group
from engine.lab.checkers.watch.cluster_watch import ClusterWatch
from engine.lab.checkers.watch.violation import Anomaly
from engine.texts import joined, plain

#: In addition to a heartbeat and a rebalance: the time for the calls themselves.
_SLACK_MS = 10_000

#: (group, broker, topic, queue id)
_Queue = tuple[str, str, str, int]


class OneOwnerPerQueue(Checker):
    """Check that each queue has one owner."""

    name = "one-owner-per-queue"
    anomaly = Anomaly.TWO_OWNERS
    applies = staticmethod(has_clustering_group)

    def __init__(self, watch: ClusterWatch) -> None:
        super().__init__(watch)
        #: Queue with two owners -> start time in us.
        self._shared_since_us: dict[_Queue, int] = {}

    def second_passed(self) -> None:
        """Compare the owners. Once a second is enough: the claim is about longer times."""
        owners: dict[_Queue, list[str]] = {}
        limit_ms = 0
        for role in self.world.consumers():
            consumer = role.consumer
            if consumer is None or role.status != "running" or role.spec.model != "clustering":
                continue
            config = consumer.instance.config
            limit_ms = max(limit_ms, config.heartbeat_broker_interval_ms + config.rebalance_interval_ms + _SLACK_MS)
            for queue, process_queue in consumer.process_queues.items():
                if not process_queue.dropped:
                    key = (role.spec.group, queue.broker_name, queue.topic, queue.queue_id)
                    owners.setdefault(key, []).append(role.name)
        now_us = self.watch.now_us
        shared = {key: names for key, names in owners.items() if len(names) > 1}
        self._shared_since_us = {key: self._shared_since_us.get(key, now_us) for key in shared}
        for key, names in shared.items():
            since_us = max(self._shared_since_us[key], self.watch.calm_since_us)
            if now_us - since_us > limit_ms * 1_000:
                self._report(key, names, (now_us - since_us) // 1_000_000)

    def _report(self, queue: _Queue, owners: list[str], seconds: int) -> None:
        group, broker, topic, queue_id = queue
        self.report(
            {"node": broker, "group": group, "topic": topic, "queue": queue_id},
            self.text(
                "two",
                owners=joined("words.and", map(plain, owners)),
                group=group,
                queue_id=queue_id,
                topic=topic,
                broker=broker,
                seconds=seconds,
            ),
        )

"""Orderly consumers against a real broker, in the lab: a topic with few queues, and listeners that answer as
configured.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from engine.client import (
    ConsumeFromWhere,
    ConsumeOrderlyContext,
    ConsumeOrderlyStatus,
    DefaultMQProducer,
    DefaultMQPushConsumer,
    Message,
    MessageExt,
    MessageQueue,
)
from engine.client.queues.process_queue import ProcessQueue
from tests.support.lab.lab_cluster import LabCluster

SUCCESS = ConsumeOrderlyStatus.SUCCESS
SUSPEND = ConsumeOrderlyStatus.SUSPEND_CURRENT_QUEUE_A_MOMENT
COMMIT = ConsumeOrderlyStatus.COMMIT
ROLLBACK = ConsumeOrderlyStatus.ROLLBACK

Answer = Callable[[MessageExt, ConsumeOrderlyContext], object]


class HeardInOrder:
    """A listener that keeps what it got and when, takes its time, and answers as configured.

    :ivar most_at_once: how many calls were under way at the same time per queue at most.
    """

    def __init__(
        self,
        cluster: LabCluster,
        answer: Answer = lambda message, context: SUCCESS,
        duration_ms: int = 0,
        running: dict[MessageQueue, int] | None = None,
    ) -> None:
        self.messages: list[MessageExt] = []
        self.retries: list[int] = []
        self.times_ms: list[int] = []
        self.most_at_once = 0
        self.duration_ms = duration_ms
        self._running = {} if running is None else running
        self._cluster = cluster
        self._answer = answer

    async def __call__(self, messages: Sequence[MessageExt], context: ConsumeOrderlyContext) -> object:
        queue = context.message_queue
        self._running[queue] = self._running.get(queue, 0) + 1
        self.most_at_once = max(self.most_at_once, self._running[queue])
        answer: object = None
        try:
            for message in messages:
                self.messages.append(message)
                self.retries.append(message.reconsume_times)
                self.times_ms.append(self._cluster.world.loop.now_us // 1_000)
                answer = self._answer(message, context)
            if self.duration_ms:
                await asyncio.sleep(self.duration_ms / 1_000)
        finally:
            self._running[queue] -= 1
        return answer

    @property
    def bodies(self) -> list[str]:
        return [message.body.decode() for message in self.messages]


def make_cluster(queues: int = 1, seed: int = 11) -> tuple[LabCluster, DefaultMQProducer]:
    """A cluster with topic T."""
    cluster = LabCluster(seed)
    producer = cluster.producer("P", "producers")
    cluster.start(producer)
    cluster.run(producer, producer.create_topic("T", queue_nums=queues))
    return cluster, producer


def send(cluster: LabCluster, producer: DefaultMQProducer, *bodies: str, queue: int = 0) -> None:
    """Send, one after the other, to one queue."""

    async def send_all() -> None:
        for body in bodies:
            await producer.send(Message("T", body.encode()), selector=_nth, selector_argument=queue)

    cluster.run(producer, send_all())


def _nth(queues: Sequence[MessageQueue], message: Message, argument: object) -> MessageQueue:
    assert isinstance(argument, int)
    return queues[argument]


def orderly(
    cluster: LabCluster, listener: Any, node: str = "C", group: str = "g", **settings: Any
) -> DefaultMQPushConsumer:
    """A started orderly consumer of T."""
    first = {"consume_from_where": ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET}
    consumer = cluster.push_consumer(node, group, **(first | settings))
    consumer.subscribe("T")
    consumer.register_message_listener_orderly(listener)
    cluster.start(consumer)
    return consumer


def committed(cluster: LabCluster, queue_id: int = 0, group: str = "g", topic: str = "T") -> int:
    """The group's offset at the broker."""
    return cluster.broker.consumer_offset_manager.query_offset(group, topic, queue_id)


def queues_of(consumer: DefaultMQPushConsumer) -> list[int]:
    """Ids of the queues of T that the consumer owns."""
    return sorted(queue.queue_id for queue in consumer.process_queues if queue.topic == "T")


def process_queue_of(consumer: DefaultMQPushConsumer, queue_id: int = 0) -> ProcessQueue:
    """One process queue of T."""
    return consumer.process_queues[queue_named(consumer, queue_id)]


def queue_named(consumer: DefaultMQPushConsumer, queue_id: int = 0) -> MessageQueue:
    """A queue of T that the consumer owns."""
    (found,) = (queue for queue in consumer.process_queues if (queue.topic, queue.queue_id) == ("T", queue_id))
    return found


def lock_owners(cluster: LabCluster, group: str = "g") -> dict[int, str]:
    """Queue of T -> client id, from the broker's lock table."""
    return {
        queue.queue_id: entry.client_id
        for name, queue, entry in cluster.broker.rebalance_lock_manager.entries()
        if (name, queue.topic) == (group, "T")
    }

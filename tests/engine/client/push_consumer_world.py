"""What the tests of the push consumer share: a listener that remembers, and shorthands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine.client import (
    ConsumeConcurrentlyStatus,
    ConsumeFromWhere,
    DefaultMQProducer,
    DefaultMQPushConsumer,
    Message,
    MessageExt,
)
from tests.support.lab.lab_cluster import LabCluster

SUCCESS = ConsumeConcurrentlyStatus.CONSUME_SUCCESS
LATER = ConsumeConcurrentlyStatus.RECONSUME_LATER
FROM_FIRST = ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET


class Heard:
    """A listener that keeps its messages and answers as configured."""

    def __init__(self, cluster: LabCluster, answer: Callable[[MessageExt], object] = lambda message: SUCCESS) -> None:
        self.messages: list[MessageExt] = []
        self.seconds: list[float] = []
        self._cluster = cluster
        self._answer = answer

    async def __call__(self, messages: Sequence[MessageExt], context: object) -> object:
        answer: object = None
        for message in messages:
            self.messages.append(message)
            self.seconds.append(self._cluster.world.loop.now_us / 1_000_000)
            answer = self._answer(message)
        return answer

    @property
    def bodies(self) -> list[str]:
        return [message.body.decode() for message in self.messages]


def send(cluster: LabCluster, producer: DefaultMQProducer, *messages: Message | str) -> None:
    async def send_all() -> None:
        for message in messages:
            await producer.send(message if isinstance(message, Message) else Message("T", message.encode()))

    cluster.run(producer, send_all())


def consumer_of(
    cluster: LabCluster, listener: Any, node: str = "C", group: str = "g", expression: str = "*", **settings: Any
) -> DefaultMQPushConsumer:
    consumer = cluster.push_consumer(node, group, **({"consume_from_where": FROM_FIRST} | settings))
    consumer.subscribe("T", expression)
    consumer.register_message_listener(listener)
    cluster.start(consumer)
    return consumer


def committed(cluster: LabCluster, group: str = "g", topic: str = "T", queue_id: int = 0) -> int:
    return cluster.broker.consumer_offset_manager.query_offset(group, topic, queue_id)


def queue_of(consumer: DefaultMQPushConsumer, topic: str = "T") -> Any:
    (found,) = (process_queue for queue, process_queue in consumer.process_queues.items() if queue.topic == topic)
    return found


async def resume(consumer: DefaultMQPushConsumer) -> None:
    consumer.resume()

"""A node that is a Kafka consumer: an application that polls, works on each record, and commits."""

from __future__ import annotations

import asyncio
import logging

from engine.kafka.client.consumer_config import ConsumerConfig
from engine.kafka.client.errors import KafkaClientError
from engine.kafka.client.kafka_consumer import KafkaConsumer
from engine.kafka.records.error_code import KafkaRefusal
from engine.kafka.records.record import Record
from engine.kafka.records.topic_partition import TopicPartition
from engine.lab.kafka.kafka_broker_node import KnownBrokers
from engine.lab.kafka.stored_log import key_of
from engine.lab.nodes.history import ConsumeBegan, ConsumeEnded
from engine.lab.nodes.scenario_node import ScenarioNode, WorldContext
from engine.lab.scenario.kinds.kafka import KafkaConsumerSpec
from engine.lab.work.work_spec import PollLoopConfig
from engine.runtime.future_waits import cancel_all

_log = logging.getLogger("glassmq.lab")


class KafkaConsumerNode(ScenarioNode):
    """A Kafka consumer's node.

    :ivar consumer: None while the process does not run.
    :ivar polled: keys of the records of the last poll; the application works on number ``at`` of them.
    :ivar consumed: how many it has worked on, over all its processes.
    """

    spec: KafkaConsumerSpec

    consumer: KafkaConsumer | None = None

    def __init__(self, world: WorldContext, spec: KafkaConsumerSpec) -> None:
        super().__init__(world, spec)
        self.polled: list[str] = []
        self.at = -1
        self.consumed = 0
        self._task: asyncio.Task[None] | None = None

    @property
    def partitions(self) -> list[TopicPartition]:
        """Return the assigned partitions."""
        count = next(topic.queues for topic in self.world.scenario.topics if topic.name == self.spec.topic)
        return [TopicPartition(self.spec.topic, partition) for partition in self.spec.partitions or range(count)]

    async def _start(self) -> None:
        brokers = KnownBrokers(self.world, self.spec)
        config = self.config(ConsumerConfig, bootstrap=brokers.bootstrap, group_id=self.spec.group)
        self.consumer = consumer = KafkaConsumer(self.runtime, config)
        consumer.assign(self.partitions)
        self._task = asyncio.create_task(self._poll_for_ever(consumer, brokers), name="polls")

    async def _poll_for_ever(self, consumer: KafkaConsumer, brokers: KnownBrokers) -> None:
        while True:
            config = self.config(PollLoopConfig)
            polled = await self._poll(consumer, config.poll_timeout_ms)
            self.polled = [key_of(record.headers) for _, record in polled]
            for self.at, ((topic, partition), record) in enumerate(polled):
                broker = brokers.leader_of(consumer.metadata, TopicPartition(topic, partition))
                place = (self.spec.group, topic, broker, partition, record.offset, self.polled[self.at], 0)
                began = (*self.here_and_now, *place)
                self.world.history.consumes_began.append(ConsumeBegan(*began))
                await asyncio.sleep(config.record_duration_ms / 1_000)
                ended = (*self.here_and_now, *place, "success")
                self.world.history.consumes_ended.append(ConsumeEnded(*ended))
                self.consumed += 1
            self.at = -1
            if config.commits_after_poll and polled:
                await self._commit(consumer)

    async def _poll(self, consumer: KafkaConsumer, timeout_ms: int) -> list[tuple[TopicPartition, Record]]:
        try:
            found = await consumer.poll(timeout_ms)
        except (KafkaRefusal, KafkaClientError) as error:  # a damaged batch, a refusal: the next poll tries again
            _log.warning("%s cannot poll: %s", self.name, error)
            return []
        return [(place, record) for place, records in found.items() for record in records]

    async def _commit(self, consumer: KafkaConsumer) -> None:
        try:
            await consumer.commit()
        except KafkaClientError as error:  # the next commit repeats it
            _log.warning("%s cannot commit: %s", self.name, error)

    async def _stop(self) -> None:
        await cancel_all([self._task])
        if self.consumer is not None:
            await self.consumer.close()

    def _forget(self) -> None:
        self.consumer = None
        self.polled, self.at = [], -1

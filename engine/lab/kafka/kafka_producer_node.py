"""A node that is a Kafka producer: an application that sends the scenario's traffic.

With a ``transactional_id`` each record is a transaction of its own.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from engine.kafka.client.errors import Disconnected, KafkaClientError, SendRefused
from engine.kafka.client.kafka_producer import KafkaProducer
from engine.kafka.client.producer_batch import RecordMetadata
from engine.kafka.client.producer_config import KafkaProducerConfig
from engine.kafka.records.topic_partition import TopicPartition
from engine.lab.kafka.kafka_broker_node import KnownBrokers
from engine.lab.kafka.stored_log import KEY_HEADER
from engine.lab.nodes.history import SendInvoked, SendReturned
from engine.lab.nodes.scenario_node import ScenarioNode, WorldContext
from engine.lab.scenario.kinds.kafka import KafkaProducerSpec
from engine.lab.scenario.traffic_spec import SendMode, TrafficSpec
from engine.runtime.future_waits import all_ended, cancel_all


class KafkaProducerNode(ScenarioNode):
    """A Kafka producer's node.

    :ivar producer: None while the process does not run.
    :ivar sent: how many records it began to send; each ends in one of ``acknowledged``, ``refused`` (certainly not
        stored) and ``unknown``, unless the process crashes before.
    :ivar in_flight: key -> virtual time in us at which the send began.
    """

    spec: KafkaProducerSpec

    producer: KafkaProducer | None = None

    def __init__(self, world: WorldContext, spec: KafkaProducerSpec) -> None:
        super().__init__(world, spec)
        self.sent = self.acknowledged = self.refused = self.unknown = 0
        self.in_flight: dict[str, int] = {}
        #: Next record of each traffic: after a crash the application continues with the following one.
        self._next_numbers = [0] * len(spec.traffic)
        self._tasks: list[asyncio.Task[None]] = []

    async def _start(self) -> None:
        brokers = KnownBrokers(self.world, self.spec)
        producer = KafkaProducer(self.runtime, self.config(KafkaProducerConfig, bootstrap=brokers.bootstrap))
        self.producer = producer
        producer.start()
        if producer.transactions is not None:
            # One transaction is open at a time.
            self._tasks = [asyncio.create_task(self._send_transactions(producer, brokers), name="sends transactions")]
            return
        self._tasks = [
            asyncio.create_task(self._send_all(producer, index, traffic, brokers), name=f"sends {traffic.topic}")
            for index, traffic in enumerate(self.spec.traffic)
        ]

    async def _send_transactions(self, producer: KafkaProducer, brokers: KnownBrokers) -> None:
        with suppress(SendRefused):  # each send is refused, too, then
            while True:
                try:
                    await producer.init_transactions()
                    break
                except Disconnected:
                    continue  # it has waited for max.block.ms
        for index, traffic in enumerate(self.spec.traffic):
            await self._send_all(producer, index, traffic, brokers)

    async def _send_all(self, producer: KafkaProducer, index: int, traffic: TrafficSpec, brokers: KnownBrokers) -> None:
        await self.until(traffic.start_ms)
        while self._next_numbers[index] < traffic.count:
            begun_us = self.world.now_us
            number = self._next_numbers[index]
            self._next_numbers[index] += 1
            await self._send(producer, traffic, number, brokers)
            if self._next_numbers[index] < traffic.count:
                await self.pause_between(begun_us, traffic.every_ms)

    async def _send(self, producer: KafkaProducer, traffic: TrafficSpec, number: int, brokers: KnownBrokers) -> None:
        key = traffic.fill_in(traffic.key, self.name, number)
        self.world.history.sends_invoked.append(SendInvoked(*self.here_and_now, key, traffic.topic))
        self.in_flight[key] = self.world.now_us
        self.sent += 1
        properties = traffic.properties_of(self.name, number).items()
        try:
            if producer.transactions is not None:
                producer.begin_transaction()
            sending = await producer.send(
                traffic.topic,
                traffic.body_of(self.name, number),
                traffic.business_key(number).encode() if traffic.queue == "by-hash" else None,
                _partition(traffic, number, self.world),
                ((KEY_HEADER, key.encode()), *((name, value.encode()) for name, value in properties)),
            )
            if producer.transactions is not None:
                await _commit(producer, sending)
        except KafkaClientError as error:
            self._failed(key, traffic.topic, error)
            return
        sending.add_done_callback(lambda done: self._returned(key, traffic.topic, brokers, done))
        if traffic.mode is SendMode.SYNC:
            await all_ended([sending])

    def _returned(self, key: str, topic: str, brokers: KnownBrokers, done: asyncio.Future[RecordMetadata]) -> None:
        """Handle the result of a send. Without a response (``acks`` 0) there is no offset, and the outcome is
        unknown.
        """
        error = done.exception()
        if isinstance(error, KafkaClientError):
            self._failed(key, topic, error)
            return
        assert error is None, "a send ends in one of two ways"
        found = done.result()
        self.acknowledged += 1
        assert self.producer is not None, "its sends end before it does"
        broker = brokers.leader_of(self.producer.metadata, TopicPartition(topic, found.partition))
        self._note_end(key, topic, "ok", found.partition, found.offset, "", broker, "")

    def _failed(self, key: str, topic: str, error: KafkaClientError) -> None:
        if error.outcome_known:
            self.refused += 1
        else:
            self.unknown += 1
        self._note_end(key, topic, "refused" if error.outcome_known else "unknown", -1, -1, "", "", str(error))

    def _note_end(self, key: str, topic: str, status: str, *rest: Any) -> None:
        del self.in_flight[key]
        self.world.history.sends_returned.append(SendReturned(*self.here_and_now, key, status, topic, *rest))

    async def _stop(self) -> None:
        await cancel_all(self._tasks)
        if self.producer is not None:
            await self.producer.close()

    def _forget(self) -> None:
        self.producer = None
        self.in_flight.clear()


async def _commit(producer: KafkaProducer, sending: asyncio.Future[RecordMetadata]) -> None:
    """End the transaction of one record. Raises ``KafkaClientError``: it was aborted, or the outcome is unknown."""
    try:
        await sending
        while True:
            try:
                await producer.commit_transaction()
                return
            except Disconnected:
                continue  # the outcome is unknown: repeat the same request
    except KafkaClientError:
        with suppress(KafkaClientError):
            await producer.abort_transaction()
        raise


def _partition(traffic: TrafficSpec, number: int, world: WorldContext) -> int | None:
    """Return the partition; None: the producer chooses."""
    if traffic.queue == "{n}":
        count = next(topic.queues for topic in world.scenario.topics if topic.name == traffic.topic)
        return number % count
    return traffic.queue if isinstance(traffic.queue, int) else None

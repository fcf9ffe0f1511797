"""A broker of Kafka with clients, in the lab or on real sockets and files."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from engine.kafka.broker.kafka_broker import KafkaBroker
from engine.kafka.broker.kafka_broker_config import KafkaBrokerConfig
from engine.kafka.client.consumer_config import ConsumerConfig, OffsetReset
from engine.kafka.client.kafka_consumer import KafkaConsumer
from engine.kafka.client.kafka_producer import KafkaProducer
from engine.kafka.client.producer_config import KafkaProducerConfig
from engine.kafka.records.topic_partition import TopicPartition
from engine.runtime.port import Runtime
from tests.support.lab.both_worlds import run_scenario

ORDERS = TopicPartition("Orders", 0)


class Cluster:
    """One broker with the topics Orders (1 partition) and Mails (3), and as many clients as wanted on one node."""

    def __init__(self, server: Runtime, client: Runtime) -> None:
        self.server = server
        self.client = client
        self.broker = KafkaBroker(server, KafkaBrokerConfig(topics={"Orders": 1, "Mails": 3}))
        self.address = ""

    async def start(self) -> None:
        """Let the broker listen."""
        self.address = await self.broker.start(self.server.identity.host_ip, 0)

    def producer(self, **settings: object) -> KafkaProducer:
        """Started."""
        producer = KafkaProducer(self.client, KafkaProducerConfig(self.address, **settings))  # type: ignore[arg-type]
        producer.start()
        return producer

    def consumer(self, group: str = "readers", **settings: object) -> KafkaConsumer:
        """Return a consumer of ``Orders``, from its beginning."""
        settings = {"auto_offset_reset": OffsetReset.EARLIEST, **settings}
        consumer = KafkaConsumer(self.client, ConsumerConfig(self.address, group, **settings))  # type: ignore[arg-type]
        consumer.assign([ORDERS])
        return consumer


def run_cluster(kind: str, folder: Path, scenario: Callable[[Cluster], Awaitable[None]]) -> None:
    """Run ``scenario`` in the world ``kind``."""

    async def with_cluster(server: Runtime, client: Runtime) -> None:
        cluster = Cluster(server, client)
        await cluster.start()
        try:
            await scenario(cluster)
        finally:
            await cluster.broker.shutdown()

    run_scenario(kind, folder, with_cluster)

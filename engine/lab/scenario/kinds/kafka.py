"""Nodes of Kafka in a scenario, see :mod:`engine.kafka`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from engine.kafka.broker.kafka_broker_config import KafkaBrokerConfig
from engine.kafka.client.consumer_config import ConsumerConfig
from engine.kafka.client.producer_config import KafkaProducerConfig
from engine.kafka.log.partition_log_config import PartitionLogConfig
from engine.kafka.replication.replication_config import ControllerConfig, ReplicationConfig
from engine.lab.scenario.kinds.disk import parse_disk
from engine.lab.scenario.kinds.node_kind import TRAFFIC_MAX, NodeKind
from engine.lab.scenario.kinds.node_spec import ClientSpec, DiskNodeSpec, MemberSpec, SendingSpec, System
from engine.lab.scenario.scenario import Scenario
from engine.lab.scenario.scenario_names import TIME_MAX_MS, parse_group, parse_topic
from engine.lab.scenario.scenario_traffic import parse_kafka_traffic
from engine.lab.scenario.scenario_yaml import Section
from engine.lab.work.work_spec import PollLoopConfig

PARTITIONS_MAX = 64


@dataclass(frozen=True, kw_only=True)
class KafkaBrokerSpec(DiskNodeSpec):
    """A broker of Kafka."""

    role: ClassVar[str] = "kafka_broker"
    system: ClassVar[System] = System.KAFKA


@dataclass(frozen=True, kw_only=True)
class KafkaControllerSpec(DiskNodeSpec):
    """A controller: with it the brokers are a cluster, see :mod:`engine.kafka.replication`."""

    role: ClassVar[str] = "kafka_controller"
    system: ClassVar[System] = System.KAFKA


@dataclass(frozen=True, kw_only=True)
class KafkaClientSpec(ClientSpec):
    """A client of Kafka. ``broker``: the node that it asks first (Kafka: ``bootstrap.servers``)."""

    system: ClassVar[System] = System.KAFKA

    broker: str = ""


@dataclass(frozen=True, kw_only=True)
class KafkaProducerSpec(KafkaClientSpec, SendingSpec):
    """A producer of Kafka."""

    role: ClassVar[str] = "kafka_producer"


@dataclass(frozen=True, kw_only=True)
class KafkaConsumerSpec(KafkaClientSpec, MemberSpec):
    """A consumer of Kafka. ``partitions``: those that it is assigned; empty: all of its topic."""

    role: ClassVar[str] = "kafka_consumer"

    topic: str
    partitions: tuple[int, ...] = ()

    @property
    def topics(self) -> tuple[str, ...]:
        return (self.topic,)


def _broker(name: str, section: Section) -> KafkaBrokerSpec:
    return KafkaBrokerSpec(name, disk=parse_disk(section))


def _controller(name: str, section: Section) -> KafkaControllerSpec:
    return KafkaControllerSpec(name, disk=parse_disk(section))


def _producer(name: str, section: Section) -> KafkaProducerSpec:
    parts = section.sections("traffic", max_count=TRAFFIC_MAX)
    return KafkaProducerSpec(
        name,
        traffic=tuple(parse_kafka_traffic(part) for part in parts),
        broker=section.text("broker", "", max_length=20),
        start_ms=section.integer("start_ms", 0, TIME_MAX_MS, 0),
        stop_ms=section.optional_integer("stop_ms", 0, TIME_MAX_MS),
    )


def _consumer(name: str, section: Section) -> KafkaConsumerSpec:
    words = section.words("partitions", max_count=PARTITIONS_MAX)
    if not all(word.isascii() and word.isdigit() and int(word) < PARTITIONS_MAX for word in words):
        raise section.fail("partitions", f"must be a list of numbers below {PARTITIONS_MAX}")
    return KafkaConsumerSpec(
        name,
        group=parse_group(section),
        topic=parse_topic(section),
        partitions=tuple(int(word) for word in words),
        broker=section.text("broker", "", max_length=20),
        start_ms=section.integer("start_ms", 0, TIME_MAX_MS, 0),
        stop_ms=section.optional_integer("stop_ms", 0, TIME_MAX_MS),
    )


def _check_kafka(nodes: Section, scenario: Scenario) -> None:
    """Check the broker of each client, and the topics and partitions there."""
    brokers = [node.name for node in scenario.of_kind(KafkaBrokerSpec)]
    controllers = scenario.of_kind(KafkaControllerSpec)
    if controllers and (len(controllers) > 1 or not brokers):
        raise nodes.fail(controllers[-1].name, "is a kafka_controller: 1 is allowed, beside brokers of Kafka")
    topics = {topic.name: topic.queues for topic in scenario.topics}
    for node in scenario.of_kind(KafkaClientSpec):
        if controllers and node.broker:
            raise nodes.fail(node.name, "broker is not allowed with a kafka_controller: any broker says who leads")
        if not controllers and node.broker not in (brokers if node.broker or len(brokers) != 1 else ("",)):
            what = f"{node.broker!r} is not a node with role kafka_broker" if node.broker else "is missing"
            raise nodes.fail(node.name, f"broker {what}; allowed: {', '.join(brokers) or 'there is none'}")
        for topic in node.topics:
            if topic not in topics:
                raise nodes.fail(
                    node.name, f"topic {topic!r} is not among topics: no Kafka broker creates it by itself"
                )
    for consumer in scenario.of_kind(KafkaConsumerSpec):
        count = topics[consumer.topic]
        for partition in consumer.partitions:
            if partition >= count:
                raise nodes.fail(consumer.name, f"partition {partition}: {consumer.topic} has {count}, from 0 on")


KAFKA_BROKER = NodeKind(
    KafkaBrokerSpec, _broker, ("disk",), (KafkaBrokerConfig, PartitionLogConfig, ReplicationConfig), (_check_kafka,)
)
KAFKA_CONTROLLER = NodeKind(KafkaControllerSpec, _controller, ("disk",), (ControllerConfig,), (_check_kafka,))
KAFKA_PRODUCER = NodeKind(
    KafkaProducerSpec,
    _producer,
    ("traffic", "broker", "start_ms", "stop_ms"),
    (KafkaProducerConfig,),
    (_check_kafka,),
)
KAFKA_CONSUMER = NodeKind(
    KafkaConsumerSpec,
    _consumer,
    ("partitions", "group", "topic", "broker", "start_ms", "stop_ms"),
    (ConsumerConfig, PollLoopConfig),
    (_check_kafka,),
)

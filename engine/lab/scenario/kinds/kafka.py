"""Nodes of Kafka in a scenario, see :mod:`engine.kafka`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from engine.kafka.broker.kafka_broker_config import KafkaBrokerConfig
from engine.kafka.client.consumer_config import ConsumerConfig
from engine.kafka.client.producer_config import KafkaProducerConfig
from engine.kafka.log.partition_log_config import PartitionLogConfig
from engine.kafka.replication.replication_config import ControllerConfig, ReplicationConfig
from engine.lab.scenario.kinds.node_kind import TRAFFIC_MAX, NodeKind
from engine.lab.scenario.kinds.node_spec import ClientSpec, DiskNodeSpec, MemberSpec, SendingSpec, System
from engine.lab.scenario.scenario import Scenario
from engine.lab.scenario.scenario_names import NodeName, TopicName
from engine.lab.scenario.scenario_traffic import parse_kafka_traffic
from engine.lab.scenario.scenario_yaml import Section
from engine.lab.scenario.spec_reader import parts
from engine.lab.scenario.traffic_spec import TrafficSpec
from engine.lab.work.work_spec import PollLoopConfig

PARTITIONS_MAX = 64


@dataclass(frozen=True, kw_only=True)
class KafkaBrokerSpec(DiskNodeSpec):
    """A broker of Kafka."""

    role: ClassVar[str] = "kafka_broker"
    system: ClassVar[System] = System.KAFKA
    is_server = True
    must_run = True
    has_steps = False


@dataclass(frozen=True, kw_only=True)
class KafkaControllerSpec(DiskNodeSpec):
    """A controller: with it the brokers are a cluster, see :mod:`engine.kafka.replication`."""

    role: ClassVar[str] = "kafka_controller"
    system: ClassVar[System] = System.KAFKA
    is_server = True
    must_run = True
    has_steps = False


@dataclass(frozen=True, kw_only=True)
class KafkaClientSpec(ClientSpec):
    """A client of Kafka. ``broker``: the node that it asks first (Kafka: ``bootstrap.servers``)."""

    system: ClassVar[System] = System.KAFKA

    broker: NodeName = ""


@dataclass(frozen=True, kw_only=True)
class KafkaProducerSpec(KafkaClientSpec, SendingSpec):
    """A producer of Kafka."""

    role: ClassVar[str] = "kafka_producer"

    traffic: Annotated[tuple[TrafficSpec, ...], parts(parse_kafka_traffic, TRAFFIC_MAX)] = ()


def _parse_partitions(section: Section, field: str) -> tuple[int, ...]:
    words = section.words(field, max_count=PARTITIONS_MAX)
    if not all(word.isascii() and word.isdigit() and int(word) < PARTITIONS_MAX for word in words):
        raise section.fail(field, f"must be a list of numbers below {PARTITIONS_MAX}")
    return tuple(int(word) for word in words)


@dataclass(frozen=True, kw_only=True)
class KafkaConsumerSpec(KafkaClientSpec, MemberSpec):
    """A consumer of Kafka. ``partitions``: those that it is assigned; empty: all of its topic."""

    role: ClassVar[str] = "kafka_consumer"

    topic: TopicName
    partitions: Annotated[tuple[int, ...], _parse_partitions] = ()

    @property
    def topics(self) -> tuple[str, ...]:
        return (self.topic,)


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


KAFKA_BROKER = NodeKind(KafkaBrokerSpec, (KafkaBrokerConfig, PartitionLogConfig, ReplicationConfig), (_check_kafka,))
KAFKA_CONTROLLER = NodeKind(KafkaControllerSpec, (ControllerConfig,), (_check_kafka,))
KAFKA_PRODUCER = NodeKind(KafkaProducerSpec, (KafkaProducerConfig,), (_check_kafka,))
KAFKA_CONSUMER = NodeKind(KafkaConsumerSpec, (ConsumerConfig, PollLoopConfig), (_check_kafka,))

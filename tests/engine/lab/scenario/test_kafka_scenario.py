"""Kafka's nodes in the text of a scenario: what it makes, and the error for each mistake."""

from __future__ import annotations

import pytest

from engine.lab.scenario.errors import ScenarioError
from engine.lab.scenario.kinds.kafka import KafkaBrokerSpec, KafkaConsumerSpec, KafkaProducerSpec
from engine.lab.scenario.traffic_spec import SendMode
from tests.support.lab.kafka_scenarios import small


def test_nodes_of_kafka_need_no_name_server_and_no_broker_of_rocketmq():
    scenario = small()
    assert [type(node) for node in scenario.nodes] == [KafkaBrokerSpec, KafkaProducerSpec, KafkaConsumerSpec]
    (traffic,) = scenario.spec_of(KafkaProducerSpec, "P1").traffic
    assert (traffic.topic, traffic.count, traffic.mode) == ("T", 40, SendMode.ASYNC)
    assert (
        scenario.spec_of(KafkaConsumerSpec, "C1").group,
        scenario.spec_of(KafkaConsumerSpec, "C1").topic,
        scenario.spec_of(KafkaConsumerSpec, "C1").partitions,
    ) == ("g", "T", ())
    assert scenario.node("K1").has_disk


def test_a_consumer_may_be_assigned_partitions_and_a_client_its_broker():
    extra = ("  K1: {role: kafka_broker}\n", "  K1: {role: kafka_broker}\n  K2: {role: kafka_broker}\n")
    scenario = small(
        extra,
        ("    topic: T\n", "    topic: T\n    broker: K2\n    partitions: [1]\n"),
        (
            "k-{n}",
            "k-{n}",
        ),
        ("    role: kafka_producer\n", "    role: kafka_producer\n    broker: K1\n"),
    )
    assert (
        scenario.spec_of(KafkaProducerSpec, "P1").broker,
        scenario.spec_of(KafkaConsumerSpec, "C1").broker,
        scenario.spec_of(KafkaConsumerSpec, "C1").partitions,
    ) == (
        "K1",
        "K2",
        (1,),
    )


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("  K1: {role: kafka_broker}\n", "", "broker is missing; allowed: there is none"),
        ("    topic: T\n", "    topic: T\n    broker: P1\n", "'P1' is not a node with role kafka_broker; allowed: K1"),
        ("    topic: T\n", "    topic: T\n    partitions: [2]\n", "partition 2: T has 2, from 0 on"),
        ("    topic: T\n", "    topic: T\n    partitions: [a]\n", "must be a list of numbers below 64"),
        ("    topic: T\n", "    topic: Other\n", "topic 'Other' is not among topics"),
        ("{topic: T,", "{topic: Other,", "topic 'Other' is not among topics"),
        ("body: ", "delay_level: 3, body: ", "is not allowed: a producer of Kafka has no such thing"),
        ("body: ", "mode: oneway, body: ", "'oneway' is not allowed; allowed: async, sync"),
        ("body: ", "queue: by-consistent-hash, body: ", "a producer of Kafka hashes a key, by-hash"),
        ("    group: g\n", "", "group: is missing"),
        ("  K1: {role: kafka_broker}\n", "  K1: {role: kafka_broker, flush: sync}\n", "is not allowed here"),
        ("  K1: {role: kafka_broker}\n", "  K1: {role: kafka_broker}\n  B1: {role: broker}\n", "allowed: exactly 1"),
        ("  T: {queues: 2}\n", "  T: {queues: 2, partitions: 2}\n", "is not allowed here"),
    ],
)
def test_what_is_wrong_is_named_with_what_is_allowed(old, new, what):
    with pytest.raises(ScenarioError) as refusal:
        small((old, new))
    assert what in str(refusal.value)


def test_two_brokers_make_a_client_say_which_one_it_asks():
    with pytest.raises(ScenarioError, match="broker is missing; allowed: K1, K2"):
        small(("  K1: {role: kafka_broker}\n", "  K1: {role: kafka_broker}\n  K2: {role: kafka_broker}\n"))


def test_a_key_that_two_producers_would_give_is_refused():
    other = "  P2: {role: kafka_producer, traffic: {topic: T, key: 'k-{n}'}}\ntopics:\n"
    with pytest.raises(ScenarioError, match="gives the same keys as that of P1"):
        small(("topics:\n", other))

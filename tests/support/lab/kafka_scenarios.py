"""A small scenario with Kafka's nodes alone, with single lines replaced or added."""

from __future__ import annotations

from engine.lab.scenario.scenario import Scenario
from engine.lab.scenario.scenario_text import parse_scenario

SMALL = """\
title: {en: Small, zh: 小}
about: {en: A test., zh: 测试。}
seed: 1
duration_ms: 30000
network: {latency_ms: 2, jitter_ms: 1}
nodes:
  K1: {role: kafka_broker}
  P1:
    role: kafka_producer
    traffic: {topic: T, count: 40, every_ms: 5, start_ms: 500, key: "k-{n}", body: "body {n}"}
  C1:
    role: kafka_consumer
    group: g
    topic: T
    start_ms: 100
topics:
  T: {queues: 2}
"""


CLUSTER = """\
title: {en: Cluster, zh: 集群}
about: {en: A test., zh: 测试。}
seed: 1
duration_ms: 30000
network: {latency_ms: 2, jitter_ms: 1}
nodes:
  Q: {role: kafka_controller, settings: {broker_session_timeout_ms: 1000}}
  K1: {role: kafka_broker, settings: {BROKER}}
  K2: {role: kafka_broker, settings: {BROKER}}
  K3: {role: kafka_broker, settings: {BROKER}}
  P1:
    role: kafka_producer
    traffic: {topic: T, count: 40, every_ms: 50, start_ms: 500, key: "k-{n}", body: "body {n}", queue: 0}
    settings: {PRODUCER}
  C1:
    role: kafka_consumer
    group: g
    topic: T
    start_ms: 100
    settings: {commits_after_poll: true, auto_offset_reset: earliest}
topics:
  T: {queues: 1}
"""
_BROKER = "broker_heartbeat_interval_ms: 200, replica_lag_time_max_ms: 1000"


def cluster(*, broker: str = "", producer: str = "linger_ms: 0", extra: str = "", controller: str = "") -> Scenario:
    """Three brokers and a controller; further settings of each kind of node, and ``extra`` lines."""
    text = CLUSTER.replace("BROKER", ", ".join(part for part in (_BROKER, broker) if part))
    text = text.replace("PRODUCER", producer)
    if controller:
        text = text.replace("broker_session_timeout_ms: 1000", f"broker_session_timeout_ms: 1000, {controller}")
    return parse_scenario(text + extra, "cluster")


def small(*replacements: tuple[str, str], extra: str = "") -> Scenario:
    """Return the scenario, with each ``old`` (which must occur) replaced by ``new``, and ``extra`` at its end."""
    text = SMALL
    for old, new in replacements:
        assert old in text, old
        text = text.replace(old, new, 1)
    return parse_scenario(text + extra, "small")

"""A small scenario whose world tests break on purpose, to see the checkers fire."""

from __future__ import annotations

from collections.abc import Callable

from engine.broker.broker import Broker
from engine.client.consumer.default_mq_push_consumer import DefaultMQPushConsumer
from engine.lab.checkers import Violation
from engine.lab.nodes.broker_node import BrokerNode
from engine.lab.nodes.consumer_node import ConsumerNode
from engine.lab.run.run import LabRun
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.scenario_text import parse_scenario

#: Forty orders to four queues in four seconds; two consumers. One order is doomed: it ends as a dead letter.
TEXT = """
title: {en: checked, zh: checked}
about: {en: checked, zh: checked}
duration_ms: DURATION
network: {latency_ms: 2, jitter_ms: 1}
nodes:
  N1: {role: name_server}
  B1: {role: broker, flush: FLUSH, settings: {messageDelayLevel: "1s 1s 1s 2s 2s"}}
  P1:
    role: producer
    group: producers
    traffic: {topic: Orders, count: 40, every_ms: 100, start_ms: 500, key: "order-{n}", tag: "a|b", body: "order {n}"}
  C1:
    role: consumer
    group: shop
    topic: Orders
    listener: {duration_ms: 30, result: later, only_keys: [order-7]}
    settings: {max_reconsume_times: 2}
  C2:
    role: consumer
    group: shop
    topic: Orders
    start_ms: 100
    listener: {duration_ms: 30, result: later, only_keys: [order-7]}
    settings: {max_reconsume_times: 2}
topics:
  Orders: {queues: 4}
"""


def checked_run(*, flush: str = "async", duration_ms: int = 60_000, seed: int = 1) -> LabRun:
    """A run at event 0."""
    return LabRun(parse_scenario(TEXT.replace("DURATION", str(duration_ms)).replace("FLUSH", flush), "checked"), seed)


def run_to(run: LabRun, time_ms: int) -> None:
    """Run everything that is due by then."""
    run.run_to_time(time_ms * 1_000)


def run_until(run: LabRun, is_met: Callable[[], object]) -> None:
    """Run event by event until ``is_met()``."""
    while not is_met():
        assert run.step(), "the story ended before"


def finish(run: LabRun) -> list[Violation]:
    """Run to the end; what the checkers found."""
    run_to(run, run.scenario.duration_ms)
    assert run.is_over
    return run.violations


def do(run: LabRun, kind: str, target: str = "", **fields: object) -> None:
    """Apply a command."""
    run.apply(parse_command({"kind": kind, "target": target, **fields}))


def broker_role(run: LabRun) -> BrokerNode:
    role = run.world.nodes["B1"]
    assert isinstance(role, BrokerNode)
    return role


def broker_of(run: LabRun) -> Broker:
    broker = broker_role(run).broker
    assert broker is not None
    return broker


def consumer_of(run: LabRun, name: str) -> DefaultMQPushConsumer:
    role = run.world.nodes[name]
    assert isinstance(role, ConsumerNode)
    assert role.consumer is not None
    return role.consumer


def names(violations: list[Violation]) -> list[str]:
    """Which checkers found something."""
    return sorted({violation.checker for violation in violations})


def of(violations: list[Violation], checker: str) -> list[Violation]:
    """What one checker found."""
    return [violation for violation in violations if violation.checker == checker]

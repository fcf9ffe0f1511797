"""What the checkers of work tell apart: groups, steps, and what was taken back."""

from __future__ import annotations

from engine.lab.run.run import LabRun
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.scenario_text import parse_scenario

HEAD = """
title: {en: An order, zh: 一个订单}
about: {en: An order., zh: 一个订单。}
seed: 1
duration_ms: 30000
network: {latency_ms: 2}
topics: {Orders: {queues: 1}}
nodes:
  N1: {role: name_server}
  B1: {role: broker}
  D1: {role: database, stock: 9}
  S1: {role: service}
  P1: {role: producer, group: shop-producers, traffic: {topic: Orders, count: 1, start_ms: 1000, key: "order-{n}"}}
"""
CONSUMER = """
  NAME:
    role: consumer
    group: GROUP
    topic: Orders
    listener: {duration_ms: 100 MORE}
    work: {database: D1, steps: ["call:S1:lock-stock", order, take]}
    settings: {idempotence_strategy: none, idempotence_key: keys}
"""


def found(*consumers: str, crash_ms: int = 0) -> list[str]:
    """Names of the checkers that speak; C1 is killed at that time, and started again two seconds later."""
    with LabRun(parse_scenario(HEAD + "".join(consumers), "short")) as run:
        if crash_ms:
            run.run_to_time(crash_ms * 1_000)
            run.apply(parse_command({"kind": "crash", "target": "C1"}))
            run.run_to_time((crash_ms + 2_000) * 1_000)
            run.apply(parse_command({"kind": "restart", "target": "C1"}))
        run.run_to_time(run.world.end_us)
        return sorted({violation.checker for violation in run.violations if "work" in violation.checker})


def consumer(name: str, group: str, more: str = "") -> str:
    return CONSUMER.replace("NAME", name).replace("GROUP", group).replace(" MORE", more)


def test_each_group_does_the_work_once():
    assert found(consumer("C1", "shop"), consumer("C2", "billing")) == []


def test_half_of_the_work_is_not_the_work():
    # The list is worked off for 18 s: the call is made after 6 s of them, the stock is taken from at their end.
    acknowledged_first = ", hand_over: true, hand_over_ms: 18000"
    assert found(consumer("C1", "shop", acknowledged_first)) == []
    assert found(consumer("C1", "shop", acknowledged_first), crash_ms=12_000) == ["acknowledged-work-is-done"]


def test_the_work_of_a_message_that_comes_again_after_a_crash_is_done_twice():
    assert found(consumer("C1", "shop"), crash_ms=1_300) == ["work-done-once"]

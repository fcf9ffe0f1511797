"""A small scenario for tests of the lab, with single lines replaced or added."""

from __future__ import annotations

from engine.lab.run.run import LabRun
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.scenario import Scenario
from engine.lab.scenario.scenario_text import parse_scenario

SMALL = """\
title: {en: Small, zh: 小}
about: {en: A test., zh: 测试。}
seed: 1
duration_ms: 30000
network: {latency_ms: 2, jitter_ms: 1}
nodes:
  N1: {role: name_server}
  B1:
    role: broker
    settings: {messageDelayLevel: "1s 1s 1s 1s"}
  P1:
    role: producer
    group: senders
    traffic: {topic: T, count: 20, every_ms: 100, start_ms: 500, key: "k-{n}", tag: "a|b", body: "body {n}"}
  C1:
    role: consumer
    group: g
    topic: T
    start_ms: 100
    listener: {duration_ms: 20}
topics:
  T: {queues: 4}
groups:
  g: {retry_max_times: 3}
"""


def small_text(*replacements: tuple[str, str], extra: str = "") -> str:
    """Return the text, with each ``old`` (which must occur) replaced by ``new``, and ``extra`` at its end."""
    text = SMALL
    for old, new in replacements:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text + extra


def small(*replacements: tuple[str, str], extra: str = "") -> Scenario:
    """The same, parsed."""
    return parse_scenario(small_text(*replacements, extra=extra), "small")


#: A second consumer of the same group.
SECOND_CONSUMER = ("topics:\n", "  C2: {role: consumer, group: g, topic: T, start_ms: 150}\ntopics:\n")


def apply(run: LabRun, kind: str, target: str = "", **fields: object) -> None:
    """Give ``run`` a command as a browser would."""
    run.apply(parse_command({"kind": kind, "target": target, **fields}))


def run_to_ms(run: LabRun, time_ms: int) -> LabRun:
    """Run to that virtual time."""
    run.run_to_time(time_ms * 1_000)
    return run


def successes(run: LabRun) -> list[str]:
    """Keys of the messages that were consumed, in the order in which their listeners ended."""
    return [call.key for call in run.world.history.consumes_ended if call.result == "success"]

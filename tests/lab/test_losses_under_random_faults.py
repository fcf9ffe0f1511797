"""Whatever happens, the detectors of a group say together what the history of the world knows."""

from __future__ import annotations

import pytest

from engine.lab.nodes.consumer_node import ConsumerNode
from engine.lab.nodes.loss_watch import group_verdict
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_text import parse_scenario
from engine.lab.sweep.fault_plan import draw_faults
from engine.lab.sweep.sweep import run_with_faults

pytestmark = pytest.mark.seeds(quick=5, full=100)
SENT = 150
GROUP = f"""
title: {{en: own, zh: 自己的}}
about: {{en: own, zh: 自己的}}
duration_ms: 120000
network: {{latency_ms: 2, jitter_ms: 3}}
nodes:
  N1: {{role: name_server}}
  B1: {{role: broker, flush: async}}
  P1:
    role: producer
    group: shop
    traffic: {{topic: Orders, count: {SENT}, every_ms: 100, start_ms: 2000, key: "order-{{n}}", numbered: true}}
  C1: {{role: consumer, group: billing, topic: Orders, start_ms: 500, detect_loss: true, listener: {{each_ms: 150}}}}
  C2: {{role: consumer, group: billing, topic: Orders, start_ms: 4000, detect_loss: true, listener: {{each_ms: 150}}}}
topics: {{Orders: {{queues: 4}}}}
faults: {{kinds: [crash, crash-power, group, listener, pause, delay, loss, duplicate, reorder, partition], max: 4}}
"""


def compare(run: LabRun) -> None:
    """A producer that was never restarted gives the nth message the number n."""
    watches = [role.loss_watch for role in run.world.roles(ConsumerNode) if role.loss_watch is not None]
    verdict = group_verdict(watches, run.world.now_us, on_arrival=True)
    if verdict is None:
        return
    lives = verdict.producers
    began = run.world.history.consumes_began
    begun = {int(one.key.removeprefix("order-")) for one in began}
    assert sum(life.numbered - life.lost - life.not_judged for life in lives) == len(begun)
    if len(lives) == 1:
        reported = [number for first, last in lives[0].lost_ranges for number in range(first, last + 1)]
        assert reported == [number for number in range(lives[0].numbered) if number not in begun][: len(reported)]
    done = group_verdict(watches, run.world.now_us, on_arrival=False)
    ended = {one.key for one in run.world.history.consumes_ended if one.result == "success"}
    assert sum(life.numbered - life.lost - life.not_judged for life in (done.producers if done else ())) == len(ended)
    places = {(one.queue_id, one.queue_offset, one.key) for one in began if one.topic == "Orders"}
    copies = len(places) - len({key for _, _, key in places})
    duplicated = sum(life.duplicated for life in lives)
    again = sum(life.delivered_again for life in lives)
    if any(one.command.kind == "crash-power" for one in run.world.history.commands):
        # A place may have had one message when one member read it, and another for the next.
        assert duplicated <= copies
        assert again >= len(began) - len(places)
    else:
        assert (duplicated, again) == (copies, len(began) - len(places))


def test_the_group_misses_what_none_of_its_listeners_ever_got(seeds):
    scenario = parse_scenario(GROUP, "own")
    for seed in range(1, seeds + 1):
        run_with_faults(scenario, seed, draw_faults(scenario, seed), compare)

"""Effect of more queues on the order of keys: a topic grows under load, and messages that overtake others are counted.

A selector that takes hash modulo number of queues, and one with a hash ring, in the scenario
``selector-and-queue-count``. RocketMQ: ``SelectMessageQueueByHash``, and ``updateTopic`` of mqadmin.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

from engine.lab.run.run import LabRun
from engine.lab.scenario.kinds.consumer import ConsumerSpec
from engine.lab.scenario.kinds.producer import ProducerSpec
from engine.lab.scenario.scenario import Command, Scenario


class Growth(NamedTuple):
    """The effect of more queues on one topic.

    :ivar orders: how many were sent.
    :ivar moved: of how many the messages went to more than one queue.
    :ivar broken: of how many a message was not done yet when a later one began.
    """

    topic: str
    orders: int
    moved: int
    broken: int


def growth_of(scenario: Scenario, queues: int, listener_ms: int) -> list[Growth]:
    """Let each topic grow to ``queues``, with listeners that take ``listener_ms``."""

    def with_duration(spec: ConsumerSpec) -> ConsumerSpec:
        return dataclasses.replace(spec, listener=dataclasses.replace(spec.listener, duration_ms=listener_ms))

    script = tuple(
        dataclasses.replace(each, command=Command(each.command.kind, each.command.target, {"n": queues}))
        for each in scenario.script
    )
    scenario = dataclasses.replace(scenario.with_each(ConsumerSpec, with_duration), script=script)
    with LabRun(scenario, check=False) as run:
        run.run_to_time(run.world.end_us)
        return [_growth(run, traffic.topic) for spec in scenario.of_kind(ProducerSpec) for traffic in spec.traffic]


def _growth(run: LabRun, topic: str) -> Growth:
    history = run.world.history
    order_of = {entry.key: entry.key.partition("-")[0] for entry in history.sends_invoked if entry.topic == topic}
    queues: dict[str, dict[int, None]] = {}
    for sent in history.sends_returned:
        if sent.topic == topic:
            queues.setdefault(order_of[sent.key], {})[sent.queue_id] = None
    number = {key: at for at, key in enumerate(order_of)}
    seen = run.world.witness.deliveries
    began = {one.began.key: one.began.event for one in seen.all() if one.began.topic == topic}
    ended = {one.ended.key: one.ended.event for one in seen.ended() if one.ended and one.ended.topic == topic}
    broken = {
        order_of[key]: None
        for key in ended
        for later in began
        if order_of[later] == order_of[key] and number[later] > number[key] and began[later] < ended[key]
    }
    return Growth(topic, len(queues), sum(len(ids) > 1 for ids in queues.values()), len(broken))

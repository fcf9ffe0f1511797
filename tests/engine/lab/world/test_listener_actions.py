"""Listeners that hand their messages over, or move some aside: what history and brokers see of it."""

from __future__ import annotations

import pytest

from engine.lab.nodes.consumer_node import ConsumerNode
from engine.lab.nodes.in_memory_queue import InMemoryQueue
from engine.lab.run.run import LabRun
from engine.lab.scenario.errors import ScenarioError
from engine.lab.scenario.scenario_text import parse_scenario
from tests.support.lab.checked_run import broker_of, do, run_to

TEXT = """
title: {en: actions, zh: actions}
about: {en: actions, zh: actions}
duration_ms: 60000
network: {latency_ms: 2, jitter_ms: 1}
nodes:
  N1: {role: name_server}
  B1: {role: broker}
  P1:
    role: producer
    group: producers
    traffic: {topic: Orders, count: 20, every_ms: 10, start_ms: 500, key: "order-{n}", tag: "high|low"}
  C1: {role: consumer, group: shop, topic: Orders, threads: 1, CONSUMER}
topics:
  Orders: {queues: 1}
  Later: {queues: 1}
"""


def role_of(run: LabRun) -> ConsumerNode:
    role = run.world.nodes["C1"]
    assert isinstance(role, ConsumerNode)
    return role


def list_of(run: LabRun) -> InMemoryQueue:
    hand_over = role_of(run).hand_over
    assert hand_over is not None
    return hand_over


def run_of(consumer: str) -> LabRun:
    return LabRun(parse_scenario(TEXT.replace("CONSUMER", consumer), "actions"))


def test_a_handed_over_message_is_acknowledged_at_once_and_consumed_when_the_worker_is_done():
    with run_of("listener: {duration_ms: 1, hand_over: true, hand_over_ms: 1000}") as run:
        run_to(run, 1_000)
        role, history = role_of(run), run.world.history
        assert len(history.consumes_began) == 20
        assert history.consumes_ended == []
        assert [entry.key for entry in list_of(run).unfinished] == [f"order-{number}" for number in range(20)]
        assert not role.listener_calls, "the listener has returned"
        run_to(run, 5_600)
        assert [entry.key for entry in history.consumes_ended] == [f"order-{number}" for number in range(5)]
        run_to(run, 16_000)
        assert broker_of(run).consumer_offset_manager.query_offset("shop", "Orders", 0) == 20
        assert len(history.consumes_ended) == 15, "the broker is told more than is true"


def test_an_orderly_shutdown_loses_the_list_as_well():
    with run_of("listener: {duration_ms: 1, hand_over: true, hand_over_ms: 1000}") as run:
        run_to(run, 5_600)
        do(run, "stop-consumer", "C1")
        run_to(run, 6_500)
        do(run, "start-consumer", "C1")
        run_to(run, 60_000)
        consumed = [entry.key for entry in run.world.history.consumes_ended]
        assert len(consumed) == 5
        assert list(list_of(run).gone) == [f"order-{number}" for number in range(5, 20)]


def test_a_bounded_list_makes_the_listener_wait_and_bounds_the_loss():
    with run_of("listener: {duration_ms: 1, hand_over: true, hand_over_ms: 1000, hand_over_max: 3}") as run:
        run_to(run, 3_000)
        role = role_of(run)
        assert len(list_of(run).unfinished) == 4, "one in hand, three in the list"
        assert [call.keys for call in role.listener_calls.values()] == [("order-6",)], "it waits for room"
        do(run, "kill-consumer", "C1")
        assert len(list_of(run).gone) == 4
        assert list_of(run).unfinished == [], "the worker's message is gone with its process"
        do(run, "start-consumer", "C1")
        run_to(run, 60_000)
        lost = {f"order-{number}" for number in range(20)} - {entry.key for entry in run.world.history.consumes_ended}
        assert len(lost) <= 4


ASIDE = (
    "listener: {duration_ms: 100, move_aside: {topic: Later, only_tags: [low], above: 5}}, "
    "settings: {pullBatchSize: 2, pullThresholdForQueue: 2}"
)


def moved(run: LabRun) -> list[str]:
    return [sent.key for sent in run.world.history.sends_returned if sent.node == "C1" and sent.status == "ok"]


def test_only_low_priority_is_moved_and_only_under_backlog():
    with run_of(ASIDE) as run:
        run_to(run, 10_000)
        assert len(moved(run)) > 3
        assert all(int(key.removeprefix("order-")) % 2 for key in moved(run)), "those with the tag low"
        assert "order-19" not in moved(run), "the last ones have nobody behind them"
        assert broker_of(run).store.max_offset("Later", 0) == len(moved(run))
        assert len(run.world.history.consumes_ended) == 20


def test_a_message_is_moved_when_as_many_lie_behind_it_as_the_limit_says():
    with run_of(ASIDE) as run:
        aside = role_of(run).move_aside
        assert aside is not None
        run_to(run, 10_000)
        # Twenty messages are stored before the first is moved: there are six after number 13, and four after 15.
        low = [number for number in range(20) if number % 2]
        assert moved(run)[-1] == f"order-{max(number for number in low if 20 - number > 5)}"


def test_a_message_that_cannot_be_moved_is_delivered_again():
    text = ASIDE.replace("topic: Later", "topic: RMQ_SYS_TRANS_HALF_TOPIC")
    with run_of(text) as run:
        run_to(run, 55_000)
        refused = [sent.key for sent in run.world.history.sends_returned if sent.node == "C1"]
        assert refused, "nobody may send to that topic"
        consumed = {entry.key for entry in run.world.history.consumes_ended if entry.result == "success"}
        assert consumed == {f"order-{number}" for number in range(20)}, "later, without a backlog behind them"


def test_a_group_that_begins_at_a_time_gets_what_was_stored_from_then_on():
    consumer = "from: timestamp, from_ms: 600, start_ms: 2000"
    text = TEXT.replace("role: broker", "role: broker, settings: {access_message_in_memory_max_bytes: 100}")
    with LabRun(parse_scenario(text.replace("CONSUMER", consumer), "time")) as run:
        run_to(run, 10_000)
        keys = [entry.key for entry in run.world.history.consumes_ended]
        stored_us = {sent.key: sent.time_us for sent in run.world.history.sends_returned}
        assert 0 < len(keys) < 20
        assert keys == [key for key in stored_us if stored_us[key] > 600_000][-len(keys) :]
        assert stored_us[keys[0]] < 630_000


@pytest.mark.parametrize(
    ("consumer", "reported"),
    [
        ("from_ms: 100", "from_ms"),
        ("from: first, from_ms: 100", "from_ms"),
        ("listener: {move_aside: {topic: Later}}", "only_tags"),
        ("listener: {move_aside: {topic: Later, only_tags: [a], below: 3}}", "below"),
        ("listener: {hand_over: maybe}", "hand_over"),
        ("listener: {hand_over: true, hand_over_max: 0}", "hand_over_max"),
    ],
)
def test_a_mistake_names_the_field(consumer, reported):
    with pytest.raises(ScenarioError, match=reported):
        run_of(consumer)

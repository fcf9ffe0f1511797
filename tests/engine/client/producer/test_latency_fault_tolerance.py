"""Which brokers are avoided, for how long, and what is chosen when all are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.client import IllegalClientArgument, MessageQueue
from engine.client.instance.topic_publish_info import TopicPublishInfo
from engine.client.producer.latency_fault_tolerance import LatencyFaultTolerance
from engine.client.producer.mq_fault_strategy import (
    LATENCY_MAX_MS,
    NOT_AVAILABLE_DURATION_MS,
    MQFaultStrategy,
    compute_not_available_duration_ms,
)
from engine.client.producer.producer_config import ProducerConfig

BROKERS = ("a", "b", "c")
QUEUES = [MessageQueue("T", broker, number) for broker in BROKERS for number in range(4)]


class HandClock:
    """Time passes when a test says so."""

    def __init__(self) -> None:
        self.time_ms = 1_000

    def monotonic_us(self) -> int:
        return self.time_ms * 1_000

    def now_ms(self) -> int:
        return self.time_ms


@pytest.mark.parametrize(
    ("latency_ms", "duration_s"),
    [
        (0, 0),
        (549, 0),
        (550, 30),
        (999, 30),
        (1_000, 60),
        (2_000, 120),
        (3_000, 180),
        (14_999, 180),
        (15_000, 600),
        (30_000, 600),
    ],
)
def test_the_durations_are_those_of_rocketmq(latency_ms: int, duration_s: int):
    assert compute_not_available_duration_ms(latency_ms) == duration_s * 1_000


@given(st.integers(0, 40_000), st.integers(0, 40_000))
def test_whoever_was_slower_is_never_avoided_for_less_time(one_ms: int, other_ms: int):
    faster, slower = sorted((one_ms, other_ms))
    assert compute_not_available_duration_ms(faster) <= compute_not_available_duration_ms(slower)


def test_a_broker_is_available_again_when_its_time_is_over_and_a_good_answer_frees_it_at_once():
    clock = HandClock()
    tolerance = LatencyFaultTolerance(clock)
    tolerance.update_fault_item("a", 700, 30_000)
    assert not tolerance.is_available("a")
    assert tolerance.is_available("never seen")
    clock.time_ms += 30_000
    assert tolerance.is_available("a")
    tolerance.update_fault_item("a", 700, 30_000)
    tolerance.update_fault_item("a", 10, 0)
    assert tolerance.is_available("a")


def test_of_brokers_that_are_all_avoided_those_of_the_better_half_take_turns():
    tolerance = LatencyFaultTolerance(HandClock())
    for name, latency_ms in (("a", 900), ("b", 600), ("c", 700), ("d", 800)):
        tolerance.update_fault_item(name, latency_ms, 30_000)
    assert {tolerance.pick_one_at_least() for _ in range(6)} == {"b", "c"}
    tolerance.update_fault_item("d", 20, 0)
    assert "d" in {tolerance.pick_one_at_least() for _ in range(6)}, "who is available is better than all others"
    assert LatencyFaultTolerance(HandClock()).pick_one_at_least() is None


def strategy(clock: HandClock, *, enabled: bool = True) -> MQFaultStrategy:
    return MQFaultStrategy(clock, enabled, LATENCY_MAX_MS, NOT_AVAILABLE_DURATION_MS)


def test_off_only_the_broker_of_the_try_before_is_avoided():
    off = strategy(HandClock(), enabled=False)
    off.update_fault_item("a", 20_000, isolation=True)
    info = TopicPublishInfo(QUEUES, 0)
    assert off.select_one_message_queue(info, None).broker_name == "a"
    assert off.select_one_message_queue(info, "a").broker_name == "b"
    assert not off.tolerance.fault_items


def test_on_queues_of_available_brokers_take_turns():
    on = strategy(HandClock())
    on.update_fault_item("b", 1, isolation=True)
    info = TopicPublishInfo(QUEUES, 0)
    chosen = [on.select_one_message_queue(info, None) for _ in range(24)]
    assert {queue.broker_name for queue in chosen} == {"a", "c"}
    assert {(queue.broker_name, queue.queue_id) for queue in chosen} == {(b, n) for b in "ac" for n in range(4)}


def test_when_all_are_avoided_a_queue_of_a_broker_is_used_that_serves_the_topic():
    on = strategy(HandClock())
    for name in (*BROKERS, "elsewhere"):
        on.update_fault_item(name, 100 if name == "elsewhere" else 20_000, isolation=True)
    info = TopicPublishInfo(QUEUES, 0)
    chosen = [on.select_one_message_queue(info, None) for _ in range(12)]
    assert all(queue in QUEUES for queue in chosen)
    assert "elsewhere" not in on.tolerance.fault_items, "it was the best, but has no queue of the topic"


@given(
    st.lists(
        st.tuples(st.sampled_from(BROKERS), st.integers(0, 40_000), st.booleans(), st.integers(0, 700_000)),
        max_size=30,
    )
)
def test_whatever_happened_a_queue_of_the_topic_is_chosen_and_an_avoided_broker_only_when_all_are(history):
    clock = HandClock()
    on = strategy(clock)
    info = TopicPublishInfo(QUEUES, 5)
    for broker_name, latency_ms, isolation, pause_ms in history:
        on.update_fault_item(broker_name, latency_ms, isolation=isolation)
        clock.time_ms += pause_ms
        available = [name for name in BROKERS if on.tolerance.is_available(name)]
        queue = on.select_one_message_queue(info, None)
        assert queue in QUEUES
        assert queue.broker_name in available or not available


def test_tables_that_do_not_fit_each_other_are_refused():
    with pytest.raises(IllegalClientArgument, match="latency_max_ms has 2 entries and not_available_duration_ms 1"):
        ProducerConfig(latency_max_ms=(1, 2), not_available_duration_ms=(1,))
    with pytest.raises(IllegalClientArgument, match="must ascend"):
        ProducerConfig(latency_max_ms=(2, 1), not_available_duration_ms=(1, 2))

"""What ``glassmq lab study`` computes: the laws that its figures follow."""

from __future__ import annotations

import dataclasses

import pytest

from engine.kafka.log.producer_states import ProducerStates
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.sweep.asynchronous_steps import step_figures
from engine.lab.sweep.broker_deduplication import by_sequence, by_unique_id
from engine.lab.sweep.inconsistency_window import window_figures
from engine.lab.sweep.more_queues import growth_of


def test_orders_that_change_queues_lose_their_order_only_where_messages_wait():
    scenario = load_scenario("selector-and-queue-count")
    modulo, ring = growth_of(scenario, 8, 1_000)
    assert (modulo.topic, ring.topic) == ("ByModulo", "ByRing")
    assert modulo.moved > ring.moved > 0
    assert 0 < modulo.broken <= modulo.moved
    assert 0 < ring.broken <= ring.moved
    assert [(each.moved, each.broken) for each in growth_of(scenario, 8, 50)] == [(modulo.moved, 0), (ring.moved, 0)]


def test_a_message_answers_early_and_works_late_and_calls_the_other_way_round():
    calls, calls_without_third, message, message_without_third = step_figures(load_scenario("asynchronous-steps"))
    assert max(calls.lags_us) < 0 < min(message.lags_us)
    assert min(calls.answered_us) > 600_000 > 20_000 > max(message.answered_us)
    assert len(message_without_third.answered_us) == message_without_third.orders
    assert max(message_without_third.lags_us) > 10_000_000
    assert message_without_third.again == 0
    unanswered = calls_without_third.orders - len(calls_without_third.answered_us)
    assert unanswered == calls_without_third.half_done > 0
    assert calls_without_third.again > 0


def test_windows_close_and_faults_make_some_of_them_long():
    scenario = load_scenario("bank-transaction")
    calm = window_figures(dataclasses.replace(scenario, script=()), range(1, 3))
    assert len(calm.windows_us) == 20
    assert calm.windows_us[-1] < 100_000
    # No two windows of it overlap.
    assert calm.off_ratio == pytest.approx(sum(calm.windows_us) / (2 * scenario.duration_ms * 1_000))
    struck = window_figures(scenario, range(1, 3))
    assert struck.percentile_us(50) < 100_000 < struck.percentile_us(99) == struck.windows_us[-1]
    assert (calm.open_at_end, struck.open_at_end) == (0, 0)
    assert len(window_figures(scenario, range(1, 2), transfers="transfer-1").windows_us) == 1


def test_numbers_cost_by_the_producer_and_ids_by_the_message():
    few, more_messages, more_producers = (
        by_sequence(8_000, 10, 4),
        by_sequence(16_000, 10, 4),
        by_sequence(8_000, 100, 4),
    )
    empty = 4 * len(ProducerStates().encode())
    assert few.state_bytes == more_messages.state_bytes
    assert more_producers.state_bytes - empty == 10 * (few.state_bytes - empty)
    few_ids, many_ids = by_unique_id(200_000), by_unique_id(2_000_000)
    assert many_ids.state_bytes == 10 * few_ids.state_bytes
    # An id that is new is looked for in every file.
    assert many_ids.look_ups == pytest.approx(10 * few_ids.look_ups)
    assert few_ids.look_ups > 2

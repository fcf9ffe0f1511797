"""What the scenarios of retries, delays and dead letters claim, read from the engine; and their words in scenarios."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest

from engine.lab.run.run import LabRun
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.errors import LabError, ScenarioError
from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.scenario.scenario_text import parse_scenario
from engine.protocol.names import SCHEDULE_TOPIC, dlq_topic, retry_topic
from engine.store.files.store_config import MessageStoreConfig
from tests.support.lab.checked_run import broker_of, finish, run_to, run_until

DELAYS_MS = MessageStoreConfig().delay_levels_ms


@pytest.fixture(scope="module")
def sixteen() -> Iterator[LabRun]:
    """retry-to-dead-letter, played to its end."""
    with LabRun(load_scenario("retry-to-dead-letter")) as run:
        assert finish(run) == []
        yield run


def deliveries(run: LabRun, node: str, key: str) -> list[float]:
    """When a listener got the message, in seconds."""
    return [call.time_us / 1e6 for call in run.world.history.consumes_began if (call.node, call.key) == (node, key)]


def queue_end(run: LabRun, topic: str, queue_id: int = 0) -> int:
    return broker_of(run).store.max_offset(topic, queue_id)


# --- retry-to-dead-letter -----------------------------------------------------------------------------------------


def test_sixteen_retries_come_at_the_levels_3_to_18(sixteen):
    times = deliveries(sixteen, "C1", "order-3")
    waits_ms = [round((later - earlier) * 1_000) for earlier, later in pairwise(times)]
    assert len(waits_ms) == 16
    for wait_ms, delay_ms in zip(waits_ms, DELAYS_MS[3:], strict=True):
        assert delay_ms <= wait_ms < delay_ms + 200
    assert times[-1] - times[0] == pytest.approx(4 * 3_600 + 46 * 60, abs=60), "4 h 46 min, rounded"
    assert [queue_end(sixteen, SCHEDULE_TOPIC, level - 1) > 0 for level in range(1, 19)] == [False] * 2 + [True] * 16


def test_then_it_is_a_dead_letter_of_that_group(sixteen):
    assert queue_end(sixteen, retry_topic("patient")) == 16
    assert queue_end(sixteen, dlq_topic("patient")) == 1


def test_the_group_s_own_maximum_counts_for_nothing(sixteen):
    manager = broker_of(sixteen).subscription_group_manager
    assert manager.subscription_group_table["patient"].retry_max_times == 2


def test_a_consumer_s_maximum_of_two_ends_after_forty_seconds(sixteen):
    times = deliveries(sixteen, "C2", "order-3")
    assert [round(time - times[0]) for time in times] == [0, 10, 40]
    assert queue_end(sixteen, dlq_topic("hasty")) == 1


def test_a_negative_level_ends_at_once(sixteen):
    assert len(deliveries(sixteen, "C3", "order-3")) == 1
    assert (queue_end(sixteen, retry_topic("strict")), queue_end(sixteen, dlq_topic("strict"))) == (0, 1)


def test_nobody_waits_for_the_message_that_fails(sixteen):
    for node in ("C1", "C2", "C3"):
        for number in (0, 1, 2, 4, 5):
            assert len(deliveries(sixteen, node, f"order-{number}")) == 1
            assert deliveries(sixteen, node, f"order-{number}")[0] < 3


# --- delay-levels -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def levels() -> Iterator[LabRun]:
    """delay-levels, played to its end; on the way: all eighteen queues have a message."""
    with LabRun(load_scenario("delay-levels")) as run:
        run_to(run, 1_900)
        ends = [queue_end(run, SCHEDULE_TOPIC, queue_id) for queue_id in range(18)]
        assert ends == [1] * 18
        assert queue_end(run, "Reminders", 0) == queue_end(run, "Reminders", 1) == 0
        assert finish(run) == []
        yield run


def test_every_level_delivers_at_its_time(levels):
    sent = {entry.key: entry.time_us / 1e6 for entry in levels.world.history.sends_returned}
    for level in range(1, 19):
        key = f"level-{level}-0"
        waited_ms = (deliveries(levels, "C1", key)[0] - sent[key]) * 1_000
        assert DELAYS_MS[level] - 50 <= waited_ms < DELAYS_MS[level] + 200
    assert deliveries(levels, "C1", "late-0")[0] - sent["late-0"] == pytest.approx(7_200, abs=0.2)


def test_a_delayed_message_that_fails_comes_again_as_a_retry(levels):
    first, again = deliveries(levels, "C1", "level-5-0")
    assert again - first == pytest.approx(10, abs=0.2), "level 3 of the retry, not level 5 of the sender"


# --- broadcast-drops, consume-timeout -----------------------------------------------------------------------------


def test_what_a_broadcasting_member_fails_to_consume_is_dropped_by_it_alone():
    with LabRun(load_scenario("broadcast-drops")) as run:
        assert finish(run) == []
        history = run.world.history
        assert [(drop.node, drop.key) for drop in history.messages_dropped] == [("C2", "notice-2")]
        good = [call.key for call in history.consumes_ended if call.node == "C1" and call.result == "success"]
        assert sorted(good) == [f"notice-{number}" for number in range(6)]
        assert queue_end(run, retry_topic("screens")) == 0


def test_a_hanging_listener_holds_the_progress_until_the_consume_timeout_and_costs_a_worker():
    with LabRun(load_scenario("consume-timeout")) as run:
        run_to(run, 35_000)
        offsets = broker_of(run).consumer_offset_manager
        assert offsets.query_offset("shop", "Orders", 0) == 2
        assert len(deliveries(run, "C1", "order-29")) == 1, "the other worker went on"
        run_until(run, lambda: len(deliveries(run, "C1", "order-2")) == 2)
        assert finish(run) == []
        assert deliveries(run, "C1", "order-2")[1] == pytest.approx(50, abs=0.3), "found at 40 s, level 3"
        assert offsets.query_offset("shop", "Orders", 0) == 30
        (call,) = run.world.consumers()[0].listener_calls.values()
        assert call.keys == ("order-2",), "it still hangs"


# --- words --------------------------------------------------------------------------------------------------------

WORLD = """
title: {en: words, zh: 词}
about: {en: words, zh: 词}
duration_ms: 60000
nodes:
  N1: {role: name_server}
  B1: {role: broker, settings: {messageDelayLevel: "1s 2s 3s 4s"}}
  P1: {role: producer, group: p, traffic: {topic: T, count: 4, every_ms: 0, start_ms: 500, key: "k-{n}"}}
  C1:
    role: consumer
    group: g
    topic: T
    start_ms: 3000
    listener: {LISTENER}
    settings: {consumeMessageBatchMaxSize: 8}
topics:
  T: {queues: 1}
"""


def world(listener: str) -> LabRun:
    return LabRun(parse_scenario(WORLD.replace("{LISTENER}", f"{{{listener}}}"), "words"))


def test_an_ack_index_in_a_scenario_lets_the_rest_of_each_call_come_again():
    with world("ack_index: 1, delay_level: 2") as run:
        assert finish(run) == []
        ended = run.world.history.consumes_ended
        assert [(call.key, call.result) for call in ended[:4]] == [
            ("k-0", "success"),
            ("k-1", "success"),
            ("k-2", "later"),
            ("k-3", "later"),
        ]
        assert sorted(call.key for call in ended[4:]) == ["k-2", "k-3"]
        assert ended[4].time_us - ended[3].time_us == pytest.approx(2_000_000, abs=200_000)


def test_a_command_makes_a_listener_give_up_at_once():
    with world("duration_ms: 10") as run:
        run.apply(parse_command({"kind": "listener", "target": "C1", "result": "later", "delay_level": -1}))
        assert finish(run) == []
        assert queue_end(run, dlq_topic("g")) == 4


@pytest.mark.parametrize(
    ("listener", "problem"),
    [
        ("ack_index: -2", "ack_index"),
        ("ack_index: 1, batch_ack: per-message", "is not allowed with batch_ack"),
        ("delay_level: 19", "delay_level"),
        ("delay_level: -2", "delay_level"),
    ],
)
def test_a_listener_that_cannot_be_is_refused(listener, problem):
    with pytest.raises(ScenarioError, match=problem):
        world(listener)


def test_an_orderly_listener_has_no_delay_level():
    text = WORLD.replace("    start_ms: 3000\n", "    orderly: true\n")
    with pytest.raises(ScenarioError, match="delay_level"):
        parse_scenario(text.replace("{LISTENER}", "{delay_level: -1}"), "words")
    with LabRun(parse_scenario(text.replace("{LISTENER}", "{}"), "words")) as run:
        command = parse_command({"kind": "listener", "target": "C1", "result": "later", "delay_level": -1})
        with pytest.raises(LabError, match="C1 is an ordered consumer"):
            run.apply(command)

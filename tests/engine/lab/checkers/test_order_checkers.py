"""The checkers of ordered consumption: silent while the locks work, and loud when they do not."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from engine.lab.checkers import CHECKERS, Violation
from engine.lab.nodes.consumer_node import ConsumerNode
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_text import parse_scenario
from tests.support.lab.checked_run import consumer_of, do, finish, of, run_to, run_until

ONE_CALL, QUEUE_ORDER, KEY_ORDER = "one-consumption-per-queue", "order-per-queue", "order-per-key"

TEXT = """
title: {en: ordered, zh: ordered}
about: {en: ordered, zh: ordered}
duration_ms: 200000
network: {latency_ms: 2, jitter_ms: 1}
nodes:
  N1: {role: name_server}
  B1: {role: broker}
  P1:
    role: producer
    group: producers
    traffic: {topic: Orders, count: 40, every_ms: 100, key: "o{order}-{n}", orders: 5, queue: by-hash}
    settings: {poll_name_server_interval_ms: 1000}
  C1:
    {role: consumer, group: shop, topic: Orders, orderly: true, listener: {duration_ms: 150}, settings: SETTINGS}
  C2:
    {role: consumer, group: shop, topic: Orders, orderly: true, start_ms: 2000, listener: {duration_ms: 150},
     settings: SETTINGS}
topics:
  Orders: {queues: 2}
"""
QUICK = "{rebalance_interval_ms: 1000, unlock_delay_ms: 500, poll_name_server_interval_ms: 1000}"


def ordered_run(extra: str = "", replace: Sequence[tuple[str, str]] = (), settings: str = QUICK) -> LabRun:
    text = TEXT.replace("SETTINGS", settings)
    for old, new in replace:
        assert old in text
        text = text.replace(old, new)
    return LabRun(parse_scenario(text + extra, "ordered"))


def consumer_role(run: LabRun) -> ConsumerNode:
    role = run.world.nodes["C1"]
    assert isinstance(role, ConsumerNode)
    return role


def checkers_of(violations: list[Violation]) -> set[str]:
    return {violation.checker for violation in violations}


def test_they_are_on_where_there_are_orderly_consumers():
    with ordered_run() as run:
        assert run.checkers is not None
        assert {ONE_CALL, QUEUE_ORDER, KEY_ORDER} <= {checker.name for checker in run.checkers.checkers}
    with ordered_run(replace=[("orderly: true, ", "")]) as run:
        assert run.checkers is not None
        assert not {ONE_CALL, QUEUE_ORDER, KEY_ORDER} & {checker.name for checker in run.checkers.checkers}


def test_a_member_that_joins_leaves_or_is_killed_violates_nothing():
    with ordered_run() as run:
        run_to(run, 3_000)
        do(run, "kill-consumer", "C1")
        run_to(run, 100_000)
        do(run, "start-consumer", "C1")
        run_to(run, 150_000)
        do(run, "stop-consumer", "C2")
        assert finish(run) == []
        assert len({entry.key for entry in run.world.history.consumes_ended}) == 40


BATCHES = QUICK.replace("{", "{consume_message_batch_max_size: 8, ")


def test_the_messages_of_a_batch_that_one_call_gets_are_in_order():
    with ordered_run(settings=BATCHES, replace=[("duration_ms: 150", "duration_ms: 600")]) as run:
        assert finish(run) == []
        began = [entry.event for entry in run.world.history.consumes_began]
        assert len(set(began)) < len(began) / 2


def test_a_batch_that_begins_while_the_one_before_is_not_done_is_out_of_order():
    off = "switched_off: [message-queue-lock, process-queue-lock, consuming-flag]\n"
    with ordered_run(off, settings=BATCHES, replace=[("duration_ms: 150", "duration_ms: 600")]) as run:
        assert {ONE_CALL, QUEUE_ORDER, KEY_ORDER} <= checkers_of(finish(run))


def test_messages_that_are_redelivered_in_order_violate_nothing():
    with ordered_run() as run:
        run_to(run, 3_300)
        do(run, "kill-consumer", "C1")
        do(run, "kill-consumer", "C2")
        do(run, "start-consumer", "C1")
        do(run, "start-consumer", "C2")
        assert finish(run) == []
        began = [entry.key for entry in run.world.history.consumes_began]
        assert len(began) > len(set(began)), "what had not been stored came twice"


def test_two_clients_with_the_same_message_are_a_duplicate():
    with ordered_run("switched_off: [broker-lock]\n") as run:
        found = of(finish(run), ONE_CALL)
        assert found
        assert found[0].anomaly == "duplicate"
        assert "while a listener call on C1 is still processing" in found[0].text["en"]


def test_a_pause_longer_than_the_lease_in_a_listener_call_is_found_once():
    with ordered_run(settings="{}") as run:
        run_until(run, lambda: run.world.now_us > 1_000_000 and consumer_role(run).listener_calls)
        do(run, "pause-node", "C1")
        run_to(run, 120_000)
        do(run, "resume-node", "C1")
        found = finish(run)
        assert len(of(found, ONE_CALL)) == 1


@pytest.mark.parametrize("lock", ["message-queue-lock", "process-queue-lock"])
def test_a_local_lock_that_is_off_changes_nothing_where_nothing_is_held_up(lock):
    with ordered_run(f"switched_off: [{lock}]\n") as run:
        assert finish(run) == []


def test_two_workers_on_one_queue_of_one_member_are_found():
    off = "switched_off: [message-queue-lock, process-queue-lock, consuming-flag]\n"
    with ordered_run(off, replace=[("duration_ms: 150", "duration_ms: 400")]) as run:
        found = finish(run)
        assert {ONE_CALL, QUEUE_ORDER} <= checkers_of(found)
        assert of(found, ONE_CALL)[0].anomaly == of(found, QUEUE_ORDER)[0].anomaly == "out of order"


def test_a_message_that_is_jumped_over_is_out_of_order():
    with ordered_run(replace=[("duration_ms: 150", "duration_ms: 400")]) as run:
        run_to(run, 1_000)
        consumer = consumer_of(run, "C1")
        run_until(run, lambda: any(len(held.msg_tree_map) > 1 for held in consumer.process_queues.values()))
        held = next(held for held in consumer.process_queues.values() if len(held.msg_tree_map) > 1)
        held.msg_tree_map.poll_first()
        assert QUEUE_ORDER in checkers_of(finish(run))


def test_a_dead_letter_is_done_and_the_next_message_may_begin():
    bad = [
        ("listener: {duration_ms: 150}", "listener: {duration_ms: 50, result: suspend, only_keys: [o0-5]}"),
        (QUICK, "{max_reconsume_times: LIMIT}"),
    ]
    for limit in ("0", "2"):
        with ordered_run(replace=[*bad, ("LIMIT", limit)]) as run:
            assert finish(run) == []
            assert "o0-35" in {entry.key for entry in run.world.history.consumes_ended}


def test_more_queues_break_the_order_of_keys_though_not_of_queues():
    with ordered_run(replace=[("duration_ms: 150", "duration_ms: 600")]) as run:
        run_to(run, 1_500)
        do(run, "queue-count", "Orders", n=5)
        assert checkers_of(finish(run)) == {KEY_ORDER}


def test_the_order_of_a_key_may_skip_what_its_producer_does_not_know_to_be_stored():
    with ordered_run() as run:
        run_to(run, 1_000)
        do(run, "drop-next", "", frame="SEND_MESSAGE_V2")
        assert finish(run) == []


def test_broadcasting_members_are_held_to_it_each_by_itself():
    with ordered_run(replace=[("orderly: true", "orderly: true, model: broadcasting")]) as run:
        assert finish(run) == []
        assert run.checkers is not None
        assert ONE_CALL in {checker.name for checker in run.checkers.checkers}
        assert QUEUE_ORDER not in {checker.name for checker in run.checkers.checkers}


def test_they_are_listed_with_the_others():
    assert {ONE_CALL, QUEUE_ORDER, KEY_ORDER} <= set(CHECKERS)

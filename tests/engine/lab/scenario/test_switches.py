"""Switches of a world: the three locks of ordered consumption and the consuming flag."""

from __future__ import annotations

import pytest

from engine.lab.run.run import LabRun
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.errors import CommandRefused, ScenarioError
from engine.lab.scenario.switches import SWITCHES
from engine.lab.world.faults import NoSuchTarget
from tests.support.lab.lab_scenarios import SECOND_CONSUMER, apply, run_to_ms, small

ORDERLY = ("    start_ms: 100\n", "    orderly: true\n    start_ms: 100\n")
#: A bank has no second member in its group.
BANK = ("    start_ms: 100\n", "    start_ms: 100\n    bank: {name: CCB, account: B}\n")
ORDERLY_SECOND = (SECOND_CONSUMER[0], SECOND_CONSUMER[1].replace("start_ms", "orderly: true, start_ms"))
#: Where each switch is seen.
READERS = {
    "broker-lock": lambda run: run.world.nodes["B1"].broker.rebalance_lock_manager.enabled,
    "message-queue-lock": lambda run: run.world.nodes["C1"].consumer.orderly_switches.message_queue_lock,
    "process-queue-lock": lambda run: run.world.nodes["C1"].consumer.orderly_switches.consume_lock,
    "idempotent-consumer": lambda run: "idempotent-consumer" not in run.world.nodes["C1"].switched_off,
    "consuming-flag": lambda run: run.world.nodes["C1"].consumer.orderly_switches.consuming_flag,
}


def setting(name: str) -> tuple[str, str]:
    """Where that switch means something."""
    return BANK if name == "idempotent-consumer" else ORDERLY


def test_there_is_a_test_for_every_switch_and_every_switch_speaks_both_languages():
    assert sorted(READERS) == sorted(SWITCHES)
    for switch in SWITCHES.values():
        for texts in (switch.name, switch.what):
            assert texts["en"]
            assert any("\u4e00" <= character <= "\u9fff" for character in texts["zh"])


@pytest.mark.parametrize("name", SWITCHES)
def test_a_switch_counts_at_once_on_all_nodes_or_one_and_outlives_the_process(name, started):
    run = started(setting(name))
    read = READERS[name]
    assert read(run)
    apply(run, "lock-switch", lock=name, on=False)
    assert not read(run)
    node = "B1" if name == "broker-lock" else "C1"
    apply(run, "crash", node)
    apply(run, "restart", node)
    run_to_ms(run, 1_200)
    assert not read(run)
    apply(run, "lock-switch", node, lock=name, on=True)
    assert read(run)


@pytest.mark.parametrize("name", SWITCHES)
def test_a_scenario_may_begin_with_a_switch_off(name, started):
    run = started(setting(name), extra=f"switched_off: [{name}]\n")
    assert not READERS[name](run)


def test_who_joins_later_has_the_switches_of_all(started):
    run = started(ORDERLY)
    apply(run, "lock-switch", lock="message-queue-lock", on=False)
    apply(run, "add-consumer", "C9", like="C1")
    run_to_ms(run, 1_500)
    assert not run.world.nodes["C9"].consumer.orderly_switches.message_queue_lock


def test_a_switch_of_one_node_leaves_the_others_alone(started):
    run = started(ORDERLY, ORDERLY_SECOND)
    apply(run, "lock-switch", "C1", lock="process-queue-lock", on=False)
    assert not run.world.nodes["C1"].consumer.orderly_switches.consume_lock
    assert run.world.nodes["C2"].consumer.orderly_switches.consume_lock


def test_a_switch_that_a_node_does_not_have_is_refused(started):
    run = started(ORDERLY)
    with pytest.raises(NoSuchTarget, match="has no switch message-queue-lock; nodes with this switch: C1"):
        apply(run, "lock-switch", "B1", lock="message-queue-lock", on=False)
    with pytest.raises(NoSuchTarget, match="has no switch broker-lock; nodes with this switch: B1"):
        apply(run, "lock-switch", "C1", lock="broker-lock", on=False)
    with pytest.raises(CommandRefused, match="allowed: broker-lock, message-queue-lock"):
        parse_command({"kind": "lock-switch", "lock": "door", "on": False})
    with pytest.raises(ScenarioError, match=r"switched_off: 'door' is not allowed; allowed: broker-lock"):
        small(extra="switched_off: [door]\n")


def test_with_the_broker_lock_off_two_members_consume_a_queue_side_by_side():
    slow = ("duration_ms: 20}", "duration_ms: 2000}")
    late = (ORDERLY_SECOND[0], ORDERLY_SECOND[1].replace("start_ms: 150", "start_ms: 1000"))
    for extra, expected in (("", set()), ("switched_off: [broker-lock]\n", {"one-consumption-per-queue"})):
        with LabRun(small(ORDERLY, late, slow, extra=extra)) as run:
            run_to_ms(run, 29_000)
            assert {violation.checker for violation in run.violations} == expected


def test_a_forced_unlock_brings_a_new_process_queue_at_once(started):
    run = started(ORDERLY)
    consumer = run.world.nodes["C1"].consumer
    (queue,) = (queue for queue in consumer.process_queues if queue.topic == "T" and queue.queue_id == 2)
    before = consumer.process_queues[queue]
    apply(run, "forced-unlock", "C1", queue_id=2)
    run_to_ms(run, 1_200)
    assert before.dropped
    assert consumer.process_queues[queue] is not before
    with pytest.raises(NoSuchTarget, match="C1 does not own queue 9 of T now"):
        apply(run, "forced-unlock", "C1", queue_id=9)

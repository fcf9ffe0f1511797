"""Where idempotence is not enough: calls that cannot be rolled back, ids that are not unique, a store that forgets."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from engine.lab.nodes.consumer_node import ConsumerNode
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario
from tests.support.lab.lab_scenarios import apply, run_to_ms


@pytest.fixture
def begun() -> Iterator[Callable[[str], LabRun]]:
    """A run of a scenario that comes with GlassMQ."""
    runs: list[LabRun] = []

    def begin(name: str) -> LabRun:
        runs.append(LabRun(load_scenario(name)))
        return runs[-1]

    yield begin
    for run in runs:
        run.close()


def set_(run: LabRun, node: str, name: str, value: object) -> None:
    apply(run, "setting", node, name=name, value=value)


def reported(run: LabRun) -> list[tuple[str, str]]:
    """Checker and message of each violation, at the end of the story."""
    run.run_to_time(run.world.end_us)
    return [(violation.checker, str(violation.element.get("message"))) for violation in run.violations]


def effects(run: LabRun, order: str) -> list[str]:
    return [entry.effect for entry in run.world.history.work_done if entry.key == order]


# --- six steps -------------------------------------------------------------------------------------------------------


def test_a_call_of_work_that_failed_is_made_again(begun):
    run = begun("six-steps")
    assert reported(run) == [("work-done-once", "order-2")]
    assert effects(run, "order-2") == ["lock-stock", "notify", "lock-stock", "place", "pay"]


def test_work_that_takes_its_calls_back_has_called_once_in_the_end(begun):
    run = begun("six-steps")
    set_(run, "C1", "work_undoes_calls", True)
    assert reported(run) == []
    assert effects(run, "order-2") == ["lock-stock", "notify", "unlock-stock", "lock-stock", "place", "pay"]


def test_a_service_that_knows_the_order_needs_no_compensation(begun):
    run = begun("six-steps")
    set_(run, "S1", "service_is_idempotent", True)
    assert reported(run) == []
    assert effects(run, "order-2").count("lock-stock") == 1


@pytest.mark.parametrize(("end", "violated"), [("stop-consumer", []), ("crash", [("work-done-once", "order-3")])])
def test_an_orderly_stop_waits_for_the_work_and_a_crash_leaves_its_calls_behind(begun, end, violated):
    run = begun("six-steps")
    set_(run, "C1", "work_undoes_calls", True)
    run_to_ms(run, 4_200)
    assert effects(run, "order-3") == ["lock-stock"]
    apply(run, end, "C1")
    run_to_ms(run, 6_000)
    apply(run, "start-consumer", "C1")
    assert reported(run) == violated


def test_one_that_stops_at_the_first_failure_does_nothing_more_until_somebody_resumes_it(begun):
    run = begun("six-steps")
    set_(run, "C1", "idempotence_stops_after", 1)
    run_to_ms(run, 20_000)
    (alarm,) = run.world.history.alarms_raised
    assert (alarm.node, alarm.key, alarm.deliveries) == ("C1", "order-2", 1)
    consumer = run.world.nodes["C1"]
    assert isinstance(consumer, ConsumerNode)
    assert consumer.alarm == alarm
    assert [effects(run, f"order-{n}") for n in (2, 3, 4)] == [["lock-stock", "notify"], [], []]
    set_(run, "S1", "service_is_idempotent", True)
    apply(run, "resume-consumer", "C1")
    assert consumer.alarm is None
    assert reported(run) == []
    assert all(effects(run, f"order-{n}")[-1] == "pay" for n in range(6))


# --- sub-messages ----------------------------------------------------------------------------------------------------


def run_to_step(run: LabRun, node: str, label: str, after_ms: int) -> None:
    """Until ``node`` has come to that step, later than that."""
    run_to_ms(run, after_ms)
    seen = len(run.world.journal.entries)
    while True:
        run.run_events(1)
        for entry in run.world.journal.entries[seen:]:
            if entry.actor.startswith(f"{node}/") and entry.label == label:
                return
        seen = len(run.world.journal.entries)


def test_each_relay_hands_the_order_on_when_its_work_is_committed(begun):
    run = begun("sub-messages")
    assert reported(run) == []
    assert effects(run, "order-3") == ["take", "place", "note", "pay"]
    assert [entry.result for entry in run.world.history.transactions_ended] == ["commit"] * 12


def test_a_half_message_whose_sender_died_after_its_commit_is_committed_when_it_is_asked_for(begun):
    run = begun("sub-messages")
    run_to_step(run, "C2", "looks for the next message", after_ms=3_000)
    apply(run, "crash", "C2")
    run_to_ms(run, 5_000)
    apply(run, "restart", "C2")
    assert reported(run) == []
    checks = [entry for entry in run.world.history.transactions_ended if entry.check]
    assert [(entry.key, entry.result) for entry in checks] == [("order-2-C2", "commit")]


def test_who_answers_for_a_paused_sender_and_says_rollback_keeps_its_word(begun):
    """Else its transaction would be committed later, its message acknowledged, and the next one lost."""
    run = begun("sub-messages")
    apply(run, "add-consumer", "C2b", like="C2")
    run_to_step(run, "C2", "executes the local transaction", after_ms=2_900)
    apply(run, "pause-node", "C2")
    run_to_ms(run, 20_000)
    checks = [entry for entry in run.world.history.transactions_ended if entry.check]
    assert {entry.result for entry in checks if entry.key.endswith("-C2")} == {"rollback"}
    apply(run, "resume-node", "C2")
    assert reported(run) == []
    for number in range(4):
        assert effects(run, f"order-{number}") == ["take", "place", "note", "pay"]


def test_a_retry_does_not_take_the_half_message_of_another_that_stands_at_its_offset(begun):
    """The retry of order-0 is at offset 0 of the retry queue while order-1 is worked on, at offset 0 of its queue."""
    run = begun("sub-messages")
    run_to_ms(run, 900)
    apply(run, "crash", "D1")
    run_to_ms(run, 1_500)
    apply(run, "restart", "D1")
    assert reported(run) == []
    ended = [(entry.key, entry.result) for entry in run.world.history.transactions_ended]
    assert ("order-0-C1-2", "commit") in ended
    assert ("order-1-C1", "commit") in ended


def test_a_relay_that_breaks_off_is_found(begun):
    """An administrator rolls back by hand what its sender has committed."""
    run = begun("sub-messages")
    run_to_step(run, "C2", "looks for the next message", after_ms=3_000)
    apply(run, "crash", "C2")
    apply(run, "rollback-half", "B1", message="order-2-C2", anyway=True)
    run_to_ms(run, 5_000)
    apply(run, "restart", "C2")
    assert ("acknowledged-work-is-done", "order-2-C1") in reported(run)


# --- ids and stores --------------------------------------------------------------------------------------------------


def test_ids_of_workers_with_numbers_of_their_own_differ(begun):
    assert reported(begun("global-ids")) == []


@pytest.mark.parametrize("how", ["one number", "clock back"])
@pytest.mark.parametrize("checks_body", [False, True])
def test_of_two_orders_with_one_id_the_second_is_swallowed_or_reported(begun, how, checks_body):
    run = begun("global-ids")
    set_(run, "C1", "idempotence_checks_body", checks_body)
    run_to_ms(run, 2_500)
    if how == "one number":
        set_(run, "P2", "identifier_worker", 1)
    else:
        apply(run, "clock-skew", "P1", ms=-2_000)
    found = reported(run)
    verdicts = {entry.verdict for entry in run.world.history.deliveries_judged}
    if checks_body:
        assert found == []
        assert verdicts == {"first", "different-body"}
    else:
        assert {checker for checker, _ in found} == {"acknowledged-work-is-done"}
        assert verdicts == {"first", "swallowed"}


def test_a_producer_that_waits_for_its_clock_gives_no_id_twice(begun):
    run = begun("global-ids")
    set_(run, "P1", "identifier_waits_for_clock", True)
    run_to_ms(run, 2_500)
    apply(run, "clock-skew", "P1", ms=-2_000)
    assert reported(run) == []
    assert {entry.verdict for entry in run.world.history.deliveries_judged} == {"first"}


def test_what_the_replica_never_heard_of_is_done_again_and_found(begun):
    run = begun("forgetful-store")
    assert reported(run) == [("work-done-once", "order-2")]
    assert {entry.key for entry in run.world.nodes["R1"].forgotten}
    verdicts = [(one.order, one.verdict) for one in run.world.history.deliveries_judged if one.verdict == "swallowed"]
    assert verdicts == [("order-1", "swallowed")]


def test_records_in_the_database_of_the_work_are_not_forgotten(begun):
    run = begun("forgetful-store")
    set_(run, "C1", "idempotence_strategy", "message-table")
    assert reported(run) == []

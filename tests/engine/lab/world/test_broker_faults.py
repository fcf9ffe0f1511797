"""Faults of a broker itself in the lab: rules for its frames, its lock table, its disk; what each leads to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from engine.lab.run.run import LabRun
from engine.lab.scenario.command import parse_command
from engine.lab.scenario.errors import CommandRefused
from engine.lab.scenario.scenario_files import load_scenario
from tests.support.lab.lab_scenarios import SECOND_CONSUMER, apply, run_to_ms, small, successes

ALL_KEYS = sorted(f"k-{number}" for number in range(20))
BATCHES = ("count: 20, every_ms: 100", "count: 20, every_ms: 100, batch: 8")


@pytest.fixture
def begun() -> Iterator[Callable[[str, int], LabRun]]:
    """``begun(scenario, ms)``: a run at that time."""
    runs: list[LabRun] = []

    def begin(scenario: str, time_ms: int) -> LabRun:
        runs.append(LabRun(load_scenario(scenario)))
        return run_to_ms(runs[-1], time_ms)

    yield begin
    for run in runs:
        run.close()


def injector_of(run):
    return run.world.nodes["B1"].injector


def break_frames(run, what, frame="", **fields):
    apply(run, "fault", "B1", what=what, frame=frame, **fields)
    return injector_of(run).rules[-1]


def stored(run):
    """Return key -> number of copies in the broker's log."""
    store = run.world.brokers()[0].broker.store
    places = [(queue_id, offset) for queue_id in range(4) for offset in range(store.max_offset("T", queue_id))]
    return Counter(store.message_in_queue("T", *place).keys[0] for place in places)


# --- rules for single frames ------------------------------------------------------------------------------------------


def test_a_dropped_end_transaction_is_checked_back(begun):
    run = begun("end-transaction-twice", 100)
    rule = break_frames(run, "drop", "END_TRANSACTION", times=1)
    run_to_ms(run, 60_000)
    assert rule.hits == 1
    lost = injector_of(run).hits[0]
    assert (lost.frame, lost.direction, lost.client.count("@")) == ("END_TRANSACTION", "in", 1)
    assert {*successes(run)} == {call.key for call in run.world.history.sends_returned}


def test_a_rejected_pull_makes_the_client_back_off(started):
    run = started(to_ms=400)
    rule = break_frames(run, "reject", "PULL_MESSAGE", group="g")
    run_to_ms(run, 20_000)
    seconds, queues = 19.6, 5  # one of them for retries; pull_time_delay_when_exception_ms is a second
    assert len(successes(run)) <= queues, "what the pulls brought that waited at the broker already"
    assert 2 * queues <= rule.hits <= (seconds + 1) * queues
    apply(run, "clear-faults", "B1")
    run_to_ms(run, 30_000)
    assert sorted(successes(run)) == ALL_KEYS


def test_a_cut_in_mid_batch_is_sent_again_as_a_whole():
    with LabRun(small(BATCHES)) as run:
        run_to_ms(run, 400)
        rule = break_frames(run, "cut", "reply to SEND_BATCH_MESSAGE", times=1)
        run_to_ms(run, 30_000)
        assert rule.hits == 1
        twice = {key for key, count in stored(run).items() if count == 2}
        assert sorted(stored(run)) == ALL_KEYS
        assert len(twice) in (0, 8), "all of the batch or nothing"


def test_a_duplicated_send_is_stored_twice_and_reported_once(started):
    run = started(to_ms=400)
    break_frames(run, "duplicate", "SEND_MESSAGE_V2", key="k-7")
    run_to_ms(run, 30_000)
    assert {key: count for key, count in stored(run).items() if count > 1} == {"k-7": 2}
    assert Counter(sent.key for sent in run.world.history.sends_returned)["k-7"] == 1
    assert Counter(successes(run))["k-7"] == 2


def test_a_send_that_is_answered_late_was_stored_and_times_out(started):
    run = started(to_ms=400)
    break_frames(run, "answer-late", "SEND_MESSAGE_V2", key="k-3", ms=20_000)
    run_to_ms(run, 30_000)
    (sent,) = [sent for sent in run.world.history.sends_returned if sent.key == "k-3"]
    assert sent.status == "unknown"
    assert stored(run)["k-3"] >= 1


@pytest.mark.parametrize(
    ("what", "code", "until_ms"),
    [
        ("drop", "SYSTEM_ERROR", 60_000),  # unanswered, it hangs up: the broker sees that at once
        ("reject", "SUCCESS", 170_000),  # it believes that all is well: the broker waits for two minutes
    ],
)
def test_a_member_whose_heartbeats_do_not_arrive_loses_its_queues_though_it_connects_anew(what, code, until_ms):
    with LabRun(small(SECOND_CONSUMER, ("duration_ms: 30000", "duration_ms: 240000"))) as run:
        run_to_ms(run, 10_000)
        members = [consumer.consumer for consumer in run.world.consumers()]
        host = members[1].instance.client_id.partition("@")[0]
        break_frames(run, what, "HEART_BEAT", client=f"{host}@*", code=code)

        def shares():
            return [len([queue for queue in member.process_queues if queue.topic == "T"]) for member in members]

        run_to_ms(run, until_ms - 45_000)
        assert shares() == [2, 2]
        run_to_ms(run, until_ms)
        assert shares() == [4, 0]
        run_to_ms(run, 240_000)
        assert shares() == [4, 0]


def test_the_times_of_a_rule_are_those_of_the_world(started):
    run = started(to_ms=400)
    rule = break_frames(run, "drop", "HEART_BEAT", for_ms=1_000)
    run_to_ms(run, 1_399)
    assert injector_of(run).is_active
    run_to_ms(run, 1_401)
    assert rule.is_spent(run.world.nodes["B1"].runtime.clock.now_ms())


def test_rules_belong_to_the_machine_and_outlive_the_process(started):
    run = started(to_ms=400)
    break_frames(run, "drop", "SEND_MESSAGE_V2")
    apply(run, "crash", "B1")
    apply(run, "restart", "B1")
    run_to_ms(run, 4_000)
    assert run.world.brokers()[0].broker.store.commit_log.max_offset == 0


def test_a_run_with_rules_of_chance_can_be_repeated():
    hashes = []
    for _ in range(2):
        with LabRun(small()) as run:
            run_to_ms(run, 400)
            break_frames(run, "delay", ratio=0.3, seed=7, ms=40)
            break_frames(run, "drop", "PULL_MESSAGE", every=3)
            run_to_ms(run, 30_000)
            assert injector_of(run).totals["delay"] > 5
            hashes.append(run.journal_hash)
    assert hashes[0] == hashes[1]


# --- the lock table ---------------------------------------------------------------------------------------------------


def test_a_lock_that_was_given_away_is_anothers_at_once_and_its_owner_is_not_reported(begun):
    run = begun("three-locks", 4_100)
    locks = run.world.brokers()[0].broker.rebalance_lock_manager
    first, second = (run.world.nodes[name].consumer for name in ("C1", "C2"))
    apply(run, "give-lock", "B1", group="shop", topic="Orders", queue_id=1, to="C2")
    owners = {(queue.topic, queue.queue_id): entry.client_id for _, queue, entry in locks.entries()}
    assert owners["Orders", 1] == second.instance.client_id
    assert owners["Orders", 0] == first.instance.client_id
    assert any(queue.queue_id == 1 and process_queue.locked for queue, process_queue in first.process_queues.items())


def test_a_group_whose_lock_is_off_is_granted_whatever_it_asks_for(begun):
    run = begun("three-locks", 3_900)
    apply(run, "group-lock", "B1", group="shop", on=False)
    run_to_ms(run, 14_000)
    assert run.violations
    other = begun("three-locks", 3_900)
    apply(other, "group-lock", "B1", group="another", on=False)
    run_to_ms(other, 14_000)
    assert not other.violations


# --- the disk ---------------------------------------------------------------------------------------------------------


def test_a_broker_whose_disk_failed_to_flush_refuses_messages_until_it_is_started_on_a_sound_one():
    with LabRun(small(("    role: broker\n", "    role: broker\n    flush: sync\n"))) as run:
        run_to_ms(run, 400)
        apply(run, "fail-fsync", "B1", on=False)
        run_to_ms(run, 1_500)
        sent = run.world.history.sends_returned
        assert sent[0].detail == "FLUSH_DISK_TIMEOUT"
        assert {one.status for one in sent[1:]} == {"refused"}
        apply(run, "fail-fsync", "B1", on=True)
        run_to_ms(run, 1_800)
        assert sent[-1].status == "refused"
        apply(run, "crash", "B1")
        apply(run, "restart", "B1")
        run_to_ms(run, 30_000)
        assert sent[-1].status == "ok"


# --- what cannot be ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ({"kind": "fault", "target": "B1", "what": "hold"}, "lab"),
        ({"kind": "fault", "target": "B1", "what": "reject", "frame": "reply"}, "reject"),
        ({"kind": "fault", "target": "P1", "what": "drop"}, "applies to brokers only"),
        ({"kind": "give-lock", "target": "B1", "group": "g", "topic": "T", "to": "C1"}, "lock"),
        ({"kind": "give-lock", "target": "B1", "group": "g", "topic": "T", "to": "P1"}, "applies to consumers only"),
    ],
)
def test_a_fault_that_makes_no_sense_is_refused_and_nothing_happens(started, command, words):
    run = started()
    with pytest.raises(CommandRefused, match=words):
        run.apply(parse_command(command))
    assert injector_of(run).rules == ()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "what"),
        ({"what": "explode"}, "drop, delay, duplicate"),
        ({"what": "drop", "topic": "a*b"}, "topic"),
        ({"what": "drop", "client": ".*(a+)+$"}, "client"),
        ({"what": "drop", "key": "k" * 256}, "key"),
        ({"what": "drop", "frame": "PULL"}, "frame"),
        ({"what": "drop", "direction": "up"}, "in, out"),
        ({"what": "reject", "code": "NO"}, "SYSTEM_ERROR"),
        ({"what": "drop", "every": 0}, "every"),
        ({"what": "drop", "ratio": 1.5}, "ratio"),
        ({"what": "drop", "times": -1}, "times"),
        ({"what": "delay", "ms": 86_400_001}, "ms"),
        ({"what": "drop", "until": 3}, "until"),
    ],
)
def test_a_rule_with_a_field_that_cannot_be_names_it_and_what_is_allowed(fields, words):
    with pytest.raises(CommandRefused) as refused:
        parse_command({"kind": "fault", "target": "B1", **fields})
    assert words in str(refused.value)
    assert {*dict(refused.value.text)} == {"en", "zh"}

"""Why twice, late, not yet, lost: the answers name causes, and events that did what they say."""

import dataclasses
import json
from itertools import pairwise

import pytest

from engine.lab.scenario.scenario_files import load_scenario
from engine.lab.sweep.fault_plan import draw_faults
from engine.lab.sweep.sweep import run_with_faults
from engine.lab.why.answer import WhyQuestion
from engine.lab.why.why_run import WhyRun, why
from tests.engine.lab.why.asking import TimedActions, asked, keys_of, played

BROKER_LOCK_OFF: TimedActions = ((5_650, (("kind", "lock-switch"), ("lock", "broker-lock"), ("on", False))),)


# --- twice


def test_without_the_broker_lock_two_consumers_get_a_message_at_once():
    answer = asked("start-page", "ann4", WhyQuestion.TWICE, actions=BROKER_LOCK_OFF)
    assert answer.cause == "broker-lock-off"
    assert keys_of(answer.steps) == [
        "began",
        "lock_off",
        "frame_lost",
        "begins_at",
        "pulled",
        "began_again",
        "ended",
        "ended",
    ]
    first, second = (step for step in answer.steps if step.text.key.startswith("why.step.began"))
    assert (first.node, second.node) == ("C1", "C2")


def test_three_locks_tells_of_the_broker_lock_too():
    recording, _ = played("three-locks", actions=((3_900, BROKER_LOCK_OFF[0][1]),))
    with WhyRun(recording, []) as run:
        run.advance(lambda: False)
        began = [entry.key for entry in run.evidence.history.consumes_began]
    twice = [key for key in dict.fromkeys(began) if began.count(key) > 1]
    answers = [asked("three-locks", key, WhyQuestion.TWICE, actions=((3_900, BROKER_LOCK_OFF[0][1]),)) for key in twice]
    assert "broker-lock-off" in [one.cause for one in answers]


def test_a_lost_offset_and_a_crash_bring_a_message_again():
    answer = asked("lost-offset-commit", "order-3", WhyQuestion.TWICE)
    assert answer.cause == "commit-lost-and-died"
    steps = keys_of(answer.steps)
    assert [step for step in steps if step in ("frame_lost", "crashed", "begins_at", "began_again")] == [
        "frame_lost",
        "crashed",
        "begins_at",
        "began_again",
    ]
    begins = next(step for step in answer.steps if step.text.key == "why.step.begins_at")
    assert begins.node == "C2"
    assert begins.text.arguments["offset"] == 1


def test_a_failure_brings_a_message_again_and_only_the_groups_own_copies_are_reported():
    answer = asked("retry-to-dead-letter", "order-3", WhyQuestion.TWICE, "hasty", to_ms=60_000)
    assert answer.cause == "retry"
    given_back = [step for step in answer.steps if step.text.key == "why.step.given_back"]
    assert [step.text.arguments["group"] for step in given_back] == ["hasty", "hasty"]


def test_a_batch_comes_again_when_one_message_of_it_fails():
    answer = asked("batch-partial-ack", "order-0", WhyQuestion.TWICE, "kafka-retries")
    assert answer.cause == "batch-again"


# --- late


def test_a_delayed_messages_time_went_into_its_level():
    answer = asked("delay-levels", "level-5-0", WhyQuestion.LATE, to_ms=90_000)
    assert answer.cause == "delayed"
    assert [(step.text.arguments["reason"].key, step.span_us // 1_000_000) for step in answer.steps[:2]] == [
        ("why.late.delayed", 60),
        ("why.late.retry_delay", 10),
    ]


def test_the_spans_of_a_late_message_have_no_gap_and_the_largest_comes_first():
    answer = asked("killed-owner-waits-60s", "order-30", WhyQuestion.LATE)
    assert answer.cause == "locked-for"
    spans = [step.span_us for step in answer.steps]
    assert spans == sorted(spans, reverse=True)
    assert spans[0] > 54_000_000
    ordered = sorted(answer.steps, key=lambda step: step.time_us)
    assert all(a.time_us + a.span_us <= b.time_us for a, b in pairwise(ordered))


def test_in_a_blocked_queue_a_message_is_late_behind_the_one_that_fails():
    answer = asked("blocked-queue", "order-5", WhyQuestion.LATE, "for-ever")
    assert answer.cause == "behind-failed"
    assert answer.steps[0].text.arguments["reason"].arguments["names"] == "order-3"


# --- not yet


def test_a_message_after_a_failing_one_shows_when_it_will_come():
    answer = asked("blocked-queue", "order-5", WhyQuestion.NOT_YET, "for-ever", to_ms=20_000)
    assert answer.cause == "behind"
    assert [(step.is_ahead, step.kind) for step in answer.steps][-2:] == [(True, "listener"), (True, "listener")]


def test_a_killed_owners_lock_is_named_with_its_end_and_the_next_owner():
    answer = asked("killed-owner-waits-60s", "order-30", WhyQuestion.NOT_YET, to_ms=20_000)
    assert answer.cause == "lock"
    assert keys_of(answer.steps)[-5:] == ["stored", "lock_passes", "takes_over", "began", "ended"]
    assert [step.node for step in answer.steps if step.is_ahead] == ["B1", "C2", "C2", "C2"]
    # What it foresees is what comes.
    recording, actors = played("killed-owner-waits-60s")
    began = next(step for step in answer.steps if step.is_ahead and step.text.key == "why.step.began")
    assert actors[began.event].startswith("C2/worker")
    assert recording.event > began.event


@pytest.mark.parametrize(
    ("name", "key", "asks"), [("producer-lost", "order-1", 1), ("unknown-and-check-back", "transfer-1", 2)]
)
def test_an_undecided_half_message_waits_for_a_check(name, key, asks):
    answer = asked(name, key, WhyQuestion.NOT_YET, to_ms=8_000)
    assert answer.cause == "undecided"
    ahead = keys_of(step for step in answer.steps if step.is_ahead)
    assert ahead == ["half_again"] * asks + ["stored", "began", "ended"]


def test_the_end_of_a_transaction_that_was_lost_is_reported():
    answer = asked("producer-lost", "order-1", WhyQuestion.NOT_YET, to_ms=8_000)
    lost = next(step for step in answer.steps if step.text.key == "why.step.frame_lost")
    assert lost.text.arguments["name"] == "END_TRANSACTION"


# --- lost


def test_who_acknowledges_early_loses_what_it_had_when_it_died():
    answer = asked("early-ack-loses", "order-30", WhyQuestion.LOST, "careless")
    assert answer.cause == "early-ack"
    assert keys_of(answer.steps)[-2:] == ["commit", "crashed"]


def test_a_power_cut_takes_an_acknowledged_message():
    answer = asked("broker-crash-async-flush", "order-20", WhyQuestion.LOST)
    assert answer.cause == "power-cut"
    assert keys_of(answer.steps) == ["sends", "stored", "sent.ok", "power_cut", "gone"]


def test_a_dead_letter_is_reported_with_its_tries():
    answer = asked("retry-to-dead-letter", "order-3", WhyQuestion.LOST, "hasty", to_ms=60_000)
    assert answer.cause == "dead-letter"
    assert keys_of(answer.steps).count("given_back") == 2


def test_a_half_message_that_nobody_decides_is_given_up_after_its_checks():
    answer = asked("check-max-discard", "transfer-0", WhyQuestion.LOST, to_ms=100_000)
    assert answer.cause == "nobody-decided"
    assert keys_of(answer.steps).count("half_again") == 5
    assert keys_of(answer.steps)[-1] == "given_up"


# --- further causes


@pytest.mark.parametrize(
    ("name", "key", "question", "group", "cause"),
    [
        ("13-filters", "tag-0", WhyQuestion.LOST, "wants-aa", "filtered"),
        ("broadcast-drops", "notice-2", WhyQuestion.LOST, "screens/C2", "dropped"),
        ("15-auditing-with-spark", "order-0", WhyQuestion.LOST, "shipping", "began-later"),
        ("subscription-mismatch", "order-26", WhyQuestion.LOST, "kitchen", "members-differ"),
        ("subscription-mismatch", "refund-0", WhyQuestion.NOT_YET, "office", "members-differ"),
        ("12-batches", "late-0", WhyQuestion.LOST, None, "never-stored"),
        ("07-half-messages", "hi-1", WhyQuestion.LOST, "cg", "rolled-back"),
        ("09-check-back", "slow-0", WhyQuestion.TWICE, None, "committed-twice"),
        ("early-ack-loses", "order-12", WhyQuestion.TWICE, "careful", "died-in-listener"),
        ("15-auditing-with-spark", "order-20", WhyQuestion.TWICE, None, "died-before-commit"),
        ("send-back-lost", "order-2", WhyQuestion.TWICE, None, "not-given-back"),
        ("slow-consumer-flow-control", "order-60", WhyQuestion.LATE, None, "throttled"),
        ("consume-timeout", "order-2", WhyQuestion.TWICE, None, "timed-out"),
        ("lock-expiry", "order-19", WhyQuestion.TWICE, None, "stood-still"),
        ("rebalance-on-crash", "order-28", WhyQuestion.TWICE, None, "died-before-commit"),
    ],
)
def test_the_cause_is_named(name, key, question, group, cause):
    assert asked(name, key, question, group).cause == cause


@pytest.mark.parametrize(
    ("name", "actions", "key", "cause"),
    [
        (
            "hello",
            ((900, (("kind", "duplicate-next"), ("target", "P1->B1"), ("frame", "SEND_MESSAGE_V2"))),),
            "hello-0",
            "frame-doubled",
        ),
        (
            "two-consumers",
            ((100, (("kind", "lock-switch"), ("lock", "process-queue-lock"), ("on", False))),),
            "order-0",
            "consume-lock-off",
        ),
        (
            "13-filters",
            ((900, (("kind", "drop-next"), ("frame", "reply to CONSUMER_SEND_MSG_BACK"))),),
            "again-0",
            "given-back-twice",
        ),
    ],
)
def test_what_somebody_did_is_named_as_the_cause(name, actions, key, cause):
    answer = asked(name, key, WhyQuestion.TWICE, actions=actions)
    assert answer.cause == cause
    assert "fault" in [step.kind for step in answer.steps]


def test_what_the_broker_counts_as_consumed_while_the_listener_has_it_is_in_danger():
    answer = asked("early-ack-loses", "order-0", WhyQuestion.NOT_YET, "careless", to_ms=1_200)
    assert answer.cause == "acknowledged"
    assert "commit" in keys_of(answer.steps)


# --- all


def test_what_is_answered_stays_the_same_and_bounded():
    recording, _ = played("retry-to-dead-letter", 400_000)
    assert why(recording, "order-3").to_dict() == why(recording, "order-3").to_dict()
    assert why(recording, "nobody-sent-this").answers == ()


@pytest.mark.parametrize("name", ["general", "sql-filter", "unknown-and-check-back", "two-consumers"])
@pytest.mark.parametrize("seed", [1, 2])
def test_whatever_breaks_there_is_an_answer_for_every_group(name, seed):
    scenario = load_scenario(name)
    made = []
    run_with_faults(
        scenario,
        seed,
        draw_faults(scenario, seed),
        lambda run: made.append((run.recording(), [entry.key for entry in run.world.history.sends_invoked])),
    )
    recording, keys = made[0]
    for event in (recording.event, recording.event // 3):
        with WhyRun(dataclasses.replace(recording, event=event, time_us=0), keys[::7]) as run:
            answers = run.advance(lambda: False)
        sent = [one for one in answers if one.answers]
        assert sent
        for one in sent:
            groups = {answer.group for answer in one.answers}
            settled = {answer.group for answer in one.answers if answer.question is not WhyQuestion.TWICE}
            assert groups == settled, "each has it, will have it, or never gets it"
            assert json.dumps(one.to_dict())


def test_it_works_in_slices():
    recording, _ = played("hello")
    key = "hello-3"
    with WhyRun(recording, [key, "hello-4"]) as run:
        slices = 0
        while (answers := run.advance(iter([False, True]).__next__)) is None:
            slices += 1
    assert slices > 3
    assert [one.key for one in answers] == [key, "hello-4"]
    assert answers[0].to_dict() == why(recording, key).to_dict()


def test_the_story_of_two_locks_reads_in_both_languages():
    answer = asked("start-page", "ann4", WhyQuestion.TWICE, actions=BROKER_LOCK_OFF)
    assert answer.verdict["en"] == (
        "C2 received ann4 while C1 was still processing it: "
        "B1's lock was off, so both consumers were granted Orders Q1."
    )
    assert answer.verdict["zh"] == "C1 还在处理 ann4，C2 又收到了它：B1 的锁已关闭，Orders Q1 同时授予了两个消费者。"
    assert [step.text["en"] for step in answer.steps[3:6]] == [
        "C2 takes over Orders Q1 and starts at offset 4, as stored by the broker.",
        "C2 pulls it into its process queue.",
        "C2's listener receives ann4 again: delivery 2 (Orders Q1, offset 4).",
    ]


def test_the_wait_for_a_dead_owners_lock_reads_in_both_languages():
    answer = asked("killed-owner-waits-60s", "order-30", WhyQuestion.NOT_YET, to_ms=20_000)
    assert answer.verdict["en"].startswith(
        "order-30: no consumer may pull Orders Q0: B1 keeps it locked for C1 until 61.102 s, 41.1 s from now. "
        "If nothing else changes, C2 receives it at 70.4"
    )
    assert answer.verdict["zh"].startswith("order-30：没有消费者能拉取 Orders Q0：B1 为 C1 锁着它直到 61.102 s")

"""What the beginning of the read part hides is not a finding, and what cannot be known is not reported. Without
Spark.
"""

from __future__ import annotations

import pytest

from engine.pipeline.jobs.transaction_reconciliation.verdicts import OpQueue
from engine.pipeline.jobs.transaction_reconciliation.words import Status, TransactionAnomaly
from tests.support.pipeline.judged_facts import JudgedFacts
from tests.support.pipeline.transaction_log import TransactionLog


def put_off(log, identity, first):
    """A copy of a half message that is immune to checks."""
    log.half(identity)["properties"]["TRAN_PREPARED_QUEUE_OFFSET"] = str(first["queue_offset"])


def test_an_answer_that_names_a_copy_from_before_everything_that_was_read_has_its_op_message():
    log = TransactionLog()
    first = log.half("t")
    log.half("w")
    log.rows.clear()
    log.now_ms += 1
    log.half("t", checks=1)["commit_log_offset"] = 200
    log.commit("t", first)
    log.now_ms += 60_000
    log.roll_back("w")
    assert JudgedFacts().read(log.rows).verdicts()["t"] == (Status.COMMITTED, [])


def test_an_op_message_that_names_the_first_place_of_a_half_message_that_was_put_off_means_it():
    log = TransactionLog()
    log.half("before")
    first = log.half("t")
    log.rows.clear()
    put_off(log, "t", first)
    log.roll_back("t", first)
    assert JudgedFacts().read(log.rows).verdicts() == {"t": (Status.ROLLED_BACK, [])}


@pytest.mark.parametrize("is_reversed", [False, True])
def test_nobody_takes_the_op_message_of_another_one_by_saying_that_he_lay_there(is_reversed):
    log = TransactionLog()
    victim = log.half("victim")
    put_off(log, "a thief", victim)
    log.roll_back("victim")
    rows = list(reversed(log.rows)) if is_reversed else log.rows
    assert JudgedFacts().read(rows).verdicts() == {
        "victim": (Status.ROLLED_BACK, []),
        "a thief": (Status.OPEN, []),
    }


@pytest.mark.parametrize("reported", ["7", "x", "-1", "9" * 30, ""])
def test_a_first_place_that_cannot_be_is_not_believed(reported):
    log = TransactionLog()
    log.half("t")["properties"]["TRAN_PREPARED_QUEUE_OFFSET"] = reported
    log.op(7)
    assert JudgedFacts().read(log.rows).verdicts()["t"] == (Status.OPEN, [])


@pytest.mark.parametrize(("later_ms", "findings"), [(9_000, []), (11_000, [TransactionAnomaly.COMMITTED_WITHOUT_OP])])
def test_an_op_message_may_be_stored_after_those_of_later_answers(later_ms, findings):
    """Answers are handled side by side, and RocketMQ 5 gathers op messages for some seconds."""
    log = TransactionLog()
    log.half("t")
    log.half("other")
    log.visible("t")
    log.now_ms += later_ms
    log.roll_back("other")
    assert JudgedFacts().read(log.rows).verdicts()["t"] == (Status.COMMITTED, findings)


def test_how_long_a_message_was_kept_back_is_not_reported_without_its_first_copy():
    log = TransactionLog()
    log.half("t")
    log.visible("t")
    first = log.halves["t"]
    log.half("t", checks=1)
    log.commit("t", first)
    whole = JudgedFacts().read(log.rows).summary()
    assert [(from_ms < to_ms, to_ms - from_ms) for _, _, from_ms, to_ms in whole.longest] == [(True, 1)]
    for rows in (log.rows[1:], log.rows[2:]):
        cut = JudgedFacts().read(rows).summary()
        assert (cut.longest, cut.windows.count) == ([], 0)


def test_of_transactions_for_retry_topics_nothing_is_said():
    """Their commits look like what consumers sent back."""
    log = TransactionLog(topic="%RETRY%g")
    log.half("t")
    log.commit("t")
    assert JudgedFacts().read(log.rows).verdicts() == {"t": (Status.NOT_READ, [])}


def test_without_op_messages_nobody_knows_when_something_was_decided():
    log = TransactionLog()
    log.half("t")
    log.roll_back("t")
    rows = [row for row in log.rows if row["tags"] != "d"]
    unreadable = JudgedFacts(op_queue=OpQueue(is_readable=False, check_offsets={"broker-a": 1})).read(rows)
    assert unreadable.counts() == {Status.ROLLED_BACK: 1}
    assert unreadable.summary().open_changes == {}
    assert sum(JudgedFacts().read(log.rows).summary().open_changes.values()) == 0


def test_a_commit_whose_half_message_was_not_read_is_no_transaction_of_its_own():
    log = TransactionLog()
    log.half("t")
    log.half("other")
    log.commit("t")
    assert JudgedFacts().read(log.rows[1:]).counts() == {Status.OPEN: 1}

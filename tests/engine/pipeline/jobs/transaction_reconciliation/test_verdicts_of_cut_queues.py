"""What the beginning of the read part hides is not a finding, and what cannot be known is not reported."""

from __future__ import annotations

import pytest

from engine.pipeline.jobs.job import JobRun
from engine.pipeline.jobs.transaction_reconciliation.results import ReconciliationReporter
from engine.pipeline.jobs.transaction_reconciliation.verdicts import OpQueue
from engine.pipeline.jobs.transaction_reconciliation.words import Status, TransactionAnomaly
from tests.support.pipeline.judged_facts import JudgedFacts
from tests.support.pipeline.memory_report import MemoryReport
from tests.support.pipeline.transaction_log import TransactionLog


def test_an_answer_that_names_a_copy_from_before_everything_that_was_read_has_its_op_message(spark):
    log = TransactionLog()
    first = log.half("t")
    log.half("w")
    log.rows.clear()
    log.now_ms += 1
    log.half("t", checks=1)["commit_log_offset"] = 200
    log.commit("t", first)
    log.now_ms += 60_000
    log.roll_back("w")
    assert JudgedFacts(spark).read(log.rows).verdicts()["t"] == (Status.COMMITTED, [])


@pytest.mark.parametrize(("later_ms", "findings"), [(9_000, []), (11_000, [TransactionAnomaly.COMMITTED_WITHOUT_OP])])
def test_an_op_message_may_be_stored_after_those_of_later_answers(spark, later_ms, findings):
    """Answers are handled side by side, and RocketMQ 5 gathers op messages for some seconds."""
    log = TransactionLog()
    log.half("t")
    log.half("other")
    log.visible("t")
    log.now_ms += later_ms
    log.roll_back("other")
    assert JudgedFacts(spark).read(log.rows).verdicts()["t"] == (Status.COMMITTED, findings)


def test_how_long_a_message_was_kept_back_is_not_reported_without_its_first_copy(spark):
    log = TransactionLog()
    log.half("t")
    log.visible("t")
    first = log.halves["t"]
    log.half("t", checks=1)
    log.commit("t", first)
    whole = JudgedFacts(spark).read(log.rows).summary()
    assert [(to_ms - from_ms, window_ms) for _, from_ms, to_ms, window_ms in whole.longest_rows()] == [(1, 1)]
    assert whole.window_row() == [1, 1, 1, 1, 1]
    for rows in (log.rows[1:], log.rows[2:]):
        cut = JudgedFacts(spark).read(rows).summary()
        assert (cut.longest_rows(), cut.window_row()) == ([], [0, None, None, None, None])


def test_of_transactions_for_retry_topics_nothing_is_said(spark):
    """Their commits look like what consumers sent back."""
    log = TransactionLog(topic="%RETRY%g")
    log.half("t")
    log.commit("t")
    assert JudgedFacts(spark).read(log.rows).verdicts() == {"t": (Status.NOT_READ, [])}


def test_without_op_messages_nobody_knows_when_something_was_decided(spark):
    log = TransactionLog()
    log.half("t")
    log.roll_back("t")
    rows = [row for row in log.rows if row["tags"] != "d"]
    unreadable = JudgedFacts(spark, op_queue=OpQueue(is_readable=False, check_offsets={"broker-a": 1})).read(rows)
    assert unreadable.counts() == {Status.ROLLED_BACK: 1}
    assert levels(unreadable) == []
    assert levels(JudgedFacts(spark).read(log.rows))[-1] == 0


def levels(judged):
    """The plot of open transactions."""
    report = MemoryReport()
    run = JobRun(judged.spark, {"topics": "Transfers"}, {}, report, print)
    ReconciliationReporter(run, judged.op_queue, ("Transfers",)).report(judged.state, None)
    return [level for plot, _, _, level in report.points if plot == "open"]


def test_a_commit_whose_half_message_was_not_read_is_no_transaction_of_its_own(spark):
    log = TransactionLog()
    log.half("t")
    log.half("other")
    log.commit("t")
    assert JudgedFacts(spark).read(log.rows[1:]).counts() == {Status.OPEN: 1}

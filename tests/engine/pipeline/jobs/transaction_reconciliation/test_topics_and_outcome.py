"""Which topics are read, and what is said in the end."""

from __future__ import annotations

from typing import Any

import pytest

from engine.pipeline.errors import JobFailed
from engine.pipeline.jobs.job import JobRun
from engine.pipeline.jobs.transaction_reconciliation.description import DESCRIPTION
from engine.pipeline.jobs.transaction_reconciliation.facts import parts_of
from engine.pipeline.jobs.transaction_reconciliation.job import JOB, _named_topics
from engine.pipeline.jobs.transaction_reconciliation.results import ReconciliationReporter
from engine.pipeline.jobs.transaction_reconciliation.verdicts import OpQueue
from engine.pipeline.jobs.transaction_reconciliation.words import Agreement, Status, TransactionAnomaly, Window
from tests.support.pipeline.judged_facts import JudgedFacts
from tests.support.pipeline.memory_report import MemoryReport
from tests.support.pipeline.transaction_log import TransactionLog, messages

NO_SPARK: Any = None


@pytest.mark.parametrize("follow", [False, True])
def test_a_topic_that_nobody_can_send_to_is_refused(follow):
    arguments = {"topics": "Orders,RMQ_SYS_TRANS_HALF_TOPIC", "follow": follow, "starting_offsets": "earliest"}
    with pytest.raises(
        JobFailed, match=r"^topics: RMQ_SYS_TRANS_HALF_TOPIC: clients cannot send to these topics"
    ) as failed:
        JOB(JobRun(NO_SPARK, arguments, {}, MemoryReport(), print))
    assert "RMQ_SYS_TRANS_HALF_TOPIC" in failed.value.sentence["zh"]


def test_topics_are_those_that_half_messages_name(spark):
    rows = []
    for topic in ("Orders", "Parcels", "RMQ_SYS_TRANS_HALF_TOPIC"):
        log = TransactionLog(topic=topic)
        log.half(f"id-{topic}")
        rows += log.rows
    assert _named_topics(parts_of(messages(spark, rows))) == ("Orders", "Parcels")


@pytest.mark.parametrize(
    ("op_queue", "sentence"),
    [
        (OpQueue(), "Nothing wrong was found."),
        (OpQueue(False), "Nothing wrong was found. But without the op queue only"),
    ],
)
def test_what_could_not_be_looked_at_is_not_called_right(spark, op_queue, sentence):
    report, log = MemoryReport(), TransactionLog()
    log.half("t")
    log.commit("t")
    run = JobRun(spark, {"topics": "Transfers"}, {}, report, print)
    ReconciliationReporter(run, op_queue, ("Transfers",)).report(JudgedFacts(spark).read(log.rows).state, None)
    (note,) = report.notes
    assert note["en"].startswith(sentence)


def test_every_word_of_the_tables_is_reported_in_both_languages():
    texts = {
        (table.name, column.name): tuple(column.cell_texts)
        for table in DESCRIPTION.tables
        for column in table.columns
        if column.cell_texts
    }
    assert texts == {
        ("summary", "status"): tuple(Status),
        ("open", "status"): tuple(Status),
        ("transfers", "message"): tuple(Status),
        ("finding_counts", "finding"): tuple(TransactionAnomaly),
        ("findings", "finding"): tuple(TransactionAnomaly),
        ("transfer_counts", "agreement"): tuple(Agreement),
        ("transfers", "agreement"): tuple(Agreement),
        ("windows", "what"): tuple(Window),
        ("longest", "what"): tuple(Window),
    }

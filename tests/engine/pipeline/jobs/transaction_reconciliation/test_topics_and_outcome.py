"""Which topics are read, and what is said in the end."""

from __future__ import annotations

from typing import Any

import pytest

from engine.pipeline.errors import JobFailed
from engine.pipeline.jobs.job import JobRun
from engine.pipeline.jobs.transaction_reconciliation.facts import facts_of
from engine.pipeline.jobs.transaction_reconciliation.job import JOB, _named_topics
from engine.pipeline.jobs.transaction_reconciliation.results import ReconciliationReporter
from engine.pipeline.jobs.transaction_reconciliation.summary import ReconciliationSummary
from engine.pipeline.jobs.transaction_reconciliation.verdicts import OpQueue
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
    assert _named_topics(facts_of(messages(spark, rows))) == ("Orders", "Parcels")


@pytest.mark.parametrize(
    ("op_queue", "sentence"),
    [
        (OpQueue(), "Nothing wrong was found."),
        (OpQueue(False), "Nothing wrong was found. But without the op queue only"),
    ],
)
def test_what_could_not_be_looked_at_is_not_called_right(op_queue, sentence):
    report, summary = MemoryReport(), ReconciliationSummary()
    summary.statuses = {"committed": [1, 0]}
    results = ReconciliationReporter(JobRun(NO_SPARK, {}, {}, report, print), op_queue, ("Orders",))
    results._report_outcome(summary)
    (note,) = report.notes
    assert note["en"].startswith(sentence)

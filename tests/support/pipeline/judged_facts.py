"""Facts of a :class:`TransactionLog` merged, judged and forgotten as a stream does, without a stream."""

from __future__ import annotations

from engine.pipeline.jobs.report import ROWS_MAX
from engine.pipeline.jobs.transaction_reconciliation.facts import facts_of, merge, parts_of
from engine.pipeline.jobs.transaction_reconciliation.summary import ReconciliationSummary
from engine.pipeline.jobs.transaction_reconciliation.verdicts import OpQueue, bounds_of, forget, judge
from tests.support.pipeline.transaction_log import messages


class JudgedFacts:
    """What is remembered of everything that was read, and what it says.

    :param keep_ms: None: nothing is forgotten.
    """

    def __init__(self, spark, *, keep_ms=None, op_queue=None, topics=None):
        self.spark = spark
        self.keep_ms, self.topics = keep_ms, topics
        self.op_queue = op_queue or OpQueue()
        self.state = facts_of(parts_of(messages(spark, [])))

    def read(self, rows):
        """A micro-batch: first something is forgotten, as a stream does."""
        known = self.state
        if self.keep_ms is not None:
            known = forget(known, self.keep_ms, self.op_queue, topics=self.topics)
        merged = merge(known.unionByName(facts_of(parts_of(messages(self.spark, rows)))))
        # As rows, since the plan would grow with each micro-batch.
        self.state = self.spark.createDataFrame(merged.toArrow())
        return self

    def judged(self):
        return judge(self.state, bounds_of(self.state), self.op_queue, self.topics)

    def verdicts(self):
        """identity -> (status, findings), where there is one broker."""
        rows = self.judged().where("role <> 'forgotten'").collect()
        return {row.identity: (row.status, sorted(row.findings)) for row in rows}

    def findings(self):
        """identity -> findings, of those that have any, where there is one broker."""
        return {identity: found for identity, (_, found) in self.verdicts().items() if found}

    def summary(self, rows_max=ROWS_MAX):
        return ReconciliationSummary(self.judged(), rows_max)

    def counts(self):
        """status -> how many transactions."""
        return {status: count for status, (count, _) in self.summary().statuses.items()}

    def remembered(self):
        return sorted(row.identity for row in self.state.where("role = 'transaction'").collect())

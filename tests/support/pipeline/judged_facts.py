"""Facts of a :class:`TransactionLog` merged, judged and forgotten in one process: what the tasks do, without Spark."""

from __future__ import annotations

import pyarrow as pa

from engine.pipeline.jobs.report import ROWS_MAX
from engine.pipeline.jobs.transaction_reconciliation.facts import COLUMNS_NEEDED, FACT_ARROW, facts_of_batch
from engine.pipeline.jobs.transaction_reconciliation.merging import fold, resolve, spread_offsets
from engine.pipeline.jobs.transaction_reconciliation.summary import ReconciliationSummary, buckets_over
from engine.pipeline.jobs.transaction_reconciliation.verdicts import (
    OpQueue,
    Rules,
    bounds_of_piece,
    bounds_of_rows,
    judge_table,
    remembered,
)
from engine.pipeline.source.decoding.schema import arrow_schema


def facts_of_rows(rows):
    names = (*COLUMNS_NEEDED, "body")
    columns = {name: [row[name] for row in rows] for name in names}
    batches = pa.table(columns, schema=arrow_schema(names)).to_batches()
    return pa.concat_tables([FACT_ARROW.empty_table(), *map(facts_of_batch, batches)])


def merge_tables(*tables):
    return fold(resolve(spread_offsets(pa.concat_tables(tables))))


class JudgedFacts:
    """What is remembered of everything that was read, and what it says.

    :param keep_ms: None: nothing is forgotten.
    """

    def __init__(self, *, keep_ms=None, op_queue=None, topics=None):
        self.keep_ms, self.topics = keep_ms, topics
        self.op_queue = op_queue or OpQueue()
        self.state = FACT_ARROW.empty_table()

    def read(self, rows):
        """A micro-batch: first something is forgotten, as a stream does."""
        if self.keep_ms is not None:
            self.state = remembered(self.state, self.rules(), self.keep_ms, pa.array([], pa.string()))
        self.state = merge_tables(self.state, facts_of_rows(rows))
        return self

    def bounds(self):
        rows = bounds_of_piece(self.state).to_pylist()
        return bounds_of_rows([tuple(row.values()) for row in rows])

    def rules(self):
        return Rules(self.bounds(), self.op_queue, self.topics)

    def verdicts(self):
        """identity -> (status, findings)."""
        rows = judge_table(self.state, self.rules()).to_pylist()
        return {row["identity"]: (row["status"], row["findings"]) for row in rows}

    def findings(self):
        """identity -> findings, of those that have any."""
        return {identity: found for identity, (_, found) in self.verdicts().items() if found}

    def summary(self, rows_max=ROWS_MAX):
        made = ReconciliationSummary(rows_max)
        buckets = buckets_over(self.bounds()) if self.op_queue.is_readable else None
        made.add(self.state, judge_table(self.state, self.rules()), buckets)
        made.drop_echoes()
        return made

    def counts(self):
        """status -> how many transactions."""
        return {status: count for status, (count, _) in self.summary().statuses.items()}

    def remembered(self):
        return sorted(row["identity"] for row in self.state.to_pylist() if row["role"] == "transaction")

"""Description of ``glassmq pipeline transaction-reconciliation``."""

from __future__ import annotations

from functools import partial

from engine.pipeline.jobs.description import (
    CHECKPOINT_FOLDER,
    DAY_MS,
    FOLLOW,
    NUMBER_MAX,
    STARTING_END,
    ColumnKind,
    JobDescription,
    JobParameter,
    JobPlot,
    JobTable,
    ParameterKind,
    cell_texts,
    columns,
    trigger_ms,
)
from engine.pipeline.jobs.transaction_reconciliation.words import Agreement, Status, TransactionAnomaly, Window
from engine.texts import Text

_JOB = "transaction-reconciliation"
#: Column -> what its cells mean.
_CELLS = {
    "status": cell_texts(*Status),
    "finding": cell_texts(*TransactionAnomaly),
    "agreement": cell_texts(*Agreement),
    "what": cell_texts(*Window),
}
_columns = partial(columns, cells=_CELLS)

DESCRIPTION = JobDescription(
    name=_JOB,
    title=Text("job.transaction-reconciliation.title"),
    about=Text("job.transaction-reconciliation.about"),
    parameters=(
        JobParameter(
            "topics", ParameterKind.TOPICS, may_be_missing=True, text=Text("job.transaction-reconciliation.topics")
        ),
        STARTING_END,
        JobParameter("bank_folder", ParameterKind.FOLDER),
        JobParameter("opening_sum", ParameterKind.INTEGER, minimum=0, maximum=NUMBER_MAX),
        FOLLOW,
        trigger_ms(2_000),
        CHECKPOINT_FOLDER,
        JobParameter("keep_settled_ms", ParameterKind.DURATION, default=600_000, minimum=1_000, maximum=30 * DAY_MS),
    ),
    tables=(
        JobTable("summary", _columns("status", "transactions", "share", "checks")),
        JobTable("finding_counts", _columns("finding", "count"), bad_column="count"),
        JobTable(
            "findings",
            _columns("finding", "message", "topic", "key", "commits", "ops", "broker", "count"),
            bad_column="count",
            text=Text("job.transaction-reconciliation.table.findings"),
        ),
        JobTable(
            "open",
            (
                *_columns("message", "topic"),
                *columns("group", job=_JOB),
                *_columns("key", "status", "since", "age", "checks", "broker", "half_offset"),
            ),
        ),
        JobTable(
            "money",
            columns("before", "expected", "after", "in_flight", "lost", "from_nowhere", "conserved", "problems"),
            bad_column="problems",
        ),
        JobTable("accounts", columns("bank", "account", "opening", "debited", "credited", "balance")),
        JobTable("transfer_counts", _columns("agreement", "transfers", "wrong"), bad_column="wrong"),
        JobTable(
            "transfers",
            (
                *_columns("agreement", "key", "debited", "credited", "debited_at", "credited_at"),
                *columns("message", cells={"message": _CELLS["status"]}),
                *columns("wrong"),
            ),
            bad_column="wrong",
        ),
        JobTable("windows", (*_columns("what", "count"), *columns("p50", job=_JOB), *columns("p90", "p99", "longest"))),
        JobTable(
            "longest", (*_columns("what", "key"), *columns("from", "to", kind=ColumnKind.TIMESTAMP), *columns("window"))
        ),
    ),
    plots=(
        JobPlot("open", "messages", series_texts=cell_texts("open")),
        JobPlot("in_flight", "money", series_texts=cell_texts("in flight")),
    ),
)

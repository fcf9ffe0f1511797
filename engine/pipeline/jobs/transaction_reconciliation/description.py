"""Description of ``glassmq pipeline transaction-reconciliation``."""

from __future__ import annotations

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
_MESSAGE = columns(ColumnKind.TEXT, "message", "topic")
_KEY = columns(ColumnKind.TEXT, "key")
_BROKER = columns(ColumnKind.TEXT, "broker")
_STATUS = columns(ColumnKind.TEXT, "status", cells=Status)
_FINDING = columns(ColumnKind.TEXT, "finding", cells=TransactionAnomaly)
_AGREEMENT = columns(ColumnKind.TEXT, "agreement", cells=Agreement)
_WINDOW = columns(ColumnKind.TEXT, "what", cells=Window)
_COUNT = columns(ColumnKind.INTEGER, "count")

DESCRIPTION = JobDescription(
    name=_JOB,
    title=Text("job.transaction-reconciliation.title"),
    about=Text("job.transaction-reconciliation.about"),
    parameters=(
        JobParameter(
            "topics",
            ParameterKind.TOPICS,
            may_be_missing=True,
            text=Text("job.transaction-reconciliation.topics"),
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
        JobTable(
            "summary",
            (
                *_STATUS,
                *columns(ColumnKind.INTEGER, "transactions"),
                *columns(ColumnKind.SHARE, "share"),
                *columns(ColumnKind.INTEGER, "checks"),
            ),
        ),
        JobTable("finding_counts", (*_FINDING, *_COUNT), bad_column="count"),
        JobTable(
            "findings",
            (*_FINDING, *_MESSAGE, *_KEY, *columns(ColumnKind.INTEGER, "commits", "ops"), *_BROKER, *_COUNT),
            bad_column="count",
            text=Text("job.transaction-reconciliation.table.findings"),
        ),
        JobTable(
            "open",
            (
                *_MESSAGE,
                *columns(ColumnKind.TEXT, "group", job=_JOB),
                *_KEY,
                *_STATUS,
                *columns(ColumnKind.TIMESTAMP, "since"),
                *columns(ColumnKind.MILLISECONDS, "age"),
                *columns(ColumnKind.INTEGER, "checks"),
                *_BROKER,
                *columns(ColumnKind.INTEGER, "half_offset"),
            ),
        ),
        JobTable(
            "money",
            (
                *columns(ColumnKind.INTEGER, "before", "expected", "after", "in_flight", "lost", "from_nowhere"),
                *columns(ColumnKind.YES_NO, "conserved"),
                *columns(ColumnKind.INTEGER, "problems"),
            ),
            bad_column="problems",
        ),
        JobTable(
            "accounts",
            (
                *columns(ColumnKind.TEXT, "bank", "account"),
                *columns(ColumnKind.INTEGER, "opening", "debited", "credited", "balance"),
            ),
        ),
        JobTable(
            "transfer_counts",
            (*_AGREEMENT, *columns(ColumnKind.INTEGER, "transfers", "wrong")),
            bad_column="wrong",
        ),
        JobTable(
            "transfers",
            (
                *_AGREEMENT,
                *_KEY,
                *columns(ColumnKind.INTEGER, "debited", "credited"),
                *columns(ColumnKind.TIMESTAMP, "debited_at", "credited_at"),
                *columns(ColumnKind.TEXT, "message", cells=Status),
                *columns(ColumnKind.INTEGER, "wrong"),
            ),
            bad_column="wrong",
        ),
        JobTable(
            "windows",
            (
                *_WINDOW,
                *_COUNT,
                *columns(ColumnKind.MILLISECONDS, "p50", job=_JOB),
                *columns(ColumnKind.MILLISECONDS, "p90", "p99", "longest"),
            ),
        ),
        JobTable(
            "longest",
            (
                *_WINDOW,
                *_KEY,
                *columns(ColumnKind.TIMESTAMP, "from", "to"),
                *columns(ColumnKind.MILLISECONDS, "window"),
            ),
        ),
    ),
    plots=(
        JobPlot("open", "messages", series_texts=cell_texts("open")),
        JobPlot("in_flight", "money", series_texts=cell_texts("in flight")),
    ),
    runs_until_stopped=None,
)

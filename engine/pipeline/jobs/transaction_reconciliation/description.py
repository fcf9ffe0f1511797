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
    TableColumn,
    cell_texts,
    columns,
    trigger_ms,
)
from engine.pipeline.jobs.transaction_reconciliation.words import Agreement, Status, TransactionAnomaly, Window
from engine.texts import Text

_STATUS = cell_texts(*Status)
_FINDING = TableColumn("finding", ColumnKind.TEXT, cell_texts=cell_texts(*TransactionAnomaly))
_AGREEMENT = TableColumn("agreement", ColumnKind.TEXT, cell_texts=cell_texts(*Agreement))
_WINDOW = cell_texts(*Window)

_MESSAGE = TableColumn("message", ColumnKind.TEXT)
_TOPIC = TableColumn("topic", ColumnKind.TEXT)
_KEY = TableColumn("key", ColumnKind.TEXT)
_BROKER = TableColumn("broker", ColumnKind.TEXT)

DESCRIPTION = JobDescription(
    name="transaction-reconciliation",
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
                TableColumn("status", ColumnKind.TEXT, cell_texts=_STATUS),
                TableColumn("transactions", ColumnKind.INTEGER),
                TableColumn("share", ColumnKind.SHARE),
                TableColumn("checks", ColumnKind.INTEGER),
            ),
        ),
        JobTable("finding_counts", (_FINDING, TableColumn("count", ColumnKind.INTEGER)), bad_column="count"),
        JobTable(
            "findings",
            (
                _FINDING,
                _MESSAGE,
                _TOPIC,
                _KEY,
                *columns(ColumnKind.INTEGER, "commits", "ops"),
                _BROKER,
                TableColumn("count", ColumnKind.INTEGER),
            ),
            bad_column="count",
            text=Text("job.transaction-reconciliation.table.findings"),
        ),
        JobTable(
            "open",
            (
                _MESSAGE,
                _TOPIC,
                TableColumn("group", ColumnKind.TEXT, text=Text("job.transaction-reconciliation.column.group")),
                _KEY,
                TableColumn("status", ColumnKind.TEXT, cell_texts=_STATUS),
                TableColumn("since", ColumnKind.TIMESTAMP),
                TableColumn("age", ColumnKind.MILLISECONDS),
                TableColumn("checks", ColumnKind.INTEGER),
                _BROKER,
                TableColumn("half_offset", ColumnKind.INTEGER),
            ),
        ),
        JobTable(
            "money",
            (
                *columns(ColumnKind.INTEGER, "before", "expected", "after", "in_flight"),
                TableColumn("lost", ColumnKind.INTEGER),
                TableColumn("from_nowhere", ColumnKind.INTEGER),
                TableColumn("conserved", ColumnKind.YES_NO),
                TableColumn("problems", ColumnKind.INTEGER),
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
            (_AGREEMENT, *columns(ColumnKind.INTEGER, "transfers", "wrong")),
            bad_column="wrong",
        ),
        JobTable(
            "transfers",
            (
                _AGREEMENT,
                _KEY,
                *columns(ColumnKind.INTEGER, "debited", "credited"),
                *columns(ColumnKind.TIMESTAMP, "debited_at", "credited_at"),
                TableColumn("message", ColumnKind.TEXT, cell_texts=_STATUS),
                TableColumn("wrong", ColumnKind.INTEGER),
            ),
            bad_column="wrong",
        ),
        JobTable(
            "windows",
            (
                TableColumn("what", ColumnKind.TEXT, cell_texts=_WINDOW),
                TableColumn("count", ColumnKind.INTEGER),
                TableColumn("p50", ColumnKind.MILLISECONDS, text=Text("job.transaction-reconciliation.column.p50")),
                *columns(ColumnKind.MILLISECONDS, "p90", "p99"),
                TableColumn("longest", ColumnKind.MILLISECONDS),
            ),
        ),
        JobTable(
            "longest",
            (
                TableColumn("what", ColumnKind.TEXT, cell_texts=_WINDOW),
                _KEY,
                *columns(ColumnKind.TIMESTAMP, "from", "to"),
                TableColumn("window", ColumnKind.MILLISECONDS),
            ),
        ),
    ),
    plots=(
        JobPlot("open", "messages", series_texts=cell_texts("open")),
        JobPlot("in_flight", "money", series_texts=cell_texts("in flight")),
    ),
    runs_until_stopped=None,
)

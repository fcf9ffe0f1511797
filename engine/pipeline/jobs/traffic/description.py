"""Description of ``glassmq pipeline traffic``."""

from __future__ import annotations

from engine.pipeline.jobs.description import (
    CHECKPOINT_FOLDER,
    DAY_MS,
    FOLLOW,
    STARTING_OFFSETS,
    TOPICS,
    ColumnKind,
    JobDescription,
    JobParameter,
    JobPlot,
    JobTable,
    ParameterKind,
    TableColumn,
    columns,
    trigger_ms,
)
from engine.texts import Text

_TOPIC = TableColumn("topic", ColumnKind.TEXT)
_MESSAGES = TableColumn("messages", ColumnKind.INTEGER)
_EXACT = TableColumn("exact", ColumnKind.YES_NO)
_SHARE = TableColumn("share", ColumnKind.SHARE)
_MAX_TO_MEAN = TableColumn("max_to_mean", ColumnKind.NUMBER)
_VARIATION = TableColumn("variation", ColumnKind.NUMBER)
_PEAK_SHARE = TableColumn("peak_share", ColumnKind.SHARE)
_PEAK_WINDOW = TableColumn("peak_window", ColumnKind.TIMESTAMP)

DESCRIPTION = JobDescription(
    name="traffic",
    title=Text("job.traffic.title"),
    about=Text("job.traffic.about"),
    parameters=(
        TOPICS,
        JobParameter("groups", ParameterKind.TEXT, text=Text("job.traffic.groups")),
        STARTING_OFFSETS,
        JobParameter("window_ms", ParameterKind.DURATION, default=10_000, minimum=100, maximum=DAY_MS),
        JobParameter("event_time", ParameterKind.CHOICE, default="stored", choices=("stored", "born")),
        JobParameter("watermark_ms", ParameterKind.DURATION, default=10_000, minimum=0, maximum=DAY_MS),
        JobParameter("top", ParameterKind.INTEGER, default=10, minimum=1, maximum=100),
        JobParameter("count_bytes", ParameterKind.SWITCH, default=True),
        FOLLOW,
        trigger_ms(1_000),
        CHECKPOINT_FOLDER,
    ),
    tables=(
        JobTable(
            "topics",
            (
                _TOPIC,
                _MESSAGES,
                TableColumn("bytes", ColumnKind.INTEGER),
                TableColumn("peak_per_s", ColumnKind.NUMBER),
                TableColumn("peak_at", ColumnKind.TIMESTAMP),
                TableColumn("worst_p99", ColumnKind.MILLISECONDS),
                _MAX_TO_MEAN,
                _VARIATION,
            ),
        ),
        JobTable(
            "windows",
            (
                TableColumn("start", ColumnKind.TIMESTAMP),
                _TOPIC,
                _MESSAGES,
                *columns(ColumnKind.NUMBER, "per_s", "bytes_per_s"),
                TableColumn("p50", ColumnKind.MILLISECONDS, text=Text("job.traffic.column.p50")),
                TableColumn("p99", ColumnKind.MILLISECONDS, text=Text("job.traffic.column.p99")),
                TableColumn("max", ColumnKind.MILLISECONDS),
                _MAX_TO_MEAN,
                _VARIATION,
            ),
            text=Text("job.traffic.table.windows"),
        ),
        JobTable(
            "lag",
            (
                TableColumn("group", ColumnKind.TEXT),
                _TOPIC,
                TableColumn("queue", ColumnKind.TEXT),
                *columns(ColumnKind.INTEGER, "offset", "end", "lag"),
            ),
        ),
        JobTable(
            "tags", (_TOPIC, TableColumn("tag", ColumnKind.TEXT), _MESSAGES, _EXACT, _SHARE, _PEAK_SHARE, _PEAK_WINDOW)
        ),
        JobTable(
            "keys", (_TOPIC, TableColumn("key", ColumnKind.TEXT), _MESSAGES, _EXACT, _SHARE, _PEAK_SHARE, _PEAK_WINDOW)
        ),
        JobTable(
            "queues",
            (
                _TOPIC,
                TableColumn("queue", ColumnKind.TEXT),
                _MESSAGES,
                _SHARE,
                TableColumn("to_mean", ColumnKind.NUMBER),
            ),
        ),
        JobTable(
            "late",
            (
                *columns(ColumnKind.INTEGER, "read", "counted"),
                TableColumn("late", ColumnKind.INTEGER, text=Text("job.traffic.column.late")),
            ),
        ),
    ),
    plots=(
        JobPlot("throughput", "messages/s"),
        JobPlot("latency", "ms", text=Text("job.traffic.plot.latency")),
        JobPlot("lag", "messages"),
        JobPlot("imbalance", "x"),
    ),
    runs_until_stopped=None,
)

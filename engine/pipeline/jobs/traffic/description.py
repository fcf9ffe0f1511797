"""Description of ``glassmq pipeline traffic``."""

from __future__ import annotations

from engine.pipeline.jobs.description import (
    CHECKPOINT_FOLDER,
    DAY_MS,
    FOLLOW,
    STARTING_OFFSETS,
    TOPICS,
    JobDescription,
    JobParameter,
    JobPlot,
    JobTable,
    ParameterKind,
    columns,
    trigger_ms,
)
from engine.texts import Text

_JOB = "traffic"
_IMBALANCE = ("max_to_mean", "variation")
_COUNTED = ("messages", "exact", "share", "peak_share", "peak_window")

DESCRIPTION = JobDescription(
    name=_JOB,
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
        JobTable("topics", columns("topic", "messages", "bytes", "peak_per_s", "peak_at", "worst_p99", *_IMBALANCE)),
        JobTable(
            "windows",
            (
                *columns("start", "topic", "messages", "per_s", "bytes_per_s"),
                *columns("p50", "p99", job=_JOB),
                *columns("max", *_IMBALANCE),
            ),
            text=Text("job.traffic.table.windows"),
        ),
        JobTable("lag", columns("group", "topic", "queue", "offset", "end", "lag")),
        JobTable("tags", columns("topic", "tag", *_COUNTED)),
        JobTable("keys", columns("topic", "key", *_COUNTED)),
        JobTable("queues", columns("topic", "queue", "messages", "share", "to_mean")),
        JobTable("late", (*columns("read", "counted"), *columns("late", job=_JOB))),
    ),
    plots=(
        JobPlot("throughput", "messages/s"),
        JobPlot("latency", "ms", text=Text("job.traffic.plot.latency")),
        JobPlot("lag", "messages"),
        JobPlot("imbalance", "x"),
    ),
)

"""The traffic job: over the history, or continuously with new messages."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from math import inf
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as every user of Spark writes it

from engine.pipeline.jobs.arguments import listed_names, read_argument
from engine.pipeline.jobs.description import JobParameter, ParameterKind
from engine.pipeline.jobs.job import JobRun
from engine.pipeline.jobs.shared_files import SharedFiles
from engine.pipeline.jobs.traffic.consumer_lag import LagReporter, look_at_lag, watched_lag
from engine.pipeline.jobs.traffic.late_count import OBSERVATION, OBSERVED, LateCount
from engine.pipeline.jobs.traffic.picture import WINDOWS_MAX, TrafficPicture, newest_windows
from engine.pipeline.jobs.traffic.windows import COLUMNS_NEEDED, window_figures
from engine.pipeline.source.cluster.cluster import Cluster, open_cluster
from engine.pipeline.source.cluster.queue_offsets import to_json_object
from engine.pipeline.source.reader.options import check_starting_offsets
from engine.texts import Text

_EVENT_TIMES = {"stored": "store_timestamp", "born": "born_timestamp"}


def traffic(run: JobRun) -> None:
    """Run the job of :mod:`engine.pipeline.jobs.traffic.description`."""
    check_arguments(run.arguments)
    if run.arguments["follow"]:
        _follow(run)
    else:
        _look_back(run)


def check_arguments(arguments: Mapping[str, Any]) -> None:
    """Raise the refusal of an invalid name of a group, or of invalid offsets."""
    check_starting_offsets(arguments["starting_offsets"], listed_names(arguments["topics"]))
    for group in listed_names(arguments["groups"]):
        read_argument(JobParameter("groups", ParameterKind.GROUP), group)


JOB, CHECK = traffic, check_arguments


def _options(run: JobRun) -> dict[str, str]:
    columns = (*COLUMNS_NEEDED, "body") if run.arguments["count_bytes"] else COLUMNS_NEEDED
    return {
        "subscribe": ",".join(run.names("topics")),
        "startingOffsets": run.arguments["starting_offsets"],
        "columns": ",".join(columns),
    }


def _figures(run: JobRun, messages: DataFrame, watermark_ms: int | None) -> DataFrame:
    event_time = _EVENT_TIMES[run.arguments["event_time"]]
    return window_figures(messages, run.arguments["window_ms"], event_time, run.arguments["top"], watermark_ms)


def _picture(run: JobRun, cluster: Cluster, patience_ms: int) -> TrafficPicture:
    queue_counts = Counter(queue.topic for queue in cluster.queues(run.names("topics")))
    return TrafficPicture(run.report, run.arguments["window_ms"], run.arguments["top"], queue_counts, patience_ms)


# --- single run ------------------------------------------------------------------------------------------------------


def _look_back(run: JobRun) -> None:
    topics, groups = run.names("topics"), run.names("groups")
    with open_cluster(run.cluster) as cluster:
        ends = cluster.max_offsets(cluster.queues(topics))
        picture = _picture(run, cluster, patience_ms=0)
        messages = run.read(**_options(run), endingOffsets=json.dumps(to_json_object(ends)))
        newest, are_all = newest_windows(_figures(run, messages, None))
        picture.update(newest)
        picture.close_until(inf)
        if groups:
            LagReporter(run.report).report(look_at_lag(cluster, groups, topics), time.time_ns() // 1_000_000)
    if not newest:
        run.report.note(Text("job.note.no_messages"))
    elif not are_all:
        run.report.note(Text("job.note.too_many_windows", limit=WINDOWS_MAX))
    reported = to_json_object(ends)
    run.report.offsets(reported, reported)


# --- following -------------------------------------------------------------------------------------------------------


def _follow(run: JobRun) -> None:
    watermark_ms = run.arguments["watermark_ms"]
    topics, groups = run.names("topics"), run.names("groups")
    with ExitStack() as stack:
        folder = stack.enter_context(run.checkpoint())
        with open_cluster(run.cluster) as cluster:
            picture = _picture(run, cluster, patience_ms=watermark_ms)
        late = LateCount(run.report, SharedFiles(run.spark, f"{folder}/counts"))

        def batch(changed: DataFrame, batch_id: int) -> None:
            newest, are_all = newest_windows(changed)
            picture.update(late.counted(batch_id, newest, are_all=are_all))

        messages = run.read_stream(**_options(run)).observe(OBSERVATION, F.count(F.lit(1)).alias(OBSERVED))
        run.spark.streams.addListener(late)
        stack.callback(run.spark.streams.removeListener, late)
        stack.enter_context(
            watched_lag(run.cluster, groups, topics, run.arguments["trigger_ms"], run.report, picture.close_until)
        )
        figures = _figures(run, messages, watermark_ms)
        run.follow(figures, batch, f"{folder}/query", name="traffic", output_mode="update")
        picture.close_until(inf)

"""Progress of Spark for the job's report: micro-batches of streams, tasks of batch jobs.

Spark calls a listener in the driver some 0.1-0.4 s after each micro-batch. For a batch job there is no such call; its
tasks are counted twice a second.
"""

from __future__ import annotations

import json
import logging
import math
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from typing import Any

from pyspark import SparkContext
from pyspark.sql.streaming.listener import (
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from engine.pipeline.jobs.report import JobReport
from engine.pipeline.source.cluster.queue_offsets import Offsets, from_json_object, to_json_object

log = logging.getLogger("glassmq.pipeline")

#: How often the tasks of a batch job are counted.
TASKS_INTERVAL_S = 0.5


class QueryProgress(StreamingQueryListener):
    """Reports every micro-batch of a job's query: its figures, and the offsets that it reached."""

    def __init__(self, report: JobReport) -> None:
        self._report = report
        #: Run of a query -> set when it has ended.
        self._ended: dict[str, threading.Event] = {}
        self.running = 0
        #: Micro-batches that were reported.
        self.batches = 0

    def wait_until_ended(self, run_id: str, limit_s: float) -> bool:
        """Wait for the query's last event, which comes from another thread after its end; return whether it came in
        time.
        """
        return self._ended.setdefault(run_id, threading.Event()).wait(limit_s)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - Spark's name
        self.running += 1

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - Spark's name
        """Report a micro-batch; called by Spark after each of them."""
        self.note(json.loads(event.progress.json))

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802 - Spark's name
        self.running -= 1
        self._ended.setdefault(str(event.runId), threading.Event()).set()

    def note(self, progress: Mapping[str, Any]) -> None:
        """Report one progress event, as Spark writes it in JSON."""
        self.batches += 1
        sources = [source for source in progress.get("sources", []) if isinstance(source, dict)]
        # Sources read different topics. Spark leaves "latestOffset" out, or writes "null", until one has reported it.
        reached, latest = (
            dict(chain.from_iterable(queue_offsets(source.get(name)).items() for source in sources))
            for name in ("endOffset", "latestOffset")
        )
        self._report.batch(batch_figures(progress, lag_of(reached, latest)))
        if reached:
            self._report.offsets(to_json_object(reached), to_json_object(latest) if latest else None)


def batch_figures(progress: Mapping[str, Any], lag: int | None) -> dict[str, Any]:
    """Return the figures of one micro-batch.

    ``batch``: its number; ``query``: the query's name, if it has one; ``at``: when it began (ISO 8601); ``rows``;
    ``input_rows_per_s`` and ``processed_rows_per_s`` (None for an empty batch); ``durations_ms``: part of the work ->
    ms, ``total_ms`` their sum; ``lag``: messages up to the end of the queues, None if unknown.
    """
    durations = progress.get("durationMs") or {}
    rows = int(progress.get("numInputRows") or 0)
    total = durations.get("triggerExecution", progress.get("batchDuration"))
    return {
        "batch": progress.get("batchId"),
        "query": progress.get("name"),
        "at": progress.get("timestamp"),
        "rows": rows,
        "input_rows_per_s": _rate(progress.get("inputRowsPerSecond")),
        "processed_rows_per_s": _rate(progress.get("processedRowsPerSecond")) if rows else None,
        "total_ms": total,
        "durations_ms": {name: ms for name, ms in durations.items() if name != "triggerExecution"},
        "lag": lag,
    }


def queue_offsets(value: object) -> Offsets:
    """Return ``value`` (JSON, or its text) as offsets; empty if it is the offset of another kind of source."""
    try:
        given = json.loads(value) if isinstance(value, str) else value
        nested = given if isinstance(given, dict) else {}
        # Next to its topics, ``latestOffset`` has figures of the lag.
        return from_json_object({topic: queues for topic, queues in nested.items() if isinstance(queues, dict)})
    except ValueError:
        return {}


def lag_of(reached: Offsets, latest: Offsets) -> int | None:
    """Return the messages between the two; None if the latter is unknown."""
    return sum(max(0, end - reached.get(queue, end)) for queue, end in latest.items()) if latest else None


def _rate(value: object) -> float | None:
    """Return a rate in a form that JSON allows: Spark's is NaN or infinite for a batch without duration."""
    return round(float(value), 1) if isinstance(value, int | float) and math.isfinite(value) else None


@contextmanager
def reported_tasks(context: SparkContext, report: JobReport, queries: QueryProgress) -> Iterator[None]:
    """Count the tasks that Spark is running and report them, in a separate thread, until the block ends.

    Once a stream has reported a micro-batch nothing is reported while it runs: its batches say more than its tasks,
    which start and end many times a second.
    """
    end = threading.Event()

    def run() -> None:
        last = (0, 0)
        while not end.wait(TASKS_INTERVAL_S):
            if queries.running > 0 and queries.batches > 0:
                continue
            try:
                counted = _count_tasks(context)
            except Exception:  # Spark is shutting down; the caller that waits for the job gets the reason
                log.debug("tasks could not be counted", exc_info=True)
                return
            if counted[1] == 0:
                report.planning()
            elif counted != last:
                last = counted
                report.progress(*counted, "tasks")
            else:
                report.working()

    thread = threading.Thread(target=run, name="task progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join(2)


def _count_tasks(context: SparkContext) -> tuple[int, int]:
    """Return (done, all) tasks of the running stages."""
    tracker = context.statusTracker()
    jobs = [job for job_id in tracker.getActiveJobsIds() if (job := tracker.getJobInfo(job_id)) is not None]
    stages = [
        stage for job in jobs for stage_id in job.stageIds if (stage := tracker.getStageInfo(stage_id)) is not None
    ]
    return sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages)

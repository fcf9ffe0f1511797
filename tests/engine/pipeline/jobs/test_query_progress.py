"""What Spark says of a micro-batch, as the report gets it."""

from __future__ import annotations

import json
import math

from engine.pipeline.jobs.query_progress import QueryProgress, batch_figures, lag_of, queue_offsets
from engine.pipeline.source.cluster.queue_offsets import QueueKey
from tests.support.pipeline.memory_report import MemoryReport


def progress(end=None, latest=None, rows=100):
    return {
        "name": "audit",
        "timestamp": "2026-11-22T04:00:00.000Z",
        "batchId": 7,
        "numInputRows": rows,
        "inputRowsPerSecond": 50.04,
        "processedRowsPerSecond": math.inf,
        "durationMs": {"addBatch": 90, "triggerExecution": 120},
        "sources": [{"description": "rocketmq", "startOffset": None, "endOffset": end, "latestOffset": latest}],
    }


def test_a_batch_is_reported_with_its_figures_its_offsets_and_its_lag():
    report = MemoryReport()
    end = {"orders": {"broker-a:0": 5, "broker-a:1": 9}}
    latest = {"orders": {"broker-a:0": 7, "broker-a:1": 9}}
    QueryProgress(report).note(progress(end=end, latest=json.dumps(latest)))
    assert report.batches == [
        {
            "batch": 7,
            "query": "audit",
            "at": "2026-11-22T04:00:00.000Z",
            "rows": 100,
            "input_rows_per_s": 50.0,
            "processed_rows_per_s": None,
            "total_ms": 120,
            "durations_ms": {"addBatch": 90},
            "lag": 2,
        }
    ]
    assert (report.reached, report.latest) == (end, latest)
    json.dumps(report.batches, allow_nan=False)


def test_offsets_of_several_sources_come_together():
    report, orders, refunds = MemoryReport(), {"orders": {"broker-a:0": 5}}, {"refunds": {"broker-a:0": 1}}
    sources = progress(end=orders, latest=orders)["sources"] + progress(end=refunds)["sources"]
    QueryProgress(report).note(progress() | {"sources": sources})
    assert (report.reached, report.latest) == (orders | refunds, orders)


def test_the_offsets_of_other_sources_are_left_alone():
    report = MemoryReport()
    QueryProgress(report).note(progress(end='{"value": 12}', latest="null"))
    assert report.reached == {}
    assert [queue_offsets(value) for value in (17, "17", "no json", None, [1], {"a": {"b": "c"}})] == [{}] * 6


def test_a_lag_is_known_only_where_the_end_is_known():
    queue, other = QueueKey("a", "b", 0), QueueKey("a", "b", 1)
    assert lag_of({queue: 1}, {}) is None
    assert lag_of({queue: 9}, {queue: 5, other: 4}) == 0


def test_an_empty_batch_has_no_rate():
    assert batch_figures(progress(rows=0), None)["processed_rows_per_s"] is None

"""Messages into windows of time."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter

import pytest

from engine.pipeline.jobs.traffic.windows import ITEMS_TRACKED, window_figures
from tests.support.pipeline.traffic_messages import START, START_MS, message, table_of


def figures(spark, rows, *, window_ms=1_000, event_time="born_timestamp", top=5, **options):
    frame = spark.createDataFrame(table_of(rows))
    found = window_figures(frame, window_ms=window_ms, event_time=event_time, top=top, **options).collect()
    return {((row.start_ms - START_MS) / window_ms, row.topic): row for row in found}


def counts(items):
    return dict(map(tuple, items))


def percentile(values, share):
    """As Spark's sketch is while it is exact: the smallest value with at least that share of values up to it."""
    ordered = sorted(values)
    return next(value for place, value in enumerate(ordered, 1) if place >= share * len(ordered))


def test_windows_hold_what_a_plain_program_counts(spark):
    choice = random.Random(7)
    rows = [
        message(
            choice.randrange(5_000),
            choice.randrange(-20, 500),
            topic=choice.choice(["Orders", "Parcels"]),
            queue_id=choice.randrange(4),
            key=choice.choice(["a", "b", "c", None]),
            tags=choice.choice(["x", "y", None]),
            body=b"x" * choice.randrange(100),
        )
        for _ in range(3_000)
    ]
    grouped = {}
    for row in rows:
        window = int((row["born_timestamp"] - START) / dt.timedelta(seconds=1))
        grouped.setdefault((window, row["topic"]), []).append(row)
    found = figures(spark, rows)
    assert found.keys() == grouped.keys()
    for place, expected in grouped.items():
        window = found[place]
        latencies = [
            round((row["store_timestamp"] - row["born_timestamp"]) / dt.timedelta(milliseconds=1)) for row in expected
        ]
        assert window.messages == len(expected)
        assert window.bytes == sum(len(row["body"]) for row in expected)
        assert (window.p50_ms, window.p99_ms) == (percentile(latencies, 0.5), percentile(latencies, 0.99))
        assert window.max_ms == max(latencies)
        assert counts(window["queues"]) == Counter(f"broker-a:{row['queue_id']}" for row in expected)
        assert all(window[f"{name}_{known}"] for name in ("tags", "keys") for known in ("exact", "all"))
        assert counts(window["tags"]) == Counter(row["tags"] for row in expected)
        assert counts(window["keys"]) == Counter(row["keys"][0] for row in expected if row["keys"])


def test_the_event_time_decides_the_window_and_bodies_need_not_be_read(spark):
    rows = [message(900, latency_ms=200)]
    without_body = spark.createDataFrame(table_of(rows)).drop("body")
    (window,) = window_figures(without_body, 1_000, "store_timestamp", 5).collect()
    assert (window.start_ms, window.bytes) == (START_MS + 1_000, None)


def test_a_window_says_whether_it_has_more_keys_than_are_listed(spark):
    rows = [message(0, key=key) for key in [None, "a", "a", "b", "b", "c"]]
    ((_, window),) = figures(spark, rows, top=2).items()
    assert counts(window["keys"]) == {"a": 2, "b": 2}
    assert (window.keys_exact, window.keys_all, window.tags_all) == (True, False, True)
    ((_, window),) = figures(spark, rows, top=3).items()
    assert (window.keys_exact, window.keys_all) == (True, True)


#: Share of a window's messages by which a count may be off when there are more items: 3.5 / (size of the sketch's
#: table, which is the power of two from ITEMS_TRACKED / 0.75 on), as the authors of the sketch state it.
COUNT_ERROR = 3.5 / 2_048


def test_more_keys_than_are_tracked_are_counted_within_the_stated_error(spark):
    choice = random.Random(3)
    keys = [f"hot-{number}" for number in range(5)] * 2_000
    keys += [f"cold-{choice.randrange(20 * ITEMS_TRACKED)}" for _ in range(30_000)]
    choice.shuffle(keys)
    ((_, window),) = figures(spark, [message(0, key=key) for key in keys], top=5).items()
    top = counts(window["keys"])
    assert sorted(top) == [f"hot-{number}" for number in range(5)]
    assert not window.keys_exact and not window.keys_all
    for key, count in top.items():
        assert count == pytest.approx(2_000, abs=COUNT_ERROR * len(keys)), key

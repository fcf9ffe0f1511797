"""What Spark sums up of messages, against a plain model: many random histories, each a topic, in one job."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from engine.pipeline.jobs.delivery_audit.latencies import ROUNDED_LATENCY
from engine.pipeline.jobs.delivery_audit.summaries import TIME_SPANS_MAX, UNNUMBERED, latency_spans, narrow, segments_of
from tests.engine.pipeline.jobs.delivery_audit.numbered_messages import (
    EPOCH_MS,
    Stored,
    message_table,
    plain_segments,
    with_offsets,
)


def random_history(topic: str, rng: random.Random) -> list[Stored]:
    """Few numbers, so that many are repeated, and some chunks of them are far away."""
    near, far = range(rng.choice((3, 12, 200))), (1 << 40, (1 << 40) + 63, 10**18 - 1)
    return [
        Stored(
            rng.choice(("p", "q", None)),
            rng.choice(near) if rng.random() < 0.9 else rng.choice(far),
            rng.randrange(3),
            latency_ms=rng.choice((0, 100, 101)),
            stored_ms=EPOCH_MS + rng.randrange(100),
            topic=topic,
        )
        for _ in range(rng.randrange(60))
    ]


def test_spark_sums_up_each_queue_as_the_plain_model_does(spark):
    rng = random.Random(11)
    messages = [message for number in range(80) for message in random_history(f"T{number}", rng)]
    table = message_table(messages)
    shuffled = table.take(np.random.default_rng(3).permutation(len(messages)))
    frame = narrow(spark.createDataFrame(shuffled)).persist()
    found = segments_of(frame, 100, EPOCH_MS + 50)
    frame.unpersist()
    expected = plain_segments(with_offsets(messages), EPOCH_MS + 50)
    assert len(found) == len(expected) > 200
    assert {_key(one): _fields(one) for one in found} == {_key(one): _fields(one) for one in expected}


def _key(segment):
    return segment.topic, segment.queue, segment.producer


def _fields(segment):
    fields = {name: getattr(segment, name) for name in segment.__slots__ if name != "_words"}
    return fields | {name: [*fields[name].ranges()] for name in ("numbers", "repeated", "descending")}


def test_a_number_that_is_none_is_not_counted_as_one(spark):
    texts: list[Any] = ["", "-1", "1.5", "x", "9" * 19, "１", "5\n"]
    messages = [Stored("p", text, 0) for text in texts]
    (segment,) = segments_of(narrow(spark.createDataFrame(message_table(messages))), 100, 0)
    assert (segment.producer, segment.count, segment.numbers.count) == (UNNUMBERED, 7, 0)


def test_a_long_time_is_reported_in_wider_spans_and_nothing_of_it_is_dropped(spark):
    messages = [
        Stored(None, 0, 0, latency_ms=at % 10, stored_ms=EPOCH_MS + at * 10_000, topic=topic)
        for topic in ("T", "U")
        for at in range(3_600)
    ]
    frame = narrow(spark.createDataFrame(message_table(messages)))
    latency = latency_spans(frame, plain_segments(with_offsets(messages)), ("T",))
    assert latency.spans.keys() == {"T"}
    spans = latency.spans["T"]
    assert TIME_SPANS_MAX / 2 < len(spans) <= TIME_SPANS_MAX
    assert sum(span.count for span in spans.values()) == 3_600
    assert min(spans) * latency.width_ms <= EPOCH_MS
    assert max(span.longest for span in spans.values()) == 9


def test_latencies_are_exact_below_a_second_and_nearly_so_above(spark):
    edges = (0, 1_023, 1_024, 2_047, 2_048, 1 << 20, 1 << 40)
    latencies = [edge + step for edge in edges for step in (-1, 0, 1, 7)]
    frame = spark.createDataFrame([(latency,) for latency in latencies], "latency_ms bigint")
    rounded = [row.rounded_ms for row in frame.selectExpr(ROUNDED_LATENCY).collect()]
    for exact, found in zip(latencies, rounded, strict=True):
        assert max(exact, 0) * (1 - 1 / 512) <= found <= max(exact, 0)
        assert exact >= 1_024 or found == max(exact, 0)

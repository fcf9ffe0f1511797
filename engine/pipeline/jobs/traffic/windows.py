"""Aggregation of messages into time windows: one row per window and topic, by one aggregation in Spark.

A window's state does not grow with its messages: counts, sums, a quantile sketch (``percentile_approx``) and three
sketches of frequent items (``approx_top_k``). A sketch that tracks n items is exact while there are at most n; with
more, each count is off by at most 0.17 % of the window's messages, and rarer items may be missing.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as every user of Spark writes it

#: Different tags, and different keys, that a window counts exactly.
ITEMS_TRACKED = 1_000
#: Different queues of a topic that a window counts exactly.
QUEUES_TRACKED = 2_000

#: Columns of a message that :func:`window_figures` reads; ``body`` too, if bytes are counted.
COLUMNS_NEEDED = ("topic", "broker_name", "queue_id", "keys", "tags", "born_timestamp", "store_timestamp")

_LATENCY_MS = "unix_millis(store_timestamp) - unix_millis(born_timestamp)"
#: A message's keys are counted by the first one, which is used for sharding and joins.
_KEY = "get(keys, 0)"


def window_figures(
    messages: DataFrame, window_ms: int, event_time: str, top: int, watermark_ms: int | None = None
) -> DataFrame:
    """Return one row per window and topic with messages.

    Columns: ``start_ms``, ``topic``, ``messages``, ``bytes`` (of bodies; null when they were not read), ``p50_ms``,
    ``p99_ms``, ``max_ms`` (from born to stored, by two machines' clocks: it may be negative), ``queues``, ``tags``,
    ``keys`` (arrays of (item, count), the most frequent first), and for tags and keys whether their counts are exact
    (``tags_exact``) and there are no others (``tags_all``).

    :param event_time: ``store_timestamp`` or ``born_timestamp``.
    :param top: how many tags and keys are reported.
    :param watermark_ms: for a stream: messages that are later than this, compared with the newest one, are dropped once
        their window is closed.
    """
    if watermark_ms is not None:
        messages = messages.withWatermark(event_time, f"{watermark_ms} milliseconds")
    has_body = "body" in messages.columns
    columns = [event_time, "topic", f"{_LATENCY_MS} AS latency_ms", f"{_KEY} AS key", "tags"]
    columns += ["concat(broker_name, ':', queue_id) AS queue"]
    columns += ["octet_length(body) AS size" if has_body else "cast(NULL AS bigint) AS size"]
    figures = (
        "count(*) AS messages",
        "sum(size) AS bytes",
        "percentile_approx(latency_ms, array(0.5, 0.99)) AS latencies",
        "max(latency_ms) AS max_ms",
        f"approx_top_k(queue, {QUEUES_TRACKED}, {QUEUES_TRACKED}) AS queues",
        f"approx_top_k(tags, {ITEMS_TRACKED}, {ITEMS_TRACKED}) AS tags",
        f"approx_top_k(key, {ITEMS_TRACKED}, {ITEMS_TRACKED}) AS keys",
    )
    grouped = messages.selectExpr(*columns).groupBy(F.window(event_time, f"{window_ms} milliseconds"), F.col("topic"))
    return grouped.agg(*(F.expr(figure) for figure in figures)).selectExpr(
        "unix_millis(window.start) AS start_ms",
        "topic",
        "messages",
        "bytes",
        "latencies[0] AS p50_ms",
        "latencies[1] AS p99_ms",
        "max_ms",
        "queues",
        *_listed("tags", "tags", top),
        *_listed("keys", "filter(keys, one -> one.item IS NOT NULL)", top),
    )


def _listed(name: str, items: str, top: int) -> tuple[str, str, str]:
    """Return the columns for the most frequent of ``items``, and what is known about the others."""
    counted = f"aggregate({name}, 0L, (sum, one) -> sum + one.count)"
    # Otherwise the sketch has dropped some.
    are_exact = f"{counted} = messages"
    return (
        f"slice({items}, 1, {top}) AS {name}",
        f"{are_exact} AS {name}_exact",
        f"{are_exact} AND size({items}) <= {top} AS {name}_all",
    )

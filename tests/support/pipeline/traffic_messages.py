"""Messages that the traffic job counts, made by hand."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa

from engine.pipeline.source.decoding.schema import arrow_schema

COLUMNS = ("topic", "broker_name", "queue_id", "keys", "tags", "born_timestamp", "store_timestamp", "body")
START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
START_MS = int(START.timestamp() * 1_000)


def message(born_ms, latency_ms=3, topic="Orders", queue_id=0, key="k", tags="T", body=b"12345"):
    born = START + dt.timedelta(milliseconds=born_ms)
    return {
        "topic": topic,
        "broker_name": "broker-a",
        "queue_id": queue_id,
        "keys": [] if key is None else [key, "second"],
        "tags": tags,
        "born_timestamp": born,
        "store_timestamp": born + dt.timedelta(milliseconds=latency_ms),
        "body": body,
    }


def table_of(rows):
    columns = {name: [row[name] for row in rows] for name in COLUMNS}
    return pa.table(columns, schema=arrow_schema(COLUMNS))

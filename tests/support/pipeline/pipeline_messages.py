"""Messages as the data source would read them, made by hand: for the DataFrame functions of jobs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq

from engine.pipeline.source.decoding.schema import arrow_schema

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


def stored(
    number,
    *,
    topic="Orders",
    queue_id=0,
    offset=None,
    keys=(),
    body=None,
    at=None,
    unique_id=None,
    tags=None,
    properties=None,
):
    """One message, the ``number``-th of its log, stored ``number`` ms after noon unless ``at`` says when."""
    at = at or NOON + timedelta(milliseconds=number)
    return {
        "topic": topic,
        "broker_name": "broker-a",
        "queue_id": queue_id,
        "queue_offset": number if offset is None else offset,
        "commit_log_offset": number * 200,
        "message_id": f"7F00000100002A9F{number * 200:016X}",
        "unique_id": unique_id,
        "keys": list(keys),
        "tags": tags,
        "properties": list((properties or {}).items()),
        "born_timestamp": at,
        "store_timestamp": at,
        "born_host": "127.0.0.1:4711",
        "reconsume_times": 0,
        "prepared_transaction_offset": 0,
        "body": body if body is not None else f"body {number}".encode(),
    }


def table_of(messages):
    """An Arrow table with the source's schema."""
    return pa.Table.from_pylist(messages, schema=arrow_schema())


def store_as_parquet(folder, name, messages):
    """A Parquet file that stands for what came meanwhile, for a stream that reads the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(table_of(messages), folder / f".{name}")
    (folder / f".{name}").rename(folder / f"{name}.parquet")

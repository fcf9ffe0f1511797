"""A stream reader driven as Spark drives it, without Spark."""

from __future__ import annotations

from pyspark.sql.streaming.datasource import ReadAllAvailable


def micro_batches(stream, start, limit=None):
    """Until nothing is new: ``(offsets at the end, number of rows)`` of each micro-batch."""
    batches = []
    while (end := stream.latestOffset(start, limit or ReadAllAvailable())) != start:
        rows = sum(len(batch) for partition in stream.partitions(start, end) for batch in stream.read(partition))
        batches.append((end, rows))
        start = end
    return batches

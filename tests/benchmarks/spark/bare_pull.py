"""What Spark is compared with: the data source's own pull loop and decoder in two processes, without Spark."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pyarrow.compute as pc

from engine.pipeline.source.decoding.schema import arrow_schema, spark_schema
from engine.pipeline.source.reader.batch_reader import make_reader
from engine.pipeline.source.reader.options import ReadOptions
from engine.pipeline.source.reader.range_reader import read_ranges

PROCESSES = 2
Counted = tuple[int, int]


def start_pool() -> ProcessPoolExecutor:
    """Two processes that have imported all they need."""
    pool = ProcessPoolExecutor(PROCESSES)
    list(pool.map(_nothing, range(PROCESSES * 4)))
    return pool


def pull_all(pool: ProcessPoolExecutor, options: dict[str, str]) -> Counted:
    """Read all that ``options`` say; records and bytes of their bodies."""
    columns = ReadOptions.parse(options).columns
    partitions: list[Any] = list(make_reader(spark_schema(columns), options).partitions())
    parts = [[part.value for part in partitions[number::PROCESSES]] for number in range(PROCESSES)]
    found = list(pool.map(_pull, [options] * PROCESSES, parts))
    return sum(one[0] for one in found), sum(one[1] for one in found)


def _pull(options: dict[str, str], tasks: list[Any]) -> Counted:
    read_options = ReadOptions.parse(options)
    schema = arrow_schema(read_options.columns)
    records = body_bytes = 0
    for ranges in tasks:
        for batch in read_ranges(read_options, ranges, schema, ()):
            records += batch.num_rows
            body_bytes += pc.sum(pc.binary_length(batch.column("body"))).as_py() or 0
    return records, body_bytes


def _nothing(number: int) -> int:
    return number

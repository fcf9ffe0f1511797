"""Arrow tables that pass through Spark as one value each: Spark sees a few large rows, and Python all columns.

Row by row, Spark would convert every column of every fact at each step, which took most of the job's time. So a frame
of facts has rows of :data:`PACKED_SCHEMA`, each a piece of a table; :func:`map_packed` runs a function from tables to
tables on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from engine.pipeline.jobs.arrow_columns import arrow_schema_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: ``bucket`` says which pieces must be brought together; it is unused if none must.
PACKED_SCHEMA = "bucket int, piece binary"
_PACKED_ARROW = arrow_schema_of(PACKED_SCHEMA)
#: Approximate size of a piece: several are in memory at a time.
_PIECE_BYTES = 8 << 20

#: A bucket, and a table that belongs to it.
Sorted = Iterable[tuple[int, Any]]


def pack(table: Any, bucket: int = 0) -> Iterator[Any]:
    """Yield ``table`` as record batches of :data:`PACKED_SCHEMA`, one row each; nothing if it is empty."""
    if not len(table):
        return
    rows = max(1, len(table) * _PIECE_BYTES // max(table.nbytes, _PIECE_BYTES))
    for begin in range(0, len(table), rows):
        piece = pack_piece(table.slice(begin, rows))
        yield pa.RecordBatch.from_arrays([pa.array([bucket], pa.int32()), piece], schema=_PACKED_ARROW)


def pack_piece(table: Any) -> Any:
    """Return a table as an Arrow array with one value."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return pa.array([sink.getvalue().to_pybytes()], pa.binary())


def unpack_piece(piece: Any) -> Any:
    """Return the table that was given to :func:`pack_piece`.

    :param piece: bytes, or a buffer.
    """
    return pa.ipc.open_stream(piece).read_all()


def unpack(batches: Iterable[Any]) -> Iterator[Any]:
    """Yield the tables in record batches of :data:`PACKED_SCHEMA`."""
    for batch in batches:
        for value in batch.column("piece"):
            yield unpack_piece(value.as_buffer())


def map_packed(frame: DataFrame, work: Callable[[Any], Sorted], *, is_whole: bool = False) -> DataFrame:
    """Run ``work`` on each piece, or once on all of a partition, on the executors. It takes a table and returns new
    ones.
    """

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        tables = unpack(batches)
        if is_whole:
            pieces = list(tables)
            tables = iter([pa.concat_tables(pieces)] if pieces else [])
        for table in tables:
            for bucket, made in work(table):
                yield from pack(made, bucket)

    return frame.mapInArrow(run, PACKED_SCHEMA)


def rows_of(frame: DataFrame, schema: str, work: Callable[[Any], Any]) -> DataFrame:
    """Run ``work`` on each piece, and return the rows of its tables, unpacked.

    :param schema: schema of these tables, for Spark.
    """

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        for table in unpack(batches):
            yield from work(table).to_batches()

    return frame.mapInArrow(run, schema)

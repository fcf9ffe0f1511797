"""The columns of a message, in order, for Spark and for Arrow.

Timestamps are instants (Spark's ``TIMESTAMP``, microseconds in Arrow, UTC). RocketMQ stores integer milliseconds, and a
sender may write any number. Python's ``datetime`` ends in the year 9999, and pandas, which counts nanoseconds, in 2262:
one such message would make ``collect()`` or ``toPandas()`` fail for all. So a time before 1678 or after 2261 is read as
:data:`FIRST_TIME_MS` or :data:`LAST_TIME_MS`.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from engine.pipeline.source.cluster.errors import wrong_option

#: 1678-01-01 and the last millisecond of 2261, UTC: within what pandas holds, in every time zone.
FIRST_TIME_MS = -9_214_560_000_000
LAST_TIME_MS = 9_214_646_399_999

#: Name -> (type, nullable).
_COLUMNS: dict[str, tuple[DataType, bool]] = {
    "topic": (StringType(), False),
    "broker_name": (StringType(), False),
    "queue_id": (IntegerType(), False),
    "queue_offset": (LongType(), False),
    "commit_log_offset": (LongType(), False),
    # The broker's id: its address and the commit-log offset (RocketMQ: ``offsetMsgId``).
    "message_id": (StringType(), False),
    # The producer's id (property UNIQ_KEY); messages of other programs may have none.
    "unique_id": (StringType(), True),
    "keys": (ArrayType(StringType(), False), False),
    "tags": (StringType(), True),
    "properties": (MapType(StringType(), StringType(), False), False),
    "born_timestamp": (TimestampType(), False),
    "store_timestamp": (TimestampType(), False),
    # "host:port" of the client that sent it.
    "born_host": (StringType(), False),
    "reconsume_times": (IntegerType(), False),
    "prepared_transaction_offset": (LongType(), False),
    # As the sender wrote it: decompressed.
    "body": (BinaryType(), False),
}
#: All columns, in the order of ``select *``.
COLUMN_NAMES: tuple[str, ...] = tuple(_COLUMNS)

#: Names of Spark's Kafka source for columns of this one.
KAFKA_NAMES = {"value": "body", "partition": "queue_id", "offset": "queue_offset", "timestamp": "store_timestamp"}
_KAFKA_COLUMNS: dict[str, tuple[DataType, bool]] = {
    "key": (BinaryType(), True),
    **{name: _COLUMNS[ours] for name, ours in KAFKA_NAMES.items()},
    "timestampType": (IntegerType(), False),
    "headers": (
        ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())]), False),
        False,
    ),
}
#: Columns of Kafka's source, in its order; ``headers`` comes with ``includeHeaders`` only.
KAFKA_COLUMN_NAMES = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")

#: The beginning of a column with a single property, null where a message does not have it.
PROPERTY_PREFIX = "properties."


def check_column(option: str, name: str) -> None:
    """Raise ``ROCKETMQ_WRONG_OPTION`` unless there is such a column."""
    is_property = name.startswith(PROPERTY_PREFIX) and name != PROPERTY_PREFIX
    if name not in COLUMN_NAMES and name not in _KAFKA_COLUMNS and not is_property:
        allowed = ", ".join((*COLUMN_NAMES, *_KAFKA_COLUMNS, f"{PROPERTY_PREFIX}NAME"))
        raise wrong_option(option, f"there is no column {name!r}; allowed: {allowed}")


def spark_schema(columns: tuple[str, ...] = COLUMN_NAMES) -> StructType:
    """Return the schema of a DataFrame with these columns."""
    return StructType([StructField(name, *_column(name)) for name in columns])


def _column(name: str) -> tuple[DataType, bool]:
    return _COLUMNS["tags"] if name.startswith(PROPERTY_PREFIX) else _COLUMNS.get(name) or _KAFKA_COLUMNS[name]


def arrow_schema(columns: tuple[str, ...] = COLUMN_NAMES) -> pa.Schema:
    """Return the schema of record batches with these columns."""
    return to_arrow_schema(spark_schema(columns), timezone="UTC")


def arrow_type(column: str) -> pa.DataType:
    """Return the type of one column in record batches."""
    return arrow_schema((column,)).field(0).type


def arrow_schema_of(schema: StructType) -> Any:
    """Return the Arrow schema of batches for this Spark schema, which a user may have written.

    Raises ``ROCKETMQ_WRONG_OPTION``.
    """
    wanted = to_arrow_schema(schema, timezone="UTC")
    for field in wanted:
        check_column("schema", field.name)
    ours = arrow_schema(tuple(wanted.names))
    for field, own in zip(wanted, ours, strict=True):
        if field.type != own.type:
            raise wrong_option(
                "schema", f"column {field.name!r} is {own.type}, not {field.type}; leave schema(...) out"
            )
    return wanted

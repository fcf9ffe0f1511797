"""The columns of a read as Spark wants them, which may be those that a user wrote down."""

from __future__ import annotations

from typing import Any

from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from engine.pipeline.source.errors import wrong_option
from engine.pipeline.source.schema import COLUMN_NAMES, arrow_schema


def arrow_schema_of(schema: StructType) -> Any:
    """The Arrow schema that batches must have for this Spark schema. Raises ``ROCKETMQ_WRONG_OPTION``."""
    wanted = to_arrow_schema(schema, timezone="UTC")
    for field in wanted:
        if field.name not in COLUMN_NAMES:
            raise wrong_option("schema", f"there is no column {field.name!r}; allowed: {', '.join(COLUMN_NAMES)}")
    ours = arrow_schema(tuple(wanted.names))
    for field, own in zip(wanted, ours, strict=True):
        if field.type != own.type:
            raise wrong_option(
                "schema", f"column {field.name!r} is {own.type}, not {field.type}; leave schema(...) out"
            )
    return wanted

"""Schemas that Spark and Arrow share; conversion of Arrow columns to numpy arrays, and of maps to single values,
without a Python loop.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Numbers = npt.NDArray[np.int64]
#: Spark's types, and Arrow's.
_ARROW_TYPES = {
    "string": pa.string(),
    "binary": pa.binary(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "array<bigint>": pa.list_(pa.field("element", pa.int64())),
}


def arrow_schema_of(schema: str) -> pa.Schema:
    """Return the Arrow schema for a schema in Spark's form: ``"kind string, count bigint"``."""
    return pa.schema([(name, _ARROW_TYPES[kind]) for name, kind in (column.split() for column in schema.split(", "))])


def int64(values: Any) -> Numbers:
    """Return a column without nulls as 64-bit numbers of numpy."""
    return np.asarray(values.to_numpy(zero_copy_only=False), np.int64)


def numbers(values: Any, nothing: int) -> Numbers:
    """Return a column that may hold nulls as numbers; ``nothing`` stands for null."""
    return int64(pc.fill_null(pc.cast(values, pa.int64()), nothing))


def milliseconds(timestamps: Any, nothing: int = 0) -> Numbers:
    """Return timestamps as milliseconds since 1970."""
    return numbers(timestamps, nothing * 1_000) // 1_000


def property_values(properties: Any, name: str) -> Any:
    """Return the values of one property, null if it is missing, from the flat keys of the whole batch.

    :param properties: an Arrow map array without nulls.
    """
    base = properties.offsets[0].as_py()
    keys = properties.keys.slice(base, properties.offsets[len(properties)].as_py() - base)
    at = int64(pc.indices_nonzero(pc.fill_null(pc.equal(keys, name), False))) + base
    rows = np.searchsorted(properties.offsets.to_numpy(), at, side="right") - 1
    indices = np.full(len(properties), -1, np.int64)
    indices[rows] = at
    return properties.items.take(pa.array(indices, mask=indices < 0))

"""Bodies with a schema: JSON by Spark's ``from_json``, Avro by the package ``fastavro``.

Spark's own ``from_avro`` needs a jar that PySpark does not bring. A body that does not have the schema is null and is
counted; it fails no query.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from decimal import Decimal
from functools import reduce
from operator import and_
from typing import Any

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812 - as every user of Spark writes it
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from engine.pipeline.errors import PackageMissing

#: The column in which ``from_json`` keeps the text of a body that it cannot read.
_BAD = "_corrupt_record"
#: Avro's types and logical types -> Spark's, as in its short form of schemas.
_AVRO_TYPES = {
    "boolean": "boolean",
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "bytes": "binary",
    "string": "string",
    "fixed": "binary",
    "enum": "string",
}
_AVRO_LOGICAL_TYPES = {"date": "date", "timestamp-millis": "timestamp", "timestamp-micros": "timestamp"}
#: Spark's range of dates and times. ``from_json`` reads others too, which Python cannot hold: ``collect()`` fails.
_TIMES = "0001-01-01", "9999-12-31 23:59:59.999999"


def with_json_body(
    frame: DataFrame,
    schema: StructType | str,
    *,
    body: str = "body",
    into: str = "parsed",
    count: str | Observation = "bodies",
) -> DataFrame:
    """Return ``frame`` with one more column, the object of this schema that each body holds as JSON.

    It is null where the body is no JSON object, or a value in it has another type or is out of the type's range. Fields
    that are missing are null, others are left out, and so is text after the object.

    :param schema: also in Spark's short form: ``"id bigint, paid boolean"``.
    :param body: the column with the body; ``value`` with the option ``kafkaNames``.
    :param into: name of the new column.
    :param count: name (in a stream) or Observation (in a batch) for the number of bodies, ``all``, and of those that
        became null, ``bad``.
    """
    wanted = StructType.fromDDL(schema) if isinstance(schema, str) else schema
    assert isinstance(wanted, StructType), "columns have names"
    marked = StructType([*wanted.fields, StructField(_BAD, StringType())])
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _BAD}
    read = F.from_json(F.col(body).cast("string"), marked, options)
    is_good = reduce(and_, _range_conditions(read, wanted), read[_BAD].isNull())
    return _counted(frame.withColumn(into, F.when(is_good, read.dropFields(_BAD))), into, count)


def with_avro_body(
    frame: DataFrame, schema: str, *, body: str = "body", into: str = "parsed", count: str | Observation = "bodies"
) -> DataFrame:
    """Return ``frame`` with one more column, the value of this Avro schema that each body holds in binary form.

    It is null where the body is too short, too long, or otherwise not of the schema, and where a number in it has more
    digits than its type. The other parameters are those of :func:`with_json_body`. Executors need ``fastavro``.

    :param schema: as JSON. A union is of one type and ``null``; of the logical types dates, timestamps and decimals
        become Spark's, others stay what they are stored as.

    Raises ``ValueError`` for any other union and for recursive types, :class:`PackageMissing` without ``fastavro``.
    """
    try:
        import fastavro
    except ImportError:
        raise PackageMissing("fastavro") from None
    parsed = fastavro.parse_schema(_plain(json.loads(schema)))
    kind = DataType.fromDDL(_spark_type(parsed, {}))
    fits = _range_check(kind)

    def read(value: bytes | None) -> Any:
        stream = io.BytesIO(value or b"")
        try:
            found = fastavro.schemaless_reader(stream, parsed, None)
        except Exception:  # whatever wrong bytes lead to
            return None
        return found if not stream.read(1) and (fits is None or fits(found)) else None

    decoded = F.udf(read, kind, useArrow=True)
    return _counted(frame.withColumn(into, decoded(body)), into, count)


def _range_check(kind: DataType) -> Callable[[Any], bool] | None:
    """Return a function that checks whether Spark's type holds what ``fastavro`` has read; None if it always does.

    Spark converts the values after the function that decodes them, and one that does not fit would end the query.
    ``fastavro`` checks neither the digits of a decimal nor the bits of an integer; dates and times are Python's.
    """
    match kind:
        case IntegerType() | LongType():
            limit = 1 << (31 if isinstance(kind, IntegerType) else 63)
            return lambda number: number is None or -limit <= number < limit
        case DecimalType():
            least = Decimal(10) ** (kind.precision - kind.scale)
            return lambda number: number is None or number.copy_abs() < least
        case ArrayType():
            of_item = _range_check(kind.elementType)
            return of_item and (lambda items: items is None or all(map(of_item, items)))
        case MapType():
            of_value = _range_check(kind.valueType)
            return of_value and (lambda found: found is None or all(map(of_value, found.values())))
        case StructType():
            checks = [(one.name, check) for one in kind if (check := _range_check(one.dataType)) is not None]
            return lambda record: record is None or all(check(record[name]) for name, check in checks)
    return None


def _range_conditions(found: Column, kind: DataType) -> list[Column]:
    """Return what must be true if all dates and times within a column are in Spark's range."""
    match kind:
        case DateType() | TimestampType() | TimestampNTZType():
            conditions = [found.between(*(F.lit(bound).cast(kind) for bound in _TIMES))]
        case ArrayType():
            item = kind.elementType
            has_times = bool(_range_conditions(found[0], item))
            conditions = [F.forall(found, lambda one: reduce(and_, _range_conditions(one, item)))] if has_times else []
        case MapType():
            conditions = _range_conditions(F.map_values(found), ArrayType(kind.valueType))
        case StructType():
            conditions = [condition for one in kind for condition in _range_conditions(found[one.name], one.dataType)]
        case _:
            conditions = []
    return [F.coalesce(condition, F.lit(True)) for condition in conditions]


def _counted(frame: DataFrame, into: str, count: str | Observation) -> DataFrame:
    return frame.observe(count, F.count(F.lit(1)).alias("all"), F.count_if(F.col(into).isNull()).alias("bad"))


def _plain(schema: Any) -> Any:
    """Return the schema without the logical types that have no counterpart here."""
    if isinstance(schema, list):
        return [_plain(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: _plain(value) for name, value in schema.items() if name not in ("default", "doc")}
    if kept.get("logicalType") not in (*_AVRO_LOGICAL_TYPES, "decimal"):
        kept.pop("logicalType", None)
    return kept


def _spark_type(schema: Any, named: dict[str, str]) -> str:
    """Return Spark's type for a schema that ``fastavro`` has parsed; ``named`` are the types defined so far."""
    match schema:
        case str() if schema in _AVRO_TYPES or schema in named:
            return _AVRO_TYPES.get(schema) or named[schema]
        case [one] | ["null", one] | [one, "null"]:
            return _spark_type(one, named)
        case {"type": "bytes" | "fixed", "logicalType": "decimal", "precision": digits}:
            found = f"decimal({digits}, {schema.get('scale', 0)})"
        case {"logicalType": kind}:
            found = _AVRO_LOGICAL_TYPES[kind]
        case {"type": "array", "items": items}:
            return f"array<{_spark_type(items, named)}>"
        case {"type": "map", "values": values}:
            return f"map<string, {_spark_type(values, named)}>"
        case {"type": "record", "fields": fields}:
            columns = (f"`{one['name']}`: {_spark_type(one['type'], named)}" for one in fields)
            found = f"struct<{', '.join(columns)}>"
        case {"type": kind}:
            found = _spark_type(kind, named)
        case _:
            allowed = ", ".join(_AVRO_TYPES)
            raise ValueError(f"{schema!r} is no Avro type that can be read; allowed: {allowed}, record, array, map")
    if "name" in schema:
        named[schema["name"]] = found
    return found

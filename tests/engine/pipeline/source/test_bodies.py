"""Bodies in JSON and Avro become columns; what does not have the schema is null and counted."""

from __future__ import annotations

import datetime as dt
import io
import json
import re
from decimal import Decimal
from itertools import product
from pathlib import Path

import pytest
from pyspark.sql import Observation, Row
from pyspark.sql.types import ArrayType, DecimalType, LongType, MapType, StringType, StructField, StructType

from engine.pipeline.source.bodies import _range_check, with_avro_body, with_json_body
from engine.protocol.message.message import Message
from tests.support.live.live_server import LiveServer
from tests.support.pipeline.spark import import_or_skip

PROJECT = Path(__file__).resolve().parents[4]
JSON_SCHEMA = "id bigint, paid boolean, lines array<struct<sku string>>"
BODIES = (
    b'{"id": 1, "paid": true, "lines": [{"sku": "a"}], "more": 5}',
    b'{"id": 2}',
    b'{"id": 3} and more',
    b'{"id": "four"}',
    b'{"id": 5, "paid": tr',
    b"[]",
    b"\xff\xfe",
    b"",
)
READ = [Row(id=1, paid=True, lines=[Row(sku="a")]), *(Row(id=number, paid=None, lines=None) for number in (2, 3))]
AVRO_SCHEMA = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"], "default": None},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": ["NEW", "PAID"]}},
        {"name": "before", "type": [{"type": "array", "items": "State"}, "null"]},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "amount", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "uuid", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "hash", "type": {"type": "fixed", "name": "Hash", "size": 2}},
        {"name": "weights", "type": {"type": "map", "values": "double"}},
    ],
}
NOON = dt.datetime(2026, 11, 22, 12, tzinfo=dt.UTC)
ORDER = {
    "id": 7,
    "note": None,
    "state": "PAID",
    "before": ["NEW"],
    "at": NOON,
    "day": dt.date(2026, 11, 22),
    "amount": Decimal("12.50"),
    "uuid": "0c6f0f4e-6a3c-4f3c-9f57-6a5d1a0f8a11",
    "hash": b"\x00\xff",
    "weights": {"a": 0.5},
}


def in_avro(schema, value):
    fastavro = import_or_skip("fastavro")
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, schema, value)
    return stream.getvalue()


def test_json_that_does_not_have_the_schema_is_null_and_counted(spark):
    frame, seen = spark.createDataFrame([(body,) for body in BODIES], "body binary"), Observation()
    rows = with_json_body(frame, JSON_SCHEMA, count=seen).collect()
    assert [row.parsed for row in rows] == [*READ, *[None] * (len(BODIES) - len(READ))]
    assert seen.get == {"all": len(BODIES), "bad": len(BODIES) - len(READ)}


def test_a_filter_and_few_fields_change_neither_values_nor_the_count(spark):
    frame, seen = spark.createDataFrame([(body,) for body in BODIES], "value binary"), Observation()
    found = with_json_body(frame, JSON_SCHEMA, body="value", into="order", count=seen).where("order.id > 0")
    assert [row.id for row in found.select("order.id").collect()] == [1, 2, 3]
    assert seen.get == {"all": len(BODIES), "bad": len(BODIES) - len(READ)}


def test_a_stream_reports_how_many_bodies_were_bad(spark, tmp_path):
    frame = spark.createDataFrame([(body,) for body in BODIES], "body binary")
    frame.coalesce(1).write.parquet(str(tmp_path / "topic"))
    stream = with_json_body(spark.readStream.schema(frame.schema).parquet(str(tmp_path / "topic")), JSON_SCHEMA)
    writer = stream.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    (counts,) = [progress.observedMetrics["bodies"] for progress in query.recentProgress if progress.numInputRows]
    assert counts.asDict() == {"all": len(BODIES), "bad": len(BODIES) - len(READ)}


@pytest.mark.filterwarnings("error::UserWarning")
def test_avro_that_does_not_have_the_schema_is_null_and_counted(spark):
    whole = in_avro(AVRO_SCHEMA, ORDER)
    bodies = [whole, whole[:-1], whole + b"\x00", b"\xff" * 40, b"", None]
    frame, seen = spark.createDataFrame([(body,) for body in bodies], "body binary").coalesce(1), Observation()
    found = with_avro_body(frame, json.dumps(AVRO_SCHEMA), count=seen)
    first, *others = [row.parsed for row in found.selectExpr("parsed").collect()]
    assert first.asDict() == {**ORDER, "at": first.at} and first.at.astimezone(dt.UTC) == NOON
    assert others == [None] * (len(bodies) - 1)
    assert seen.get == {"all": len(bodies), "bad": len(bodies) - 1}


NUMBERS = {"type": "bytes", "logicalType": "decimal", "precision": 3, "scale": 1}
LEAST, MOST = dt.datetime(1, 1, 1, tzinfo=dt.UTC), dt.datetime(9999, 12, 31, 23, 59, 59, tzinfo=dt.UTC)


def bytes_of(number):
    return number.to_bytes(4, "big", signed=True)


#: Avro's type, the type in which a body is written (the same binary form), values that fit, and others.
RANGES = {
    "int": ("int", "long", [2**31 - 1, -(2**31)], [2**31, -(2**31) - 1, 2**62]),
    "decimal": (NUMBERS, "bytes", [bytes_of(999), bytes_of(-999), b""], [*map(bytes_of, (1000, -1000)), b"\x7f" * 99]),
    "date": (
        {"type": "int", "logicalType": "date"},
        "long",
        [LEAST.toordinal() - 719163, MOST.toordinal() - 719163],
        [LEAST.toordinal() - 719164, MOST.toordinal() - 719162, 2**40],
    ),
    **{
        f"timestamp-{unit}": (
            {"type": "long", "logicalType": f"timestamp-{unit}"},
            "long",
            [int(LEAST.timestamp()) * second, int(MOST.timestamp()) * second],
            [int(LEAST.timestamp()) * second - 1, (int(MOST.timestamp()) + 1) * second, -(2**63), 2**63 - 1],
        )
        for unit, second in (("millis", 1_000), ("micros", 1_000_000))
    },
    "double": ("double", "double", [float("nan"), float("inf"), 1e308], []),
    "float": ("float", "float", [float("nan"), 3e38], []),
    "long": ("long", "long", [2**63 - 1, -(2**63)], []),
}
#: Where a value may be -> the schema with it, and the value in it.
NESTINGS = {
    "itself": (lambda kind: kind, lambda value: value),
    "array": (lambda kind: {"type": "array", "items": kind}, lambda value: [value]),
    "map": (lambda kind: {"type": "map", "values": kind}, lambda value: {"a": value}),
    "union": (lambda kind: ["null", kind], lambda value: value),
    "record": (
        lambda kind: {"type": "record", "name": "R", "fields": [{"name": "r", "type": ["null", kind]}]},
        lambda value: {"r": value},
    ),
}


@pytest.mark.parametrize("nesting", NESTINGS)
def test_avro_values_that_no_column_holds_are_null_wherever_they_are(spark, nesting):
    schema_of, value_of = NESTINGS[nesting]
    for kind, written, fitting, others in RANGES.values():
        bodies = [(in_avro(schema_of(written), value_of(value)),) for value in (*others, *fitting)]
        frame, seen = spark.createDataFrame(bodies, "body binary").coalesce(1), Observation()
        frame = with_avro_body(frame, json.dumps(schema_of(kind)), count=seen)
        found = [row.is_null for row in frame.selectExpr("parsed IS NULL AS is_null").collect()]
        assert found == [True] * len(others) + [False] * len(fitting), kind
        assert seen.get == {"all": len(bodies), "bad": len(others)}


def test_the_check_of_ranges_bounds_numbers_of_any_size():
    """``fastavro`` without its compiled part reads integers of any size."""
    numbers = MapType(StringType(), ArrayType(DecimalType(2, 2)))
    check = _range_check(StructType([StructField("l", LongType()), StructField("m", numbers)]))
    assert check is not None
    assert check({"l": -(2**63), "m": None}) and check({"l": None, "m": {"a": [Decimal("0.99"), None]}})
    assert not check({"l": 2**63, "m": {}}) and not check({"l": 1, "m": {"a": [Decimal(1)]}})
    longest = _range_check(DecimalType(38, 0))
    assert longest is not None and longest(Decimal("9" * 38)) and not longest(Decimal(-(10**38)))


def test_json_values_that_no_column_holds_are_null_wherever_they_are(spark):
    ranges = {
        "int": (["2147483647"], ["2147483648", "1e30", "1.5", "NaN"]),
        "decimal(3, 1)": (["99.9"], ["999.9", "1e400", '"NaN"']),
        "date": (['"9999-12-31"', '"0001-01-01"'], ['"10000-01-01"', '"-0001-01-01"', '"999999999-01-01"']),
        "timestamp": (['"9999-12-31T23:59:59Z"'], ['"10000-01-01T00:00:00Z"', '"-0001-01-01"', "1e30", "900000000000"]),
        "double": (["NaN", "1e300", "-Infinity"], ['"x"']),
    }
    nestings = {"{}": "{}", "array<{}>": "[{}]", "map<string, {}>": '{{"a": {}}}', "struct<r: {}>": '{{"r": {}}}'}
    for (kind, (fitting, others)), (shape, text) in product(ranges.items(), nestings.items()):
        bodies = [('{"v": ' + text.format(value) + "}",) for value in (*others, *fitting)]
        frame, seen = spark.createDataFrame(bodies, "body string").coalesce(1), Observation()
        rows = with_json_body(frame, "v " + shape.format(kind), count=seen).selectExpr("parsed").collect()
        assert [row.parsed is None for row in rows] == [True] * len(others) + [False] * len(fitting), (kind, shape)
        assert seen.get == {"all": len(bodies), "bad": len(others)}


@pytest.mark.parametrize(
    "schema",
    [
        ["string", "long"],
        {"type": "record", "name": "Node", "fields": [{"name": "next", "type": ["null", "Node"]}]},
    ],
)
def test_avro_types_that_no_column_has_are_refused(spark, schema):
    import_or_skip("fastavro")
    with pytest.raises(ValueError, match="is no Avro type that can be read; allowed: boolean, int, "):
        with_avro_body(spark.createDataFrame([(b"",)], "body binary"), json.dumps(schema))


def test_the_example_of_the_documents_runs(spark, tmp_path, capsys):
    section = (PROJECT / "docs" / "pipeline.md").read_text().split("### Bodies with a schema")[1].split("\n### ")[0]
    (program,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    bodies = [b'{"id": 1, "amount": 2.50}', b'{"id": 1, "amount": 1.25}', b"no JSON"]
    with LiveServer(tmp_path / "data", page=False) as server:
        server.create_topic("Orders", 2)
        server.send(*[Message("Orders", body) for body in bodies])
        exec(program.replace("127.0.0.1:9876", server.name_servers[0]), {"spark": spark})
    printed = capsys.readouterr().out
    assert re.search(r"\| +1\| +3\.75\|", printed) and "1 of 3 bodies are bad" in printed

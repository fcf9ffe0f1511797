"""Which DataFrames can be written, and what their rows may say."""

from __future__ import annotations

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from pyspark.sql.types import ArrayType, BinaryType, IntegerType, LongType, MapType, StringType, StructType

from engine.pipeline.source.cluster.errors import RocketMQError
from engine.pipeline.source.writer.writer_options import WriteOptions
from engine.pipeline.source.writer.writer_rows import RowReader, check_columns

MAP = pa.map_(pa.string(), pa.string())
#: Spark's own parser of such texts is in its JVM, which is not needed here.
COMPOUND = {
    "array<string>": ArrayType(StringType()),
    "array<int>": ArrayType(IntegerType()),
    "map<string,string>": MapType(StringType(), StringType()),
    "map<string,int>": MapType(StringType(), IntegerType()),
}
SIMPLE = {kind.simpleString(): kind for kind in (BinaryType(), IntegerType(), LongType(), StringType())}


def schema_of(text):
    """``"name type, name type"`` as a schema."""
    schema = StructType()
    for column in text.split(", "):
        name, kind = column.split(" ")
        schema.add(name, COMPOUND.get(kind) or SIMPLE[kind])
    return schema


def read(copies_messages=False, types=None, **columns):
    """The rows of one record batch, for the topic T."""
    arrays = [pa.array(values, (types or {}).get(name)) for name, values in columns.items()]
    return list(RowReader("T", copies_messages=copies_messages).read(pa.RecordBatch.from_arrays(arrays, list(columns))))


@pytest.mark.parametrize(
    "schema",
    [
        "body binary",
        "body string, keys string",
        "body binary, keys array<string>, tags string, properties map<string,string>, sharding_key string",
        "body binary, delay_level int, topic string",
        "queue_id bigint, broker_name string, body string",
    ],
)
def test_these_columns_can_be_written(schema):
    check_columns(schema_of(schema), "T")


@pytest.mark.parametrize(
    ("schema", "topic", "text"),
    [
        ("body binary, offset bigint", "T", "column 'offset' cannot be written; allowed: topic, body, keys, tags"),
        ("body int", "T", "column 'body' is int; allowed: binary or string"),
        ("body string, keys array<int>", "T", "column 'keys' is array<int>; allowed: array<string>"),
        ("body string, properties map<string,int>", "T", "column 'properties' is map<string,int>"),
        ("body string, delay_level string", "T", "column 'delay_level' is string; allowed: int"),
        ("tags string", "T", "there is no column 'body'"),
        ("body string", None, "give the option 'topic' or a column 'topic'"),
        ("body string, broker_name string", "T", "'broker_name' needs a column 'queue_id'"),
    ],
)
def test_other_columns_are_refused_with_what_is_allowed(schema, topic, text):
    with pytest.raises(RocketMQError) as raised:
        check_columns(schema_of(schema), topic)
    assert text in str(raised.value) and str(raised.value).startswith("[ROCKETMQ_WRONG_ROW]")


def test_null_means_not_given():
    columns = {"topic": [None], "keys": [None], "tags": [None], "sharding_key": [None], "delay_level": [None]}
    types = {name: pa.string() for name in columns} | {"delay_level": pa.int32(), "properties": MAP}
    (row,) = read(types=types, body=["b"], properties=[None], **columns)
    assert (row.topic, row.body, row.properties, row.sharding_key, row.is_delayed) == ("T", b"b", {}, None, False)


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({"body": [None]}, "row 0 of its partition: 'body' is null or empty"),
        ({"body": ["ok", ""]}, "row 1 of its partition: 'body' is null or empty"),
        ({"body": ["b"], "keys": [["two words"]]}, "'keys' has 'two words'; a key holds no space"),
        ({"body": ["b"], "keys": [["a", None]]}, "'keys' has None"),
        ({"body": ["b"], "tags": ["a\x01b"]}, "'tags' has 'a\\x01b'"),
        ({"body": ["b"], "delay_level": [19]}, "'delay_level' is 19; allowed: 0 (none) to 18"),
        ({"body": ["b"], "properties": [[("UNIQ_KEY", "1")]]}, "'properties' has the name 'UNIQ_KEY'"),
        ({"body": ["b"], "properties": [[("SPARK_TXN", "1")]]}, "copiesMessages=true"),
        ({"body": ["b"], "properties": [[("a", None)]]}, "'properties' has None"),
        ({"body": ["b"], "properties": [[("a", " ")]]}, "'properties' has ' '; allowed: text that is not blank"),
        ({"body": ["b"], "queue_id": [1], "sharding_key": ["k"]}, "give one of them"),
    ],
)
def test_a_row_that_no_message_can_be_is_refused_by_its_number(columns, text):
    with pytest.raises(RocketMQError) as raised:
        read(types={"properties": MAP}, **columns)
    assert text in str(raised.value)


def test_rows_are_numbered_over_all_record_batches():
    reader = RowReader("T", copies_messages=False)
    good, bad = (pa.RecordBatch.from_pydict({"body": bodies}) for bodies in (["a", "b"], ["c", ""]))
    assert len(list(reader.read(good))) == 2
    with pytest.raises(RocketMQError, match="row 3 of its partition"):
        list(reader.read(bad))


def test_names_that_rocketmq_uses_can_be_dropped_for_messages_that_were_read_from_a_topic():
    (row,) = read(
        True, {"properties": MAP}, body=["b"], properties=[[("UNIQ_KEY", "1"), ("CLUSTER", "c"), ("own", "x")]]
    )
    assert row.properties == {"own": "x"}


def test_copied_messages_may_say_what_brokers_take_and_producers_refuse():
    columns = {"body": [b""], "tags": [" "], "keys": [["k", "\t"]], "properties": [[("note", " "), ("odd", "a\x01b")]]}
    (row,) = read(copies_messages=True, types={"properties": MAP}, **columns)
    assert row.body == b""
    assert row.properties == {"note": " ", "odd": "a\x01b", "KEYS": "k \t", "TAGS": " "}
    with pytest.raises(RocketMQError, match="row 0 of its partition: 'body' is null"):
        read(copies_messages=True, types={"body": pa.string()}, body=[None])
    with pytest.raises(RocketMQError, match="row 0 of its partition: 'tags' has"):
        read(copies_messages=True, body=["b"], tags=["a\x02b"])


def test_keys_as_text_are_words():
    (row,) = read(body=["b"], keys=[" one  two "])
    assert row.properties == {"KEYS": "one two"}


def test_rows_that_differ_anywhere_have_other_fingerprints():
    same = read(body=["b", "b"])
    assert same[0].fingerprint == same[1].fingerprint
    others = [
        read(body=["c"]),
        read(body=["b"], tags=["t"]),
        read(body=["b"], keys=["t"]),
        read(body=["b"], topic=["U"]),
        read(body=["b"], delay_level=[1]),
        read(types={"properties": MAP}, body=["b"], properties=[[("a", "t")]]),
        read(body=["b"], sharding_key=["t"]),
        read(body=["b"], sharding_key=["None"]),
        read(body=["b"], queue_id=[0]),
        read(body=["b"], queue_id=[1]),
        read(body=["b"], queue_id=[0], broker_name=["t"]),
        read(body=["b"], queue_id=[0], broker_name=["None"]),
    ]
    assert len({same[0].fingerprint, *(rows[0].fingerprint for rows in others)}) == 1 + len(others)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"topik": "T"}, "there is no such option; did you mean 'topic'?"),
        ({"topic": "a b"}, "option 'topic'"),
        ({"topic": "RMQ_SYS_TRANS_HALF_TOPIC"}, "nobody may send to it"),
        ({"batchBytes": "5000000"}, "an integer from 1 to 4194304"),
        ({"replayCheck": "maybe"}, "'maybe' is not allowed; allowed: auto, always, never"),
        ({"copiesMessages": "keep"}, "'keep' is not allowed; allowed: true or false"),
        ({"transactionNumber": "3"}, "option 'transactionId': is missing; transactionNumber counts"),
        ({"transactionId": "t", "transactionNumber": "-1"}, "an integer from 0"),
        ({"producerGroup": "a b"}, "option 'producerGroup'"),
        ({"startingOffsets": "earliest"}, "option 'startingoffsets': there is no such option"),
    ],
)
def test_wrong_options_are_refused_by_name(options, text):
    with pytest.raises(RocketMQError) as raised:
        WriteOptions.parse({"nameServer": "127.0.0.1:9876"} | options)
    assert text in str(raised.value)

"""Stored bytes to Arrow: the same as the engine's own decoder, for any messages."""

from __future__ import annotations

import io
import zlib

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyspark.sql.pandas.types import to_arrow_schema

from engine.pipeline.source.cluster.errors import RocketMQError
from engine.pipeline.source.decoding import body_compression
from engine.pipeline.source.decoding.schema import COLUMN_NAMES, KAFKA_COLUMN_NAMES, arrow_schema, spark_schema
from engine.pipeline.source.decoding.stored_batch import StoredBatch, bounded_batches, message_starts
from engine.protocol.message.addresses import encode_host
from engine.protocol.message.compression import DECOMPRESSED_MAX_BYTES, ZLIB_SYSTEM_FLAG
from engine.protocol.message.message_codec import decode_messages, encode_stored_parts
from engine.protocol.system_flags import (
    BORN_HOST_V6,
    COMPRESSION_LZ4,
    COMPRESSION_ZSTD,
    MESSAGE_COMPRESSED,
    STORE_HOST_V6,
)
from tests.support.tiers import examples

_INT64 = st.integers(-(2**63), 2**63 - 1)
_MS = st.integers(0, 4_000_000_000_000)
_HOSTS = st.sampled_from(["127.0.0.1:10911", "10.0.0.7:1", "[::1]:10911", "[2001:db8::7]:65535"])
#: Separators come often, so that entries without value, name or separator come too, and trailing separators.
_PROPERTY_TEXT = st.text(
    st.one_of(st.sampled_from("\x01\x02 =KEYSTAG"), st.characters(codec="utf-8")), max_size=60
) | st.lists(
    st.tuples(
        st.sampled_from(["KEYS", "TAGS", "UNIQ_KEY", "单号", "a"]), st.sampled_from(["x", "k1 k2", " k ", "", "值"])
    ),
    max_size=6,
).map(lambda pairs: "\x02".join(f"{name}\x01{value}" for name, value in pairs))


@st.composite
def stored_messages(draw):
    born, store = draw(_HOSTS), draw(_HOSTS)
    body = draw(st.binary(max_size=200))
    sys_flag = draw(st.sampled_from([0, 4, 8, ZLIB_SYSTEM_FLAG, MESSAGE_COMPRESSED]))
    if sys_flag & MESSAGE_COMPRESSED:
        body = zlib.compress(body)
    sys_flag |= (BORN_HOST_V6 if "[" in born else 0) | (STORE_HOST_V6 if "[" in store else 0)
    return encode_stored_parts(
        topic=draw(st.sampled_from(["Orders", "%RETRY%g", "T" * 127, "主题"])).encode(),
        body=body,
        properties=draw(_PROPERTY_TEXT).encode(),
        queue_id=draw(st.integers(0, 65_535)),
        flag=draw(st.integers(-(2**31), 2**31 - 1)),
        queue_offset=draw(_INT64),
        physical_offset=draw(_INT64),
        sys_flag=sys_flag,
        born_timestamp=draw(_MS),
        born_host=encode_host(born),
        store_timestamp=draw(_MS),
        store_host=encode_host(store),
        reconsume_times=draw(st.integers(0, 2**31 - 1)),
        prepared_transaction_offset=draw(_INT64),
    )


def stored(body=b"hello", properties="", sys_flag=0, topic=b"Orders", queue_offset=0, store_timestamp=7):
    return encode_stored_parts(
        topic=topic,
        body=body,
        properties=properties.encode() if isinstance(properties, str) else properties,
        queue_id=3,
        flag=0,
        queue_offset=queue_offset,
        physical_offset=99,
        sys_flag=sys_flag,
        born_timestamp=5,
        born_host=encode_host("10.0.0.1:5000"),
        store_timestamp=store_timestamp,
        store_host=encode_host("10.0.0.2:10911"),
        reconsume_times=0,
        prepared_transaction_offset=0,
    )


def decode(data, columns=COLUMN_NAMES):
    return StoredBatch(data, message_starts(data)).record_batch(arrow_schema(columns), "broker-a")


def expected_row(message):
    return {
        "topic": message.topic,
        "broker_name": "broker-a",
        "queue_id": message.queue_id,
        "queue_offset": message.queue_offset,
        "commit_log_offset": message.commit_log_offset,
        "message_id": message.offset_message_id,
        "unique_id": message.properties.get("UNIQ_KEY"),
        "keys": list(message.keys),
        "tags": message.tags,
        "properties": list(message.properties.items()),
        "born_timestamp": message.born_timestamp * 1_000,
        "store_timestamp": message.store_timestamp * 1_000,
        "born_host": message.born_host,
        "reconsume_times": message.reconsume_times,
        "prepared_transaction_offset": message.prepared_transaction_offset,
        "body": message.body,
    }


@given(st.lists(stored_messages(), max_size=12))
@settings(deadline=None, max_examples=examples(quick=30, full=150))
@example([stored(properties="a\x01b\x02"), stored(properties="\x02\x02")])
@example([stored(properties="a\x011\x02b\x012\x02a\x013"), stored(properties="b\x012")])
def test_a_batch_holds_what_the_engines_decoder_reads(messages):
    data = b"".join(messages)
    batch = decode(data)
    batch.validate(full=True)
    for name in ("born_timestamp", "store_timestamp"):
        batch = batch.set_column(batch.schema.get_field_index(name), name, batch.column(name).cast(pa.int64()))
    assert batch.to_pylist() == [expected_row(message) for message in decode_messages(data)]


def test_the_arrow_schema_is_the_one_that_spark_makes_of_the_spark_schema():
    assert arrow_schema().equals(to_arrow_schema(spark_schema(), timezone="UTC"))
    assert decode(stored()).schema.equals(arrow_schema())


@pytest.mark.parametrize("column", COLUMN_NAMES)
def test_each_column_can_be_read_alone(column):
    data = stored(properties="KEYS\x01k1 k2\x02TAGS\x01T") * 3
    assert decode(data, (column,)).column(column).to_pylist() == decode(data).column(column).to_pylist()


@pytest.mark.parametrize(("codec", "flag"), [("lz4", COMPRESSION_LZ4), ("zstd", COMPRESSION_ZSTD)])
def test_bodies_of_newer_brokers_are_decompressed(codec, flag):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, codec) as stream:
        stream.write(b"hello " * 100)
    data = stored(sink.getvalue().to_pybytes(), sys_flag=MESSAGE_COMPRESSED | flag) + stored(b"plain")
    assert decode(data, ("body",)).column("body").to_pylist() == [b"hello " * 100, b"plain"]


def test_no_more_of_a_body_is_decompressed_than_the_bound_and_a_byte(monkeypatch):
    """A body of some kilobytes may stand for gigabytes: refusing it afterwards would be too late."""
    asked = []

    class Stream(io.BytesIO):
        def read(self, size=-1):
            asked.append(size)
            return super().read(size)

    monkeypatch.setattr(pa, "input_stream", lambda *_, **__: Stream(b"x"))
    assert body_compression.decompressed(b"", MESSAGE_COMPRESSED | COMPRESSION_LZ4) == b"x"
    assert asked == [DECOMPRESSED_MAX_BYTES + 1]


@pytest.mark.parametrize(("codec", "flag"), [("lz4", COMPRESSION_LZ4), ("zstd", COMPRESSION_ZSTD)])
def test_a_body_that_grows_beyond_the_bound_is_refused(codec, flag, monkeypatch):
    monkeypatch.setattr(body_compression, "DECOMPRESSED_MAX_BYTES", 1_000)

    def body(size):
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, codec) as stream:
            stream.write(bytes(size))
        return decode(stored(sink.getvalue().to_pybytes(), sys_flag=MESSAGE_COMPRESSED | flag), ("body",)).column(0)

    assert body(1_000).to_pylist() == [bytes(1_000)]
    with pytest.raises(RocketMQError, match="a body grows beyond 1000 bytes when decompressed"):
        body(1_001)


def test_a_message_of_64_kib_and_more_is_found():
    data = stored() + stored(bytes(65_536 - len(stored(b"")))) + stored(bytes(200_000)) + stored()
    assert [len(body) for body in decode(data, ("body",)).column("body").to_pylist()] == [5, 65_439, 200_000, 5]


def test_text_that_is_no_utf_8_is_read_with_replacement_characters():
    data = stored(properties=b"TAGS\x01\xff\xfe\x02a\x01b")
    assert decode(data, ("tags",)).column("tags").to_pylist() == ["\ufffd\ufffd"]
    assert decode(data, ("properties",)).column("properties").to_pylist() == [[("TAGS", "\ufffd\ufffd"), ("a", "b")]]
    assert decode(data + stored(), ("tags",)).column("tags").to_pylist() == ["\ufffd\ufffd", None]


@pytest.mark.parametrize(
    "data",
    [
        stored()[:-1],
        stored() + b"\0",
        stored() + stored()[:50],
        b"\0" * 200,
        stored()[:4] + b"\1\2\3\4" + stored()[8:],
        stored()[:84] + b"\x7f\0\0\0" + stored()[88:],
        stored()[:84] + b"\xff\0\0\0" + stored()[88:],
        stored(topic=b"")[:-3] + b"\xff" + stored(topic=b"")[-2:],
        stored()[:-2] + b"\0\1",
        b"\xff\xff" + stored()[2:],
    ],
)
def test_bytes_that_are_no_messages_are_refused(data):
    with pytest.raises(RocketMQError) as error:
        decode(data)
    assert error.value.condition == "ROCKETMQ_BROKEN_MESSAGE"


def test_properties_that_are_not_utf8_are_read_as_everywhere_else():
    data = stored(properties=b"KEYS\x01\xd6\xd8 k\x02a\x01\xed\xa0\x80\xff") + stored(properties="TAGS\x01t")
    rows = decode(data).to_pylist()
    assert [dict(row["properties"]) for row in rows] == [message.properties for message in decode_messages(data)]
    assert dict(rows[0]["properties"])["a"] == "\ufffd\ufffd"


def test_a_body_that_is_not_what_its_flag_says_is_refused():
    with pytest.raises(RocketMQError, match="ROCKETMQ_BROKEN_MESSAGE") as error:
        decode(stored() + stored(b"not compressed", sys_flag=ZLIB_SYSTEM_FLAG, queue_offset=17))
    assert "offset 17" in str(error.value)


def test_compressed_bodies_are_spread_over_several_batches():
    data = b"".join(stored(zlib.compress(bytes(100_000)), sys_flag=ZLIB_SYSTEM_FLAG) for _ in range(20)) + stored()
    batches = list(bounded_batches(data, message_starts(data), 20_000))
    assert len(batches) > 2
    assert sum(len(batch) for batch in batches) == 21
    assert {len(body) for batch in batches for body in batch.bodies().to_pylist()} == {100_000, 5}


@pytest.mark.parametrize("bound", [250_000, 10_000_000])
def test_batches_keep_to_their_bound_and_the_messages_to_their_order_however_far_bodies_grow(bound):
    """A sender may compress a thousandfold: four megabytes of the log would become four gigabytes."""
    kinds = [zlib.compress(bytes([number]) * 100_000) for number in range(9)]
    sent = [(kinds[number % 9], ZLIB_SYSTEM_FLAG) if number % 3 else (b"plain", 0) for number in range(30)]
    data = b"".join(stored(body, sys_flag=flag, queue_offset=place) for place, (body, flag) in enumerate(sent))
    batches = list(bounded_batches(data, message_starts(data), bound))
    assert [offset for batch in batches for offset in batch.number("queue_offset")] == list(range(30))
    bodies = [batch.bodies().to_pylist() for batch in batches]
    assert max(sum(map(len, some)) for some in bodies) <= bound + 100
    assert [body for some in bodies for body in some] == [
        zlib.decompress(body) if flag else body for body, flag in sent
    ]


@pytest.mark.parametrize(
    ("time_ms", "year"), [(2**63 - 1, 2261), (-(2**63), 1678), (253_402_300_800_000, 2261), (-1, 1969)]
)
def test_a_time_that_python_cannot_hold_becomes_the_nearest_that_pandas_can(time_ms, year):
    batch = decode(stored(store_timestamp=time_ms), ("store_timestamp",))
    assert batch.column(0).to_pylist()[0].year == batch.to_pandas()["store_timestamp"].dt.year[0] == year


def test_columns_with_kafka_s_names_hold_the_same():
    names = (*KAFKA_COLUMN_NAMES, "headers")
    assert arrow_schema(names) == to_arrow_schema(spark_schema(names), timezone="UTC")
    data = stored(properties=b"KEYS\x01a b\x02n\x011", queue_offset=7) + stored(properties=b"")
    first, second = decode(data, names).to_pylist()
    ours, _ = decode(data).to_pylist()
    assert first == {
        "key": b"a b",
        "value": ours["body"],
        "topic": ours["topic"],
        "partition": ours["queue_id"],
        "offset": 7,
        "timestamp": ours["store_timestamp"],
        "timestampType": 1,
        "headers": [{"key": "KEYS", "value": b"a b"}, {"key": "n", "value": b"1"}],
    }
    assert (second["key"], second["headers"]) == (None, [])


def test_a_batch_may_hold_some_of_the_messages():
    data = b"".join(stored(queue_offset=offset) for offset in range(5))
    some = StoredBatch(data, message_starts(data)[np.array([1, 3])])
    assert some.number("queue_offset").tolist() == [1, 3]
    assert some.bodies().to_pylist() == [b"hello"] * 2

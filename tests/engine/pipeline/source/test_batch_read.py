"""``spark.read.format("rocketmq")`` against a GlassMQ in this process."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

pytest.importorskip("pyspark")

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.errors import AnalysisException
from pyspark.sql import datasource as ds
from pyspark.sql.types import StructType

from engine.broker.foundation.broker_config import BrokerConfig
from engine.pipeline.source.cluster.cluster import Cluster
from engine.pipeline.source.cluster.errors import RocketMQError, explain
from engine.pipeline.source.data_source import FilteringDataSource, RocketMQDataSource
from engine.pipeline.source.decoding.schema import (
    COLUMN_NAMES,
    KAFKA_COLUMN_NAMES,
    arrow_schema,
    arrow_schema_of,
    spark_schema,
)
from engine.pipeline.source.reader import batch_reader, range_puller, range_reader
from engine.pipeline.source.reader.batch_reader import make_reader
from engine.pipeline.source.writer.writer_options import WriteOptions
from engine.pipeline.source.writer.writer_replay import WriteIdentity
from engine.pipeline.source.writer.writer_rows import RowReader
from engine.pipeline.source.writer.writer_sender import PartitionSender
from engine.protocol.message.message import Message
from engine.runtime.live.live_tls import ServerTls, TlsMode
from tests.support.live.certificates import make_certificates
from tests.support.live.live_server import LiveServer

COUNT = 240


def sent(number):
    return Message(
        "Orders", b"body %d" % number, tags=f"T{number % 3}", keys=f"k{number} all", properties={"n": str(number)}
    )


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with LiveServer(tmp_path_factory.mktemp("read"), page=False) as running:
        running.create_topic("Orders")
        running.create_topic("Orders_2", 2)
        running.send(*map(sent, range(COUNT)))
        running.send(Message("Orders_2", b"x" * 5_000), Message("Orders_2", b"y"))
        yield running


@pytest.fixture(scope="module")
def read(spark, server):
    def load(**options):
        return spark.read.format("rocketmq").options(nameServer=server.name_servers[0], **options).load()

    return load


def table(server, *filters, columns=COLUMN_NAMES, **options):
    """What the reader gives without Spark, in the order of queues and offsets."""
    reader = make_reader(
        spark_schema(columns), {"nameServer": server.name_servers[0], "topic": "Orders", **options}, takes_filters=True
    )
    assert list(reader.pushFilters(list(filters))) == list(filters), "Spark is to check every filter again"
    batches = [batch for partition in reader.partitions() for batch in reader.read(partition)]
    return pa.Table.from_batches(batches, arrow_schema(columns))


def no_scan(*_, **__):
    raise AssertionError("the queue is scanned")


def test_a_key_of_few_messages_is_found_without_a_scan_and_one_of_many_by_a_scan(server, monkeypatch):
    every = table(server, columns=("queue_id", "queue_offset", "keys"))
    assert table(server, key="all", columns=("queue_id", "queue_offset", "keys")) == every
    assert len(table(server, key="al")) == 0
    place = ds.EqualTo(("queue_offset",), 2)
    monkeypatch.setattr(range_reader, "RangePuller", no_scan)
    assert table(server, key="k7", columns=("body",))["body"].to_pylist() == [b"body 7"]
    assert len(table(server, place, key="k7")) + len(table(server, place, key="k11")) == 1
    with pytest.raises(AssertionError, match="scanned"):
        table(server, key="all")


# --- in Spark --------------------------------------------------------------------------------------------------------


class LyingSender(PartitionSender):
    """Each row's body is the time at which it says to be born."""

    def _request(self, queue, messages):
        request = super()._request(queue, messages)
        request.ext_fields["g"] = messages[0].row.body.decode()
        return request


def test_a_sender_whose_clock_is_absurd_fails_nobody_who_collects(read, server):
    server.create_topic("Lies", 1)
    times = [2**63 - 1, 253_402_300_800_000, -(2**63)]
    options = WriteOptions.parse({"nameServer": server.name_servers[0], "topic": "Lies", "batchBytes": "1"})
    with closing(Cluster(options.cluster)) as cluster:
        sender = LyingSender(options, WriteIdentity("0" * 16, 0, 0, may_repeat=False, is_noted=False), cluster, {})
        columns = {"body": [str(time_ms) for time_ms in times]}
        sender.send(RowReader("Lies", copies_messages=False).read(pa.RecordBatch.from_pydict(columns)))
    frame = read(topic="Lies", columns="born_timestamp,queue_offset")
    assert [row[0].year for row in sorted(frame.collect(), key=lambda row: row.queue_offset)] == [2261, 2261, 1678]
    assert sorted(frame.toPandas()["born_timestamp"].dt.year) == [1678, 2261, 2261]


@pytest.mark.smoke
def test_every_message_comes_with_all_that_it_carries(read, server):
    rows = sorted(read(topic="Orders").collect(), key=lambda row: int(row.properties["n"]))
    assert [bytes(row.body) for row in rows] == [b"body %d" % number for number in range(COUNT)]
    row = rows[7]
    assert (row.topic, row.broker_name, row.tags, row.keys) == ("Orders", "broker-a", "T1", ["k7", "all"])
    assert row.unique_id == row.properties["UNIQ_KEY"]
    assert row.store_timestamp >= row.born_timestamp
    assert (row.reconsume_times, row.prepared_transaction_offset) == (0, 0)
    queues = {
        row.queue_id: sorted(other.queue_offset for other in rows if other.queue_id == row.queue_id) for row in rows
    }
    assert queues == {queue_id: list(range(COUNT // 4)) for queue_id in range(4)}


def test_filters_reach_the_source_and_give_the_same_rows(read):
    condition = "tags IN ('T1', 'T2') AND queue_id IN (0, 3) AND queue_offset BETWEEN 5 AND 40"
    narrowed = read(topic="Orders").where(condition)
    everything = read(topic="Orders").select("tags", "queue_id", "queue_offset").toPandas()
    expected = everything.query("tags in ['T1', 'T2'] and queue_id in [0, 3] and 5 <= queue_offset <= 40")
    assert narrowed.count() == len(expected) > 0


def test_the_option_columns_prunes_and_sql_works(spark, read):
    frame = read(subscribe="Orders,Orders_2", columns="topic,body")
    assert frame.columns == ["topic", "body"]
    frame.createOrReplaceTempView("messages")
    counts = spark.sql("SELECT topic, count(*) n, max(length(body)) longest FROM messages GROUP BY topic").collect()
    assert {row.topic: (row.n, row.longest) for row in counts} == {"Orders": (COUNT, 8), "Orders_2": (2, 5_000)}


def test_the_option_key_finds_the_messages_by_the_index_and_gives_what_a_filter_gives(read):
    (row,) = read(topic="Orders", key="k7").where("tags = 'T1'").collect()
    assert (bytes(row.body), row.keys) == (b"body 7", ["k7", "all"])
    assert read(topic="Orders", key="k7", tags="T2").collect() == []
    assert read(topic="Orders", key=row.unique_id).collect() == [], "an id is not a key"
    assert read(subscribe="Orders,Orders_2", key="nothing").collect() == []


def test_a_query_for_kafka_s_columns_runs_and_its_filters_reach_the_source(read, server):
    frame = read(topic="Orders", kafkaNames="true", includeHeaders="true")
    query = "CAST(key AS STRING) k", "CAST(value AS STRING) v", "timestampType", "transform(headers, h -> h.key) names"
    (row,) = frame.where("partition = 1 AND offset = 2").selectExpr(*query).collect()
    number = row.v.removeprefix("body ")
    assert (row.k, row.timestampType) == (f"k{number} all", 1) and "n" in row.names
    filters = ds.EqualTo(("partition",), 1), ds.LessThan(("offset",), 3), ds.In(("offset",), (1, 2, 3))
    assert len(table(server, *filters, columns=("value",))) == 3
    assert read(topic="Orders", kafkaNames="true").columns == list(KAFKA_COLUMN_NAMES)


def test_a_topic_without_messages_is_an_empty_frame(read, server):
    server.create_topic("Empty")
    assert read(topic="Empty").collect() == []


class PlainSource(RocketMQDataSource):
    """The source of a plain session, next to the one that the tests' session has."""

    @classmethod
    def name(cls):
        return "plain"


def test_a_plain_session_reads(spark, server):
    """Spark refuses a reader that takes filters where pushdown is off, which is its default."""
    spark.dataSource.register(PlainSource)
    frame = spark.read.format("plain").options(nameServer=server.name_servers[0], topic="Orders").load()
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "false")
    try:
        assert frame.where("queue_id = 2").count() == COUNT // 4
    finally:
        spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")


def test_the_missing_pushdown_is_reported_once_per_process(server, caplog):
    batch_reader._report_missing_pushdown.cache_clear()
    options = {"nameServer": server.name_servers[0], "topic": "Orders"}
    for source in (RocketMQDataSource, RocketMQDataSource, FilteringDataSource):
        reader = source(options).reader(spark_schema())
        assert (type(reader).pushFilters is not ds.DataSourceReader.pushFilters) == (source is FilteringDataSource)
    (record,) = (record for record in caplog.records if record.name == "glassmq.pipeline")
    assert "call register(spark)" in record.getMessage()


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"topic": "Order"}, r"[ROCKETMQ_UNKNOWN_TOPIC] option 'topic': name server"),
        ({"topic": "Orders", "tagz": "A"}, r"[ROCKETMQ_WRONG_OPTION] option 'tagz': there is no such option; did you"),
    ],
)
def test_spark_shows_our_line_below_a_short_traceback(read, options, line):
    with pytest.raises(AnalysisException) as error:
        read(**options).collect()
    assert error.value.getCondition() == "PYTHON_DATA_SOURCE_ERROR"
    assert str(error.value).count("\n  File ") <= 2
    assert explain(error.value).startswith(line)


# --- the reader itself -----------------------------------------------------------------------------------------------

_COLUMNS = ("queue_id", "queue_offset", "store_timestamp", "tags")
_COMPARE = {
    ds.EqualTo: pc.equal,
    ds.GreaterThan: pc.greater,
    ds.GreaterThanOrEqual: pc.greater_equal,
    ds.LessThan: pc.less,
    ds.LessThanOrEqual: pc.less_equal,
}


@st.composite
def filters(draw):
    column = draw(st.sampled_from(_COLUMNS))
    values = {
        "queue_id": st.integers(-1, 5),
        "queue_offset": st.integers(-1, COUNT // 4 + 1),
        # Taken as a place within the time of all messages.
        "store_timestamp": st.integers(-3_000, 1_003_000),
        "tags": st.sampled_from(["T0", "T1", "T2", "T9", "*", " T0", "T0 || T1"]),
    }[column]
    kind = draw(st.sampled_from([*_COMPARE, ds.In]) if column != "tags" else st.sampled_from([ds.EqualTo, ds.In]))
    return kind((column,), tuple(draw(st.lists(values, min_size=1, max_size=3))) if kind is ds.In else draw(values))


def placed(item, times):
    """The filter with a time in place of a thousandth part of a thousandth of the way."""
    if item.attribute != ("store_timestamp",):
        return item
    first, last = times

    def time_at(share):
        return first + timedelta(microseconds=(last - first) // timedelta(microseconds=1) * share // 1_000_000)

    value = tuple(map(time_at, item.value)) if isinstance(item, ds.In) else time_at(item.value)
    return type(item)(item.attribute, value)


def checked(rows, items):
    """What Spark does with the filters afterwards."""
    for item in items:
        column = rows.column(item.attribute[0])
        if isinstance(item, ds.In):
            rows = rows.filter(pc.is_in(column, pa.array(item.value, column.type)))
        else:
            rows = rows.filter(_COMPARE[type(item)](column, pa.scalar(item.value, column.type)))
    return rows


@given(items=st.lists(filters(), min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_filters_that_are_pushed_leave_the_same_rows_as_filters_afterwards(server, items):
    everything = table(server, columns=_COLUMNS)
    times = [value.astimezone(UTC) for value in pc.min_max(everything.column("store_timestamp")).as_py().values()]
    items = [placed(item, times) for item in items]
    assert checked(table(server, *items, columns=_COLUMNS), items).to_pylist() == checked(everything, items).to_pylist()


def test_a_filter_reads_less(server):
    item = ds.EqualTo(("queue_id",), 2)
    assert set(table(server, item).column("queue_id").to_pylist()) == {2}
    newest = table(server).column("store_timestamp").to_pylist()[-1]
    assert table(server, ds.GreaterThan(("store_timestamp",), newest + timedelta(days=1))).num_rows == 0
    assert table(server, ds.EqualTo(("tags",), "T1")).num_rows == COUNT // 3
    assert table(server, ds.EqualTo(("tags",), "T1"), tags="T2").num_rows == 0


def test_offsets_are_taken_per_queue_and_both_ends_are_kept(server):
    starting = {"Orders": {"broker-a:0": 10, "broker-a:1": COUNT // 4, "broker-a:2": -2}}
    ending = {"Orders": {"broker-a:0": 20, "broker-a:2": 5}}
    rows = table(server, startingOffsets=json.dumps(starting), endingOffsets=json.dumps(ending))
    read = [(row["queue_id"], row["queue_offset"]) for row in rows.select(["queue_id", "queue_offset"]).to_pylist()]
    each = COUNT // 4
    expected = [(0, n) for n in range(10, 20)] + [(2, n) for n in range(5)] + [(3, n) for n in range(each)]
    assert read == expected


def test_only_assigned_queues_are_read(server):
    assigned = json.dumps({"Orders": ["broker-a:1", "broker-a:3"], "Orders_2": ["broker-a:0"]})
    rows = table(server, topic="", assign=assigned).select(["topic", "queue_id"]).to_pylist()
    assert {(row["topic"], row["queue_id"]) for row in rows} == {("Orders", 1), ("Orders", 3), ("Orders_2", 0)}
    with pytest.raises(
        RocketMQError, match=r"'assign': there is no queue Orders broker-a:9; allowed: Orders broker-a:0,"
    ):
        table(server, topic="", assign='{"Orders": ["broker-a:9", "broker-a:0"]}')


def test_times_are_taken_per_queue(server):
    everything = table(server).select(["queue_id", "store_timestamp"]).to_pylist()
    at = sorted(row["store_timestamp"] for row in everything)[COUNT // 2]
    times = {"startingOffsetsByTimestamp": {"broker-a:0": at}, "endingOffsetsByTimestamp": {"broker-a:1": at}}
    options = {
        name: json.dumps({"Orders": {label: int(time.timestamp() * 1_000) for label, time in queues.items()}})
        for name, queues in times.items()
    }
    expected = [
        row["queue_id"]
        for row in everything
        if not (row["queue_id"] == 0 and row["store_timestamp"] < at)
        and not (row["queue_id"] == 1 and row["store_timestamp"] >= at)
    ]
    assert table(server, **options).column("queue_id").to_pylist() == expected


def test_a_single_property_is_a_column(read, server):
    frame = read(topic="Orders", columns="properties.n,properties.none,queue_id")
    assert frame.columns == ["properties.n", "properties.none", "queue_id"]
    rows = frame.withColumnRenamed("properties.n", "n").where("n = '17'").collect()
    assert [(row.n, row["properties.none"]) for row in rows] == [("17", None)]
    assert arrow_schema(("properties.n",)) == arrow_schema_of(spark_schema(("properties.n",)))


@pytest.mark.parametrize(("which", "keeps"), [("startingTimestamp", "from"), ("endingTimestamp", "before")])
def test_a_time_divides_the_messages_exactly(server, which, keeps):
    times = table(server).column("store_timestamp").cast(pa.int64()).to_pylist()
    for at_ms in (min(times) // 1_000, sorted(times)[COUNT // 2] // 1_000, max(times) // 1_000 + 1, 0):
        expected = sum((time >= at_ms * 1_000) == (keeps == "from") for time in times)
        assert table(server, **{which: str(at_ms)}).num_rows == expected


def test_the_tags_option_leaves_other_tags_out(server):
    rows = table(server, tags="T0 || T2")
    assert set(rows.column("tags").to_pylist()) == {"T0", "T2"}
    assert rows.num_rows == COUNT * 2 // 3


def test_a_pattern_finds_topics_and_leaves_those_of_the_broker_alone(server):
    found = table(server, topic="", subscribePattern="Orders.*", columns=("topic",))
    assert set(found.column("topic").to_pylist()) == {"Orders", "Orders_2"}
    with pytest.raises(RocketMQError, match=r"ROCKETMQ_UNKNOWN_TOPIC.*no topic matches 'RMQ_SYS.*'"):
        table(server, topic="", subscribePattern="RMQ_SYS.*")


def test_a_topic_of_the_broker_is_read_by_its_name(server):
    assert table(server, topic="RMQ_SYS_TRANS_HALF_TOPIC").num_rows == 0


def test_tasks_are_as_many_as_wanted_and_hold_every_message_once(server):
    options = {"nameServer": server.name_servers[0], "topic": "Orders"}
    assert len(make_reader(spark_schema(), options).partitions()) == 1
    assert len(make_reader(spark_schema(), {**options, "minPartitions": "6"}).partitions()) >= 6
    assert table(server, minPartitions="6").num_rows == COUNT
    assert table(server, maxRecordsPerPartition="7").num_rows == COUNT


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"startingOffsets": '{"Orders": {"broker-a:9": 0}}'}, r"WRONG_OPTION.*no queue Orders broker-a:9; allowed: "),
        (
            {"startingOffsets": '{"Orders": {"broker-a:0": 5000}}'},
            r"GONE\] topic 'Orders' queue broker-a:0: option 'startingOffsets': offset 5000 is wanted, the queue holds",
        ),
        ({"endingOffsets": '{"Orders": {"broker-a:1": 5001}}'}, r"option 'endingOffsets': offset 5001 is wanted"),
        (
            {"topic": "SELF_TEST_TOPIC", "startingOffsets": '{"SELF_TEST_TOPIC": {"broker-a:0": 1}}'},
            r"offset 1 is wanted, the queue is empty, its next message gets offset 0; set the option failOnDataLoss",
        ),
        ({"startingOffsets": "latest"}, r"'startingOffsets': a batch cannot begin after the latest message"),
        (
            {"startingOffsets": '{"Orders": {"broker-a:0": 1, "broker-a:1": -1}}'},
            r"'startingOffsets': a batch cannot begin after the latest message.*; allowed: earliest, or JSON with offs",
        ),
        (
            {"startingTimestamp": str(2**60), "endingOffsets": '{"Orders": {"broker-a:1": 7}}'},
            r"option 'startingTimestamp': Orders broker-a:1: offset \d+ is after the end, offset 7 by option 'en",
        ),
        (
            {"startingOffsets": '{"Orders": {"broker-a:1": 7}}', "endingTimestamp": "1"},
            r"option 'startingOffsets': Orders broker-a:1: offset 7 is after the end, offset 0 by option 'endingT",
        ),
        ({"nameServer": "127.0.0.1:1"}, r"NAME_SERVER_AWAY\] option 'nameServer': cannot connect to 127.0.0.1:1: "),
        ({"topic": "Order"}, r"UNKNOWN_TOPIC.*option 'topic'.*knows no topic 'Order'; did you mean 'Orders'"),
        ({"topic": "", "subscribe": "Orders,Order"}, r"UNKNOWN_TOPIC.*option 'subscribe'.*knows no topic 'Order'"),
    ],
)
def test_what_the_cluster_does_not_have_is_an_error(server, options, said):
    with pytest.raises(RocketMQError, match=said):
        table(server, **options)


def test_a_schema_of_the_users_own_may_leave_columns_out_but_not_change_them(spark, server):
    options = {"nameServer": server.name_servers[0], "topic": "Orders"}
    reader = make_reader(spark_schema(("body", "topic")), options)
    assert next(reader.read(reader.partitions()[0])).schema.names == ["body", "topic"]
    with pytest.raises(RocketMQError, match="there is no column 'text'"):
        make_reader(StructType().add("text", "string"), options)
    with pytest.raises(RocketMQError, match="column 'body' is binary, not string"):
        make_reader(StructType().add("body", "string"), options)


def test_an_account_and_encryption_let_a_reader_in(tmp_path):
    certificates = make_certificates(tmp_path)
    (tmp_path / "data" / "config").mkdir(parents=True)
    (tmp_path / "data" / "config" / "plain_acl.yml").write_text(
        "accounts:\n  - {accessKey: shop-key, secretKey: shop-secret, defaultTopicPerm: PUB|SUB, "
        "defaultGroupPerm: SUB, topicPerms: [Secret=DENY]}\n"
    )
    tls = ServerTls(TlsMode.PERMISSIVE, certificates.certificate, certificates.key)
    broker = BrokerConfig(port=0, acl_enable=True)
    with LiveServer(tmp_path / "data", broker=broker, page=False, tls=tls) as guarded:
        account = {"accessKey": "shop-key", "secretKey": "shop-secret"}
        encrypted = account | {"tlsCa": str(certificates.ca)}
        topic = "SELF_TEST_TOPIC"
        assert table(guarded, topic=topic, **encrypted).num_rows == 0
        with pytest.raises(RocketMQError, match=r"\[ROCKETMQ_REFUSED\]"):
            table(guarded, topic=topic, startingTimestamp="1")
        with pytest.raises(RocketMQError, match=r"\[ROCKETMQ_REFUSED\]"):
            table(guarded, topic=topic, accessKey="shop-key", secretKey="wrong", startingTimestamp="1")
        with pytest.raises(RocketMQError, match=r"NAME_SERVER_AWAY.*no encrypted connection"):
            table(guarded, topic=topic, **account, tlsCa=str(certificates.strangers_ca))
        with pytest.raises(RocketMQError, match=r"WRONG_OPTION\] options tls"):
            table(guarded, topic=topic, **account, tlsCa=str(tmp_path / "nowhere.pem"))


def test_a_broker_that_is_away_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(range_puller, "_RECONNECT_PAUSE_S", 0)
    with LiveServer(tmp_path / "data", page=False) as server:
        server.send(sent(0))
        reader = make_reader(spark_schema(), {"nameServer": server.name_servers[0], "topic": "Orders"})
        partition = reader.partitions()[0]
    with pytest.raises(RocketMQError, match=r"ROCKETMQ_BROKER_AWAY\] topic 'Orders': broker 'broker-a'"):
        list(reader.read(partition))


def test_times_are_those_of_the_broker(server):
    newest = pc.max(table(server).column("store_timestamp")).as_py()
    assert timedelta(0) <= datetime.now(UTC) - newest < timedelta(minutes=10)

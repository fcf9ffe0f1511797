"""``df.write`` and ``df.writeStream`` in a real Spark."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark")

from pyspark.errors import PySparkException

from engine.pipeline.source.cluster.errors import explain


def write(frame, server, **options):
    frame.write.format("rocketmq").mode("append").options(nameServer=server.name_servers[0], **options).save()


def read(spark, server, topic, columns):
    frame = (
        spark.read.format("rocketmq").options(nameServer=server.name_servers[0], topic=topic, columns=columns).load()
    )
    return frame.collect()


class FileStream:
    """A stream of files with one word per line, written to a topic."""

    def __init__(self, spark, server, topic, folder):
        self.spark, self.server, self.topic = spark, server, topic
        self.source, self.checkpoint = folder / "source", folder / "checkpoint"
        self.source.mkdir()

    def add(self, name, *words):
        (self.source / name).write_text("\n".join(words))

    def run(self, **options):
        """Writes what is new, one micro-batch per file."""
        lines = self.spark.readStream.option("maxFilesPerTrigger", 1).text(str(self.source))
        query = (
            lines.selectExpr("value AS body")
            .writeStream.format("rocketmq")
            .options(nameServer=self.server.name_servers[0], topic=self.topic, **options)
            .option("checkpointLocation", str(self.checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(120)
        return query

    def forget_commit(self, batch):
        """As if Spark had been killed after that micro-batch was sent, before it noted so."""
        for file in (self.checkpoint / "commits").glob(f"*{batch}*"):
            file.unlink()


def test_a_written_data_frame_is_read_back(spark, server, topic):
    frame = spark.createDataFrame(
        [("one", ["k1", "k2"], "A", {"shop": "7"}), ("two", None, None, None), ("三", ["k3"], "B", {})],
        "body string, keys array<string>, tags string, properties map<string,string>",
    )
    write(frame, server, topic=topic)
    found = {row.body.decode(): row for row in read(spark, server, topic, "body,keys,tags,properties,unique_id")}
    assert set(found) == {"one", "two", "三"}
    assert (found["one"]["keys"], found["one"].tags, found["one"].properties["shop"]) == (["k1", "k2"], "A", "7")
    assert (found["two"]["keys"], found["two"].tags) == ([], None)
    assert len({row.unique_id for row in found.values()}) == 3


def test_rows_can_say_their_topic(spark, server, topic):
    server.create_topic(f"{topic}_b")
    frame = spark.createDataFrame([(topic, "a"), (f"{topic}_b", "b")], "topic string, body string")
    write(frame, server)
    assert [row.body for row in read(spark, server, f"{topic}_b", "body")] == [b"b"]


@pytest.mark.parametrize(
    ("columns", "options", "text"),
    [
        ("'a' AS body, 1 AS offset", {}, "column 'offset' cannot be written"),
        ("'' AS body", {}, "'body' is null or empty"),
        ("'a' AS body", {"topic": "NoSuchTopic"}, "[ROCKETMQ_UNKNOWN_TOPIC]"),
        ("'a' AS body", {"nameServer": "127.0.0.1:1"}, "[ROCKETMQ_NAME_SERVER_AWAY]"),
        ("'a' AS body", {"sendRetry": "1"}, "did you mean 'sendRetries'?"),
    ],
)
def test_what_cannot_be_written_is_said_in_one_line(spark, server, topic, columns, options, text):
    frame = spark.range(1).selectExpr(*columns.split(", "))
    settings = {"nameServer": server.name_servers[0], "topic": topic} | options
    with pytest.raises(PySparkException) as raised:
        frame.write.format("rocketmq").mode("append").options(**settings).save()
    line = explain(raised.value)
    assert line is not None and text in line


def test_a_topic_cannot_be_overwritten(spark, server, topic):
    frame = spark.createDataFrame([("a",)], "body string")
    with pytest.raises(PySparkException, match="cannot be overwritten"):
        frame.write.format("rocketmq").mode("overwrite").options(nameServer=server.name_servers[0], topic=topic).save()


def test_a_micro_batch_that_is_repeated_after_a_crash_produces_nothing_twice(spark, server, topic, tmp_path):
    stream = FileStream(spark, server, topic, tmp_path)
    stream.add("a.txt", "a1", "a2", "same", "same")
    stream.run()
    stream.add("b.txt", "b1", "b2", "same")
    stream.run()
    stream.forget_commit(1)
    stream.add("c.txt", "c1")
    stream.run()
    words = sorted(row.body.decode() for row in read(spark, server, topic, "body"))
    assert words == sorted(["a1", "a2", "same", "same", "b1", "b2", "same", "c1"])


def test_without_the_search_a_repeated_micro_batch_is_sent_again(spark, server, topic, tmp_path):
    stream = FileStream(spark, server, topic, tmp_path)
    stream.add("a.txt", "a1")
    stream.run(replayCheck="never")
    stream.forget_commit(0)
    stream.run(replayCheck="never")
    assert [row.body for row in read(spark, server, topic, "body")] == [b"a1", b"a1"]


def test_a_session_that_runs_copies_of_tasks_is_refused(spark, server, topic):
    settings = spark._jsparkSession.sessionState().conf()
    settings.setConfString("spark.speculation", "true")
    try:
        with pytest.raises(PySparkException) as raised:
            write(spark.range(1).selectExpr("'a' AS body"), server, topic=topic)
    finally:
        settings.unsetConf("spark.speculation")
    line = explain(raised.value)
    assert line is not None and "two copies of a task would send the same messages at once; switch it off" in line
    assert read(spark, server, topic, "body") == []


def test_numbered_writes_of_a_name_can_be_repeated(spark, server, topic):
    frame = spark.createDataFrame([("same",)], "body string")
    for number in (0, 0, 1, 1):
        write(frame, server, topic=topic, transactionId="orders", transactionNumber=str(number))
    assert len(read(spark, server, topic, "body")) == 2


def test_a_write_with_a_name_can_be_repeated(spark, server, topic):
    frame = spark.range(50).selectExpr("CAST(id % 9 AS STRING) AS body")
    for _ in range(2):
        write(frame, server, topic=topic, transactionId="day 17")
    assert len(read(spark, server, topic, "body")) == 50
    write(frame, server, topic=topic, transactionId="day 18")
    assert len(read(spark, server, topic, "body")) == 100

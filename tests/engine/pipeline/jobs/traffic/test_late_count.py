"""Messages that the watermark leaves out, counted exactly, also over a restart."""

from __future__ import annotations

from types import SimpleNamespace

import pyarrow.parquet as pq
from pyspark.sql import functions as F  # noqa: N812 - as every user of Spark writes it

from engine.pipeline.jobs.shared_files import SharedFiles
from engine.pipeline.jobs.traffic import late_count as late_count_module
from engine.pipeline.jobs.traffic import picture as picture_module
from engine.pipeline.jobs.traffic.late_count import OBSERVATION, OBSERVED, LateCount
from engine.pipeline.jobs.traffic.picture import TrafficPicture, TrafficWindowFigures, newest_windows
from engine.pipeline.jobs.traffic.windows import window_figures
from engine.pipeline.source.decoding.schema import spark_schema
from tests.support.pipeline.memory_report import MemoryReport
from tests.support.pipeline.traffic_messages import COLUMNS, message, table_of
from tests.support.waiting import wait_until


def wait_for(late, messages):
    """Wait until that many messages are counted: Spark calls its listeners from another thread."""
    wait_until(lambda: late.messages >= messages, f"{messages} counted messages", seen=lambda: late.messages)


def window(start_ms, topic, messages):
    return TrafficWindowFigures(start_ms, topic, messages, None, 0, 0, 0, {}, {}, {})


def report_read(late, number, messages):
    progress = SimpleNamespace(batchId=number, observedMetrics={OBSERVATION: {OBSERVED: messages}})
    late.onQueryProgress(SimpleNamespace(progress=progress))


class Stream:
    """Files of messages as a stream into windows of 1 s, with a watermark of 2 s."""

    def __init__(self, spark, folder):
        self.spark, self.folder, self.files = spark, folder, 0
        self.windows = {}
        (folder / "messages").mkdir()

    def add(self, *born_ms):
        path = self.folder / f"{self.files}.parquet"
        pq.write_table(table_of([message(ms) for ms in born_ms]), path, coerce_timestamps="us")
        path.rename(self.folder / "messages" / path.name)
        self.files += 1

    def run(self, *files):
        """Start, read ``files`` one by one, stop; return the reported rows (read, counted, late)."""
        report = MemoryReport()
        late = LateCount(report, SharedFiles(self.spark, str(self.folder / "counts")))

        def batch(changed, batch_id):
            newest, are_all = newest_windows(changed)
            rows = late.counted(batch_id, newest, are_all=are_all)
            self.windows |= {row.start_ms: row.messages for row in rows}

        messages = self.spark.readStream.schema(spark_schema(COLUMNS)).parquet(str(self.folder / "messages"))
        messages = messages.observe(OBSERVATION, F.count(F.lit(1)).alias(OBSERVED))
        self.spark.streams.addListener(late)
        query = (
            window_figures(messages, 1_000, "born_timestamp", 3, watermark_ms=2_000)
            .writeStream.outputMode("update")
            .foreachBatch(batch)
            .option("checkpointLocation", str(self.folder / "query"))
            .start()
        )
        try:
            for file in files:
                self.add(*file)
                query.processAllAvailable()
            wait_for(late, sum(len(file) for file in files))
        finally:
            query.stop()
            self.spark.streams.removeListener(late)
        return late


def test_what_comes_behind_the_watermark_is_left_out_and_counted(spark, tmp_path):
    stream = Stream(spark, tmp_path)
    late = stream.run([100, 200, 1_500], [10_000], [300, 9_500, 10_100])
    # 300 ms is more than 2 s before 10,000 ms; 9,500 ms is late too, but its window is still open.
    assert sorted(stream.windows.values()) == [1, 1, 2, 2]
    assert (late.late, late.messages) == (1, 7)
    again = stream.run([10_200], [20_000], [10_300])
    assert (again.late, again.messages) == (1, 3)
    assert sorted(stream.windows.values()) == [1, 1, 1, 2, 3]


def test_a_micro_batch_that_comes_again_after_a_crash_is_compared_with_what_was_before_it(spark, tmp_path):
    report = MemoryReport()

    def life():
        return LateCount(report, SharedFiles(spark, str(tmp_path / "counts")))

    def batch(late, number, read, messages):
        late.counted(number, [window(0, "Orders", messages)], are_all=True)
        report_read(late, number, read)
        return late.late

    first = life()
    assert [batch(first, 0, 5, 5), batch(first, 1, 3, 8), batch(first, 2, 4, 11)] == [0, 0, 1]
    again = life()
    assert [batch(again, 2, 4, 11), batch(again, 3, 2, 13)] == [1, 1]


def test_a_forgotten_window_that_comes_again_is_left_out_and_never_counted_twice(spark, tmp_path, monkeypatch):
    for module in (late_count_module, picture_module):
        monkeypatch.setattr(module, "WINDOWS_MAX", 6)
    topics = ("A", "B", "C", "D")
    report = MemoryReport()
    picture = TrafficPicture(report, 1_000, 3, dict.fromkeys(topics, 1), 60_000)
    batches = [[window(start, topic, 10) for topic in topics] for start in (0, 1_000, 2_000)]
    batches.append([window(0, "A", 13), window(1_000, "B", 14), window(2_000, "C", 11)])
    late = None
    for number, (windows, read) in enumerate(zip(batches, (40, 40, 40, 8), strict=True)):
        # A restart before the last one changes nothing.
        if late is None or number == 3:
            late = LateCount(report, SharedFiles(spark, str(tmp_path / "counts")))
        picture.update(late.counted(number, windows, are_all=True))
        report_read(late, number, read)
    counted = {row[0]: row[1] for row in report.tables["topics"]}
    assert counted == {"A": 30, "B": 30, "C": 31, "D": 30}, "only the window of 2,000 ms is still followed"
    assert report.tables["late"] == [[8, 1, 7]], "of what the last life has read"
    assert len(report.notes) == 1
    assert "More than 6 windows" in report.notes[0]["en"]


def test_of_too_many_windows_at_once_the_newest_are_followed_each_with_all_its_topics(spark, tmp_path, monkeypatch):
    for module in (late_count_module, picture_module):
        monkeypatch.setattr(module, "WINDOWS_MAX", 5)
    places = "start_ms bigint, topic string, messages bigint, bytes bigint, p50_ms bigint, p99_ms bigint, max_ms bigint"
    items = "array<struct<item: string, count: bigint>>"
    rows = [(start, topic, 2, 0, 0, 0, 0, [], [], []) for start in (0, 1, 2) for topic in ("A", "B")]
    figures = spark.createDataFrame(rows, f"{places}, queues {items}, tags {items}, keys {items}")
    newest, are_all = newest_windows(figures)
    assert [(one.start_ms, one.topic) for one in sorted(newest, key=lambda one: (one.start_ms, one.topic))] == [
        (1, "A"), (1, "B"), (2, "A"), (2, "B"),
    ]  # fmt: skip
    assert not are_all
    report = MemoryReport()
    late = LateCount(report, SharedFiles(spark, str(tmp_path / "counts")))
    assert late.counted(0, newest, are_all=are_all) == newest
    report_read(late, 0, 12)
    assert report.tables["late"] == [[12, 8, 4]]
    # What was left out once cannot come in later with all that it holds.
    for batch_id, messages in ((1, 3), (2, 4)):
        again = [window(0, "A", messages), window(1, "A", messages)]
        assert late.counted(batch_id, again, are_all=False) == again[1:]
        report_read(late, batch_id, 2)
    assert report.tables["late"] == [[16, 10, 6]]
    assert len(report.notes) == 1
    assert newest_windows(figures.limit(5))[1]

"""Messages that the watermark leaves out, counted exactly, also over a restart."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pyarrow.parquet as pq
from pyspark.sql import functions as F  # noqa: N812 - as every user of Spark writes it

from engine.pipeline.jobs.report import MemoryReport
from engine.pipeline.jobs.shared_files import SharedFiles
from engine.pipeline.jobs.traffic.late_count import OBSERVATION, OBSERVED, LateCount
from engine.pipeline.jobs.traffic.picture import WindowFigures
from engine.pipeline.jobs.traffic.windows import window_figures
from engine.pipeline.source.schema import spark_schema
from tests.support.traffic_messages import COLUMNS, message, table_of


def wait_for(late, messages):
    """Spark tells its listeners of a micro-batch from another thread."""
    ends_at = time.monotonic() + 60
    while late.messages < messages:
        assert time.monotonic() < ends_at, (late.messages, messages)
        time.sleep(0.02)


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
        """Start, read ``files`` one by one, stop; the rows (read, counted, late) that were told."""
        report = MemoryReport()
        late = LateCount(report, SharedFiles(self.spark, str(self.folder / "counts")))

        def batch(changed, batch_id):
            rows = [WindowFigures.of_row(row) for row in changed.collect()]
            late.counted(batch_id, rows)
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
    # 300 ms is more than 2 s behind 10,000 ms; 9,500 ms is late too, but its window is still open.
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
        late.counted(number, [WindowFigures(0, "Orders", messages, None, 0, 0, 0, {}, {}, {})])
        progress = SimpleNamespace(batchId=number, observedMetrics={OBSERVATION: {OBSERVED: read}})
        late.onQueryProgress(SimpleNamespace(progress=progress))
        return late.late

    first = life()
    assert [batch(first, 0, 5, 5), batch(first, 1, 3, 8), batch(first, 2, 4, 11)] == [0, 0, 1]
    again = life()
    assert [batch(again, 2, 4, 11), batch(again, 3, 2, 13)] == [1, 1]

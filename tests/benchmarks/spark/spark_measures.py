"""What ``make bench`` measures of the pipeline: each function does one thing once and says how long it took."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.benchmarks.spark.bare_pull import pull_all

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

    from pyspark.sql import DataFrame, SparkSession

ROOT = Path(__file__).parents[2]
#: What is read of each message, from the broker and from Parquet alike.
COLUMNS = "queue_id,queue_offset,store_timestamp,body"
_MICRO_BATCH_RECORDS = 250_000
_WARM_UP_S = 5.0


@dataclass(frozen=True)
class Data:
    """A topic of the broker and the same messages as Parquet.

    :ivar body_bytes: the mean; bodies are between half and one and a half of it.
    """

    spark: SparkSession
    pool: ProcessPoolExecutor
    name_server: str
    topic: str
    records: int
    body_bytes: int
    folder: Path

    def options(self, columns: str = COLUMNS) -> dict[str, str]:
        """Return the options of a read."""
        return {"nameServer": self.name_server, "topic": self.topic, "columns": columns}

    @property
    def parquet(self) -> str:
        """Its folder."""
        return str(self.folder / f"{self.topic}.parquet")


def made_up(spark: SparkSession, records: int, body_bytes: int) -> DataFrame:
    """Rows for the writer: hexadecimal bodies of different lengths, and a key for every other one."""
    hashes = body_bytes * 3 // 2 // 128 + 1
    body = f"array_join(transform(sequence(1, {hashes}), part -> sha2(concat(id, '-', part), 512)), '')"
    length = f"{body_bytes // 2} + pmod(hash(id), {body_bytes})"
    key = "if(id % 2 = 0, array(concat('order-', id)), null)"
    return spark.range(records).selectExpr(f"substr({body}, 1, {length}) AS body", f"{key} AS keys")


def write_topic(data: Data) -> float:
    """Seconds that the writer takes to send all messages."""
    rows = made_up(data.spark, data.records, data.body_bytes).persist()
    rows.count()
    begun = time.perf_counter()
    writer = rows.write.format("rocketmq").mode("append")
    writer.options(nameServer=data.name_server, topic=data.topic).save()
    taken = time.perf_counter() - begun
    rows.unpersist()
    return taken


def write_parquet(data: Data) -> float:
    """Make the files that :func:`read_parquet` reads."""
    begun = time.perf_counter()
    _load(data, COLUMNS).write.mode("overwrite").option("compression", "snappy").parquet(data.parquet)
    return time.perf_counter() - begun


def read_batch(data: Data) -> float:
    """Seconds for all messages, from the plan to the last row."""
    return _drain(_load(data, COLUMNS))


def read_every_column(data: Data) -> float:
    """The same with all columns."""
    every = dict(data.options())
    del every["columns"]
    return _drain(data.spark.read.format("rocketmq").options(**every).load())


def read_parquet(data: Data) -> float:
    """The same messages from files."""
    return _drain(data.spark.read.parquet(data.parquet))


def read_without_spark(data: Data) -> float:
    """The source's own loop, see :mod:`tests.benchmarks.spark.bare_pull`."""
    begun = time.perf_counter()
    records, _ = pull_all(data.pool, data.options())
    taken = time.perf_counter() - begun
    if records != data.records:
        raise RuntimeError(f"{data.topic} has {data.records} messages, the pull loop read {records}")
    return taken


def read_stream(data: Data) -> float:
    """Seconds for all messages as a stream of micro-batches that ends when all are read."""
    stream = data.spark.readStream.format("rocketmq").options(**data.options())
    frame = stream.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", _MICRO_BATCH_RECORDS).load()
    checkpoint = data.folder / f"checkpoint-{time.monotonic_ns()}"
    begun = time.perf_counter()
    query = frame.writeStream.format("noop").option("checkpointLocation", str(checkpoint))
    running = query.trigger(availableNow=True).start()
    running.awaitTermination()
    taken = time.perf_counter() - begun
    records = sum(int(progress["numInputRows"]) for progress in running.recentProgress)
    if records != data.records:
        raise RuntimeError(f"{data.topic} has {data.records} messages, the stream read {records}")
    return taken


@dataclass(frozen=True)
class Latency:
    """From the broker's store time to the foreachBatch function that has the rows, in ms.

    :ivar floor_ms: median of what a micro-batch took as a whole (Spark's ``triggerExecution``).
    """

    messages_per_second: float
    p50_ms: float
    p99_ms: float
    floor_ms: float
    micro_batches: int


def measure_latency(
    spark: SparkSession, name_server: str, topic: str, rate: int, seconds: float, folder: Path
) -> Latency:
    """Measure a stream over a topic that is written to at ``rate`` for this long, after a warm-up."""
    found: list[tuple[float, list[float]]] = []

    def take(frame: DataFrame, _: int) -> None:
        stored = frame.selectExpr("unix_millis(store_timestamp) AS ms").toArrow().column("ms").to_pylist()
        now = time.time()
        found.append((now, [now * 1000 - ms for ms in stored]))

    stream = spark.readStream.format("rocketmq").options(nameServer=name_server, topic=topic, columns=COLUMNS)
    with _sender(name_server, topic, rate):
        query = stream.load().writeStream.foreachBatch(take)
        running = query.option("checkpointLocation", str(folder / "checkpoint-latency")).start()
        try:
            time.sleep(_WARM_UP_S + seconds)
            if (failure := running.exception()) is not None:
                raise failure
            progress = running.recentProgress
        finally:
            running.stop()
    begin = (found[0][0] if found else 0.0) + _WARM_UP_S
    batches = [(at, waits) for at, waits in found if at >= begin and waits]
    if not batches:
        raise RuntimeError(f"no micro-batch came within {_WARM_UP_S + seconds:g} s: this machine is too busy")
    waits = sorted(wait for _, waits in batches for wait in waits)
    durations = [entry["durationMs"]["triggerExecution"] for entry in progress if int(entry["numInputRows"])]
    return Latency(
        messages_per_second=len(waits) / max(0.001, batches[-1][0] - begin),
        p50_ms=waits[len(waits) // 2],
        p99_ms=waits[len(waits) * 99 // 100],
        floor_ms=statistics.median(durations),
        micro_batches=len(batches),
    )


def _load(data: Data, columns: str) -> DataFrame:
    return data.spark.read.format("rocketmq").options(**data.options(columns)).load()


def _drain(frame: DataFrame) -> float:
    """Read every column of every row, and keep none."""
    begun = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - begun


@contextmanager
def _sender(name_server: str, topic: str, rate: int) -> Iterator[None]:
    command = [sys.executable, "-m", "tests.benchmarks.spark.paced_producer", name_server, topic, str(rate), "100"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            if process.stdout.readline().strip() != "sending":
                raise RuntimeError("the paced producer did not begin")
            yield
        finally:
            process.kill()

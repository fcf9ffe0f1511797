"""The pipeline's part of ``make bench``: reading by Spark compared with Parquet and a bare pull loop, in one run.

Every round measures every way once, in changing order, on the same messages, so what disturbs the machine disturbs all;
a ratio is one of the same round. It is a measurement, not a test: it never fails because of a number.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.benchmarks.spark.bare_pull import start_pool
from tests.benchmarks.spark.spark_measures import (
    Data,
    Latency,
    measure_latency,
    read_batch,
    read_every_column,
    read_parquet,
    read_stream,
    read_without_spark,
    write_parquet,
    write_topic,
)
from tests.interop.harness.glassmq_cluster import start_glassmq
from tests.support.pipeline.spark import missing_for_spark

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

    from pyspark.sql import SparkSession

    from tests.interop.harness.cluster import Cluster

_READ_QUEUES, _LATENCY_QUEUES = 4, 8
_READS: dict[str, Callable[[Data], float]] = {
    "batch": read_batch,
    "stream": read_stream,
    "batch, all columns": read_every_column,
    "Parquet (snappy)": read_parquet,
    "pull loop, 2 processes": read_without_spark,
}


@dataclass(frozen=True)
class Measured:
    """One way on one topic in one round; round 0 is what is done only once."""

    body_bytes: int
    way: str
    round_number: int
    records_per_second: float
    megabytes_per_second: float


def measure(options: argparse.Namespace) -> tuple[list[Measured], list[Latency]]:
    """Start a broker and Spark, measure everything, stop both."""
    from engine.pipeline.session import make_session

    with tempfile.TemporaryDirectory(prefix="glassmq-bench-") as name, start_pool() as pool:
        folder = Path(name)
        spark = make_session("bench", "local[2]", folder, {"spark.driver.memory": "2g"})
        cluster = start_glassmq(folder / "cluster")
        try:
            found: list[Measured] = []
            for body_bytes, records in ((100, options.records), (1024, options.records // 4)):
                found += _reads(spark, pool, cluster, body_bytes, records, options.rounds, folder)
            topic = cluster.create_topic("BenchLatency", _LATENCY_QUEUES)
            latencies = [
                measure_latency(spark, cluster.name_server, topic, options.rate, options.seconds, folder / str(number))
                for number in range(options.rounds)
            ]
            return found, latencies
        finally:
            spark.stop()
            cluster.stop()


def _reads(
    spark: SparkSession,
    pool: ProcessPoolExecutor,
    cluster: Cluster,
    body_bytes: int,
    records: int,
    rounds: int,
    folder: Path,
) -> list[Measured]:
    topic = cluster.create_topic(f"Bench{body_bytes}", _READ_QUEUES)
    data = Data(spark, pool, cluster.name_server, topic, records, body_bytes, folder)
    found = [_measured(data, "writer", 0, write_topic(data))]
    write_parquet(data)
    for read in _READS.values():
        read(data)  # the first read of each kind warms Spark, the workers and the page cache
    for number in range(1, rounds + 1):
        turn = number % len(_READS)
        names = list(_READS)
        for name in names[turn:] + names[:turn]:
            seconds = _READS[name](data)
            found.append(_measured(data, name, number, seconds))
    return found


def _measured(data: Data, way: str, number: int, seconds: float) -> Measured:
    rate = data.records / seconds
    print(f"  round {number}  {data.body_bytes:>5} B  {way:<24}{rate:>12,.0f} records/s", file=sys.stderr)
    return Measured(data.body_bytes, way, number, rate, rate * data.body_bytes / 1e6)


def table(found: list[Measured]) -> str:
    """Medians, and how the source's batch read compares: the median of the ratios within each round."""
    lines = [f"{'body':<8}{'way':<26}{'records/s':>12}{'MB/s':>9}{'batch / this':>15}"]
    for body_bytes, way in dict.fromkeys((one.body_bytes, one.way) for one in found):
        own = [one for one in found if (one.body_bytes, one.way) == (body_bytes, way)]
        batch = {one.round_number: one for one in found if (one.body_bytes, one.way) == (body_bytes, "batch")}
        ratios = [
            batch[one.round_number].records_per_second / one.records_per_second
            for one in own
            if one.round_number in batch
        ]
        ratio = f"{statistics.median(ratios):>15.2f}" if ratios else ""
        records = statistics.median(one.records_per_second for one in own)
        megabytes = statistics.median(one.megabytes_per_second for one in own)
        lines.append(f"{body_bytes:>5} B {way:<26}{records:>13,.0f}{megabytes:>9.1f}{ratio}")
    return "\n".join(lines)


def latency_table(latencies: list[Latency]) -> str:
    """One line per round."""
    lines = [f"{'stored to foreachBatch':<24}{'msg/s':>8}{'p50':>10}{'p99':>10}{'micro-batch':>14}"]
    for number, one in enumerate(latencies, 1):
        lines.append(
            f"round {number:<18}{one.messages_per_second:>8,.0f}{one.p50_ms:>7.0f} ms{one.p99_ms:>7.0f} ms"
            f"{one.floor_ms:>11.0f} ms"
        )
    return "\n".join(lines)


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """The options that shorten a run."""
    parser = argparse.ArgumentParser(
        prog="run spark", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, help="times every way is measured (default 3)")
    parser.add_argument("--records", type=int, default=3_000_000, help="of 100 B; a quarter of 1 KB (default 3000000)")
    parser.add_argument("--rate", type=int, default=10_000, help="messages per second for the latency (default 10000)")
    parser.add_argument("--seconds", type=float, default=20, help="of each measurement of latency (default 20)")
    parser.add_argument("--json", type=Path, help="write everything that was measured to this file")
    options = parser.parse_args(arguments)
    if options.rounds < 1 or options.records < 1_000 or options.rate < 100 or options.seconds < 1:
        parser.error("at least: --rounds 1, --records 1000, --rate 100, --seconds 1")
    return options


def main(arguments: list[str]) -> int:
    """Measure, print the tables, write the JSON file."""
    options = parse_arguments(arguments)
    if missing := missing_for_spark():
        print(f"note: the pipeline is not measured: it {missing}")
        return 0
    found, latencies = measure(options)
    machine = (
        f"{os.cpu_count()} cores, Python {platform.python_version()}, {platform.system()} {platform.release()}; "
        f"load average {os.getloadavg()[0]:.1f}"
    )
    print(f"Spark local[2]; {machine}\n\n{table(found)}\n\n{latency_table(latencies)}")
    if options.json:
        result = {
            "machine": machine,
            "reads": [asdict(one) for one in found],
            "latency": [asdict(one) for one in latencies],
        }
        options.json.write_text(json.dumps(result, indent=2) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Run by a test in a process of its own: reads and writes on executors that have Spark's packages and nothing else.

``python cluster_program.py WORK_FOLDER NAME_SERVER TOPIC``. Writes what it found as JSON to its output.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from engine.pipeline.registration import register
from engine.pipeline.session import make_session


def where(batches):
    """One row that says what the executor's Python has."""
    import importlib.util

    import pyarrow as pa

    for _ in batches:
        pass
    engine = importlib.util.find_spec("engine")
    orjson = importlib.util.find_spec("orjson")
    yield pa.RecordBatch.from_pydict({"engine": [engine.origin if engine else ""], "orjson": [orjson is not None]})


def fail_once(batches):
    """Rows of the first try stop after 40."""
    from pyspark import TaskContext

    for batch in batches:
        yield batch.slice(0, 40)
        if TaskContext.get().attemptNumber() == 0:
            raise RuntimeError("the first try fails")
        yield batch.slice(40)


def main() -> None:
    folder, name_server, topic = sys.argv[1:]
    conf = {
        "spark.executor.memory": "512m",
        "spark.driver.memory": "512m",
        "spark.task.maxFailures": "4",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100",
    }
    spark = make_session("cluster", "local-cluster[2,1,512]", Path(folder), conf)
    # As a notebook's cell does that is run again.
    register(spark)
    register(spark)
    options = {"nameServer": name_server, "topic": topic}
    report: dict[str, object] = {}
    rows = spark.range(2).repartition(2).mapInArrow(where, "engine string, orjson boolean").collect()
    report["python"] = [row.asDict() for row in rows]
    numbers = spark.range(0, 100, 1, 1).selectExpr("CAST(id AS STRING) AS body")
    numbers.mapInArrow(fail_once, "body string").write.format("rocketmq").mode("append").options(
        **options, batchBytes=1_000
    ).save()
    frame = spark.read.format("rocketmq").options(**options).load()
    report["bodies"] = sorted(int(row.body) for row in frame.select("body").collect())
    spark.stop()
    print(json.dumps(report))


if __name__ == "__main__":
    main()

"""Run by ``spark-submit --py-files``: a session of the user's own that writes, reads and follows a topic.

``submitted_program.py NAME_SERVER MODULE``, where the module has ``register``. Writes what it found as JSON to its
output.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession


def main() -> None:
    spark = SparkSession.builder.getOrCreate()
    register = import_module(sys.argv[2]).register
    register(spark)
    options = {"nameServer": sys.argv[1], "topic": "Orders"}
    numbers = spark.range(20).selectExpr("CAST(id AS STRING) AS body")
    numbers.write.format("rocketmq").mode("append").options(**options).save()
    stored = spark.read.format("rocketmq").options(**options).load()
    report: dict[str, Any] = {"batch": stored.where("queue_id < 9").count()}
    stream = spark.readStream.format("rocketmq").options(startingOffsets="earliest", **options).load()
    checksums = {}
    for name, is_quick in (("usual", False), ("quick", True)):
        register(spark, quick_checkpoints=is_quick)
        query = stream.writeStream.trigger(availableNow=True).format("memory").queryName(name)
        query.option("checkpointLocation", name).start().awaitTermination()
        report[name] = spark.table(name).count()
        checksums[name] = any(Path(name).rglob("*.crc"))
    report["checksums"] = checksums
    spark.stop()
    print(json.dumps(report))


if __name__ == "__main__":
    main()

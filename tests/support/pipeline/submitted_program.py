"""Run by ``spark-submit --py-files``: a session of the user's own that writes, reads and follows a topic.

``submitted_program.py NAME_SERVER MODULE``, where the module has ``register``. Writes what it found as JSON to its
output.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module

from pyspark.sql import SparkSession


def main() -> None:
    spark = SparkSession.builder.getOrCreate()
    import_module(sys.argv[2]).register(spark)
    options = {"nameServer": sys.argv[1], "topic": "Orders"}
    numbers = spark.range(20).selectExpr("CAST(id AS STRING) AS body")
    numbers.write.format("rocketmq").mode("append").options(**options).save()
    report = {"batch": spark.read.format("rocketmq").options(**options).load().where("queue_id < 9").count()}
    stream = spark.readStream.format("rocketmq").options(startingOffsets="earliest", **options).load()
    stream.writeStream.trigger(availableNow=True).format("memory").queryName("found").start().awaitTermination()
    report["stream"] = spark.table("found").count()
    spark.stop()
    print(json.dumps(report))


if __name__ == "__main__":
    main()

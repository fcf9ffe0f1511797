from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("pyspark")

PROGRAM = """
import gc
from pyspark.sql.datasource import InputPartition
from engine.pipeline.source.reader.batch_reader import make_reader
from engine.pipeline.source.decoding.schema import spark_schema
from engine.pipeline.source.reader.stream_reader import make_stream_reader

make = {make}
reader = make(spark_schema(("body",)), {{"nameServer": "127.0.0.1:1", "topic": "T"}})
assert gc.get_freeze_count() == 0
assert list(reader.read(InputPartition(None))) == []
loaded = gc.get_freeze_count()
assert list(reader.read(InputPartition(None))) == []
print(loaded > 10_000, gc.get_freeze_count() == loaded)
"""


@pytest.mark.parametrize("make", ["make_reader", "make_stream_reader"])
def test_a_task_spares_the_collector_what_is_loaded_once_per_process(make):
    done = subprocess.run([sys.executable, "-c", PROGRAM.format(make=make)], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["True", "True"]

"""A task's work on what its puller or the index gives it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from engine.pipeline.source.cluster.errors import RocketMQError
from engine.pipeline.source.cluster.queue_offsets import QueueKey
from engine.pipeline.source.decoding.schema import arrow_schema
from engine.pipeline.source.reader import range_reader
from engine.pipeline.source.reader.offset_range import OffsetRange
from engine.pipeline.source.reader.options import ReadOptions
from engine.pipeline.source.reader.range_puller import PulledRange, RangePuller
from engine.protocol.names import SCHEDULE_TOPIC
from tests.support.live.scripted_broker import stored_message

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


def read_with_a_hole(monkeypatch, topic, tags, index, **options):
    """Offsets that are read of a queue of which offset 1 is missing; ``index`` tells whether the index has the key."""
    queue = QueueKey(topic, "broker-a", 0)
    pulled = [PulledRange(queue, 0, 3, b"".join(stored_message(number, topic=topic) for number in (0, 2)))]
    monkeypatch.setattr(range_reader, "find_key", lambda *_: pulled if index else None)
    monkeypatch.setattr(RangePuller, "pull", lambda _: iter(pulled))
    read = ReadOptions.parse({"nameServer": "127.0.0.1:1", "topic": topic, **options})
    ranges = [OffsetRange(queue, "127.0.0.1:2", 0, 3)]
    return list(range_reader.read_ranges(read, ranges, arrow_schema(("queue_offset",)), tags))


@pytest.mark.parametrize(
    ("topic", "tags", "options"),
    [
        ("T", (), {}),
        ("T", (), {"key": "K"}),
        # A broker does not filter this topic by tags.
        (SCHEDULE_TOPIC, ("a",), {}),
        (SCHEDULE_TOPIC, ("a",), {"key": "K"}),
    ],
)
def test_a_hole_in_what_was_pulled_without_a_filter_is_a_loss(monkeypatch, caplog, topic, tags, options):
    with pytest.raises(RocketMQError, match=r"ROCKETMQ_OFFSETS_GONE.*the broker gave 2 messages instead of 3"):
        read_with_a_hole(monkeypatch, topic, tags, False, **options)
    read_with_a_hole(monkeypatch, topic, tags, False, **options, failOnDataLoss="false")
    assert "gave 2 messages instead of 3; the read continues with what is left" in caplog.text


@pytest.mark.parametrize(("tags", "index", "options"), [(("a",), False, {}), ((), True, {"key": "K"})])
def test_messages_that_a_filter_or_the_index_left_out_are_no_loss(monkeypatch, caplog, tags, index, options):
    read_with_a_hole(monkeypatch, "T", tags, index, **options)
    assert caplog.text == ""

"""A partition that a real Kafka wrote is read here, and one that was written here is served by a real Kafka."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka import TopicPartition

from engine.kafka.log.log_recovery import PartitionRecoveryPoint
from engine.kafka.log.log_segment import INDEX_SUFFIX, segment_name
from engine.kafka.log.partition_log import PartitionLog
from engine.kafka.records.compression import SPOKEN_CODECS, Codec
from engine.kafka.records.record import Record
from engine.kafka.records.record_batch import encode_batch
from engine.runtime.live.live_disk import LiveDisk
from tests.interop.harness.real_kafka import RealKafka
from tests.support.kafka.kafka_python import consumed, consumer_of, produce, values
from tests.support.kafka.partitions import BEGIN_MS, StillClock, records_of

pytestmark = pytest.mark.interop_java

_COUNT = 5_000


@pytest.fixture
def stopped_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealKafka]:
    """One that the test starts and stops."""
    kafka = RealKafka(tmp_path_factory.mktemp("kafka"))
    yield kafka
    kafka.stop()


def _topic(codec: Codec) -> str:
    return f"Orders.{codec.name}"


def _ours(folder: Path, codec: Codec) -> PartitionLog:
    return PartitionLog(LiveDisk("ours", folder), StillClock(), f"{_topic(codec)}-0")


def _indexes(folder: Path, codec: Codec) -> dict[str, bytes]:
    paths = (folder / f"{_topic(codec)}-0").glob("*index")
    return {path.name: path.read_bytes() for path in paths}


def test_our_reader_reads_what_a_real_kafka_wrote_and_would_have_written_the_same_indexes(
    stopped_kafka: RealKafka, tmp_path: Path
) -> None:
    stopped_kafka.start()
    for codec in SPOKEN_CODECS:
        produce(stopped_kafka.address, _topic(codec), _COUNT, codec)
    stopped_kafka.stop()
    folder = tmp_path / "copy"
    shutil.copytree(stopped_kafka.log_folder, folder)
    theirs = {codec: _indexes(folder, codec) for codec in SPOKEN_CODECS}
    assert theirs[Codec.NONE][f"{segment_name(0)}{INDEX_SUFFIX}"]
    for codec in SPOKEN_CODECS:
        # Said to have ended in order, it is read with the indexes that are there.
        PartitionRecoveryPoint(_COUNT, is_clean=True).write(LiveDisk("ours", folder), f"{_topic(codec)}-0")
        log = _ours(folder, codec)
        assert log.load().lines == []
        assert [record.value for record in records_of(log)] == values(_COUNT)
        assert log.locate(_COUNT - 1).lookup.batch is not None
        assert log.offset_for_time(records_of(log, 1_000)[0].timestamp_ms)[1] <= 1_000
        log.close(is_clean=False)
        assert _indexes(folder, codec) == theirs[codec]
        # Otherwise all batches are checked, and the indexes are made again.
        log = _ours(folder, codec)
        assert log.load().batches_checked > 0
        log.close()
        assert _indexes(folder, codec) == theirs[codec]


def test_a_real_kafka_serves_what_was_written_here(stopped_kafka: RealKafka) -> None:
    stopped_kafka.start()
    for codec in SPOKEN_CODECS:
        produce(stopped_kafka.address, _topic(codec), 10, codec)
    stopped_kafka.stop()
    for codec in SPOKEN_CODECS:
        log = _ours(stopped_kafka.log_folder, codec)
        log.load()
        for first in range(10, _COUNT, 10):
            batch = values(_COUNT)[first : first + 10]
            log.append(encode_batch([Record(0, BEGIN_MS, None, value, ()) for value in batch], codec))
        log.close()
    stopped_kafka.start()
    for codec in SPOKEN_CODECS:
        partition = TopicPartition(_topic(codec), 0)
        with consumer_of(stopped_kafka.address, partition) as consumer:
            records = consumed(consumer, _COUNT)
            assert consumer.end_offsets([partition]) == {partition: _COUNT}
        assert [record.value for record in records] == values(_COUNT)
        produce(stopped_kafka.address, _topic(codec), 1, codec)

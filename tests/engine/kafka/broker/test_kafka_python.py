"""kafka-python produces to our broker and consumes from it, over TCP."""

from __future__ import annotations

from pathlib import Path

import pytest
from kafka import KafkaProducer, OffsetAndMetadata, TopicPartition

from engine.kafka.records.compression import SPOKEN_CODECS, Codec
from engine.kafka.records.record_batch import read_header
from engine.runtime.live.live_disk import LiveDisk
from tests.support.kafka.brokers import TOPIC, with_live_broker
from tests.support.kafka.kafka_python import consumed, consumer_of, produce, values
from tests.support.kafka.partitions import opened_log, records_of

_COUNT = 300
_PARTITION = TopicPartition(TOPIC, 0)


@pytest.mark.parametrize("codec", SPOKEN_CODECS)
def test_what_it_sent_it_reads_again_in_each_codec(tmp_path: Path, codec: Codec) -> None:
    def work(address: str) -> None:
        produce(address, TOPIC, _COUNT, codec)
        with consumer_of(address, _PARTITION) as consumer:
            records = consumed(consumer, _COUNT)
        assert [record.offset for record in records] == list(range(_COUNT))
        assert [record.value for record in records] == values(_COUNT)
        assert records[17].key == b"order-17"
        assert list(records[17].headers) == [("n", b"17")]

    with_live_broker(tmp_path, {TOPIC: 1, "Keyed": 3}, work)
    log = opened_log(LiveDisk("kafka", tmp_path / "kafka-logs"))
    assert read_header(log.read(0, 1).data).codec is codec
    assert [record.value for record in records_of(log)] == values(_COUNT)


def test_a_group_goes_on_where_it_committed_after_the_broker_was_started_again(tmp_path: Path) -> None:
    def first(address: str) -> None:
        produce(address, TOPIC, _COUNT)
        with consumer_of(address, _PARTITION, group_id="readers") as consumer:
            assert consumer.committed(_PARTITION) is None
            consumer.commit({_PARTITION: OffsetAndMetadata(100, "noted", -1)})

    def second(address: str) -> None:
        with consumer_of(address, _PARTITION, group_id="readers") as consumer:
            assert consumer.committed(_PARTITION) == 100
            assert consumed(consumer, 1)[0].value == b"paid 100"

    with_live_broker(tmp_path, {TOPIC: 1, "Keyed": 3}, first)
    with_live_broker(tmp_path, {TOPIC: 1, "Keyed": 3}, second)


def test_it_finds_the_ends_and_the_offset_of_a_time(tmp_path: Path) -> None:
    def work(address: str) -> None:
        producer = KafkaProducer(bootstrap_servers=address)
        for number in range(10):
            producer.send(TOPIC, b"paid", timestamp_ms=1_000 * number + 1).get(timeout=30)
        producer.close()
        with consumer_of(address, _PARTITION) as consumer:
            assert consumer.beginning_offsets([_PARTITION]) == {_PARTITION: 0}
            assert consumer.end_offsets([_PARTITION]) == {_PARTITION: 10}
            found = consumer.offsets_for_times({_PARTITION: 3_500})[_PARTITION]
            assert (found.offset, found.timestamp) == (4, 4_001)
            assert consumer.offsets_for_times({_PARTITION: 99_000}) == {_PARTITION: None}

    with_live_broker(tmp_path, {TOPIC: 1, "Keyed": 3}, work)


def test_keys_are_spread_over_partitions_and_each_is_read(tmp_path: Path) -> None:
    def work(address: str) -> None:
        produce(address, "Keyed", _COUNT)
        with consumer_of(address, *[TopicPartition("Keyed", number) for number in range(3)]) as consumer:
            assert consumer.partitions_for_topic("Keyed") == {0, 1, 2}
            records = consumed(consumer, _COUNT)
        assert sorted(record.value for record in records) == sorted(values(_COUNT))
        assert {record.partition for record in records} == {0, 1, 2}

    with_live_broker(tmp_path, {TOPIC: 1, "Keyed": 3}, work)


def test_its_transactions_are_committed_or_aborted_as_a_whole(tmp_path: Path) -> None:
    def work(address: str) -> None:
        producer = KafkaProducer(bootstrap_servers=address, transactional_id="shop")
        producer.init_transactions()
        for value, is_commit in ((b"paid", True), (b"never", False), (b"sent", True)):
            producer.begin_transaction()
            producer.send(TOPIC, value).get(timeout=30)
            producer.send("Keyed", value, partition=1).get(timeout=30)
            (producer.commit_transaction if is_commit else producer.abort_transaction)()
        producer.close()
        for place in (_PARTITION, TopicPartition("Keyed", 1)):
            with consumer_of(address, place, isolation_level="read_committed") as consumer:
                assert [record.value for record in consumed(consumer, 2)] == [b"paid", b"sent"]
            with consumer_of(address, place) as consumer:
                assert len(consumed(consumer, 3)) == 3

    with_live_broker(tmp_path, {TOPIC: 1, "Keyed": 3}, work)

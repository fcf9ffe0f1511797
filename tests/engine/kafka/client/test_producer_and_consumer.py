"""Producer, broker and consumer together, in the lab and on real sockets."""

from __future__ import annotations

import asyncio

import pytest

from engine.kafka.client.consumer_config import OffsetReset
from engine.kafka.client.errors import BufferExhausted, NoOffsetForPartition, ProducerClosed, SendRefused
from engine.kafka.client.partitioner import Partitioner, murmur2
from engine.kafka.records.compression import Codec
from engine.kafka.records.error_code import KafkaErrorCode, KafkaRefusal
from engine.kafka.records.topic_partition import TopicPartition
from tests.support.kafka.clusters import ORDERS, run_cluster
from tests.support.kafka.partitions import records_of


@pytest.fixture(params=["lab", "uvloop"])
def run(request, tmp_path):
    return lambda scenario: run_cluster(request.param, tmp_path, scenario)


@pytest.fixture
def lab(tmp_path):
    return lambda scenario: run_cluster("lab", tmp_path, scenario)


async def read(consumer, count) -> list[bytes | None]:
    values: list[bytes | None] = []
    while len(values) < count:
        for records in (await consumer.poll(60_000)).values():
            values += [record.value for record in records]
    return values


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_what_is_sent_is_read_in_order(run, codec):
    async def scenario(cluster):
        producer, consumer = cluster.producer(codec=codec), cluster.consumer()
        values = [b"order %d" % number for number in range(1_200)]
        results = [await producer.send("Orders", value, b"key", partition=0) for value in values]
        await producer.close()
        assert [(await result).offset for result in results] == list(range(1_200))
        assert await read(consumer, 1_200) == values
        assert consumer.position(ORDERS) == 1_200
        await consumer.close()

    run(scenario)


def test_a_group_goes_on_where_it_committed(run):
    async def scenario(cluster):
        producer = cluster.producer()
        for number in range(10):
            await producer.send("Orders", b"%d" % number, partition=0)
        await producer.close()
        first = cluster.consumer(max_poll_records=4)
        assert await read(first, 4) == [b"0", b"1", b"2", b"3"]
        await first.commit()
        assert await read(first, 4) == [b"4", b"5", b"6", b"7"]
        first.abandon()  # what was not committed comes again
        second = cluster.consumer()
        assert await read(second, 6) == [b"4", b"5", b"6", b"7", b"8", b"9"]
        await second.close()
        third = cluster.consumer()
        assert await third.poll(100) == {}
        assert third.committed == {ORDERS: 10}
        third.abandon()

    run(scenario)


def test_a_poll_hands_out_few_and_keeps_what_was_fetched_for_the_next(lab):
    async def scenario(cluster):
        producer, consumer = cluster.producer(), cluster.consumer(max_poll_records=5)
        for number in range(12):
            await producer.send("Orders", b"%d" % number, partition=0)
        await producer.close()
        assert len(await read(consumer, 5)) == 5
        assert [len(fetch.records) for fetch in consumer.fetcher.completed_fetches] == [7]
        assert consumer.position(ORDERS) == 5
        sent = consumer.client._last_id
        assert len(await read(consumer, 5)) == 5
        assert consumer.client._last_id == sent, "what was fetched is handed out without asking again"
        assert len(await read(consumer, 2)) == 2
        consumer.abandon()

    lab(scenario)


def test_records_travel_together_when_they_linger(lab):
    async def scenario(cluster):
        producer = cluster.producer(linger_ms=50)
        await producer.send("Orders", b"first", partition=0)
        await asyncio.sleep(0.049)
        await producer.send("Orders", b"second", partition=0)
        assert not producer.sender.in_flight
        await asyncio.sleep(0.002)
        assert [len(batch.records) for batch in producer.sender.in_flight] == [2]
        await producer.close()

    lab(scenario)


def test_a_flush_that_begins_during_another_one_does_not_linger_when_that_ends(lab):
    async def scenario(cluster):
        producer = cluster.producer(linger_ms=3_600_000, max_in_flight=1, batch_size=400)
        await producer.send("Orders", b"first", partition=0)
        first = asyncio.ensure_future(producer.flush())
        while not producer.sender.in_flight:
            await asyncio.sleep(0.0001)
        for value in (b"x" * 300, b"y" * 300):  # a batch each: the last one is alone when the first flush ends
            await producer.send("Orders", value, partition=0)
        async with asyncio.timeout(60):
            await asyncio.gather(first, producer.flush())
        assert producer.accumulator.flushes_in_progress == 0
        await producer.close()

    lab(scenario)


def test_a_full_batch_does_not_wait(lab):
    async def scenario(cluster):
        producer = cluster.producer(linger_ms=10_000, batch_size=400)
        results = [await producer.send("Orders", b"x" * 100, partition=0) for _ in range(4)]
        await results[0]
        assert [result.done() for result in results] == [True, True, True, False]
        assert [batch.size_bytes <= 400 for batch in producer.accumulator.waiting()] == [True]
        await producer.close()
        assert all(result.done() for result in results)
        assert producer.accumulator.used_bytes == 0

    lab(scenario)


def test_a_full_memory_makes_the_sender_wait_and_then_fails(lab):
    async def scenario(cluster):
        producer = cluster.producer(linger_ms=10_000, buffer_memory=500, max_block_ms=1_000)
        for _ in range(10):  # a full memory makes what waits leave
            await producer.send("Orders", b"x" * 200, partition=0)
        await cluster.broker.shutdown()
        with pytest.raises(BufferExhausted, match="of 500 bytes"):
            await producer.send("Orders", b"x" * 200, partition=0)
        await producer.abandon()

    lab(scenario)


def test_a_record_that_the_broker_refuses_fails_alone(run):
    async def scenario(cluster):
        producer = cluster.producer(batch_size=100)
        large = await producer.send("Orders", bytes(1_100_000), partition=0)
        small = await producer.send("Orders", b"small", partition=0)
        with pytest.raises(SendRefused) as refused:
            await large
        assert refused.value.code == KafkaErrorCode.MESSAGE_TOO_LARGE
        assert (await small).offset == 0
        await producer.close()
        with pytest.raises(ProducerClosed):
            await producer.send("Orders", b"late", partition=0)

    run(scenario)


def test_a_topic_that_is_not_there_is_reported(lab):
    async def scenario(cluster):
        producer = cluster.producer()
        with pytest.raises(SendRefused, match="UNKNOWN_TOPIC_OR_PARTITION"):
            await producer.send("Nothing", b"x")
        await producer.close()

    lab(scenario)


def test_without_acknowledgement_nobody_knows_the_offset(lab):
    async def scenario(cluster):
        producer = cluster.producer(acks=0, enable_idempotence=False)
        assert (await (await producer.send("Orders", b"x", partition=0))).offset == -1
        await producer.close()
        consumer = cluster.consumer()
        assert await read(consumer, 1) == [b"x"]
        consumer.abandon()

    lab(scenario)


def test_a_consumer_that_waits_gets_a_record_as_soon_as_it_comes(lab):
    async def scenario(cluster):
        producer, consumer = cluster.producer(linger_ms=0), cluster.consumer(fetch_max_wait_ms=20_000)
        await consumer.poll(100)
        reading = asyncio.create_task(consumer.poll(60_000))
        await asyncio.sleep(0.5)
        assert cluster.broker.partitions.purgatory.waiting_count == 1
        before_ms = cluster.client.clock.now_ms()
        await producer.send("Orders", b"x", partition=0)
        assert len((await reading)[ORDERS]) == 1
        assert cluster.client.clock.now_ms() - before_ms < 100
        assert cluster.broker.partitions.purgatory.waiting_count <= 1
        await producer.close()
        consumer.abandon()

    lab(scenario)


def test_a_group_without_offset_begins_where_it_is_configured_to(lab):
    async def scenario(cluster):
        producer = cluster.producer()
        await (await producer.send("Orders", b"old", partition=0))
        late = cluster.consumer("late", auto_offset_reset=OffsetReset.LATEST)
        assert await late.poll(200) == {}
        assert late.position(ORDERS) == 1
        strict = cluster.consumer("strict", auto_offset_reset=OffsetReset.NONE)
        with pytest.raises(NoOffsetForPartition):
            await strict.poll(200)
        lost = cluster.consumer("lost")
        lost.seek(ORDERS, 999)
        assert await read(lost, 1) == [b"old"]
        for one in (late, strict, lost):
            one.abandon()
        await producer.close()

    lab(scenario)


def test_a_damaged_batch_is_reported_after_those_before_it(lab):
    async def scenario(cluster):
        producer, consumer = cluster.producer(linger_ms=0), cluster.consumer()
        for number in range(3):
            await (await producer.send("Orders", b"%d" % number, partition=0))
        await producer.close()
        log = cluster.broker.partitions.logs[ORDERS]
        batches = list(log.segments[0].batches_from(0))
        content = cluster.server.disk.storage.files[log.segments[0].path]
        content.write(batches[1].end - 1, memoryview(b"?"))
        assert await read(consumer, 1) == [b"0"]
        for _ in range(2):
            with pytest.raises(KafkaRefusal, match="Orders-0 is damaged at offset 1"):
                await consumer.poll(300)
        consumer.seek(ORDERS, 2)
        assert await read(consumer, 1) == [b"2"]
        consumer.abandon()

    lab(scenario)


def test_a_damage_on_the_way_is_noticed_by_the_consumer(lab):
    async def scenario(cluster):
        producer, consumer = cluster.producer(linger_ms=0), cluster.consumer()
        for number in range(2):
            await (await producer.send("Orders", b"%d" % number, partition=0))
        await producer.close()
        while not consumer.fetcher.has_fetches:
            await consumer._find_positions()
            consumer.fetcher.send_fetches()
            await consumer.client.poll(100, lambda: consumer.fetcher.has_fetches)
        fetch = consumer.fetcher.completed_fetches[0]
        fetch.data = fetch.data[:-1] + b"?"
        assert await read(consumer, 1) == [b"0"]
        with pytest.raises(KafkaRefusal, match="checksum"):
            await consumer.poll(300)
        assert await read(consumer, 1) == [b"1"], "fetched again, it is whole"
        consumer.abandon()

    lab(scenario)


@pytest.mark.parametrize("is_idempotent", [True, False])
def test_a_lost_answer_makes_a_duplicate_unless_batches_are_numbered(tmp_path, is_idempotent):
    async def scenario(cluster):
        producer = cluster.producer(linger_ms=0, enable_idempotence=is_idempotent, max_in_flight=1)
        await (await producer.send("Orders", b"first", partition=0))
        result = await producer.send("Orders", b"second", partition=0)
        log = cluster.broker.partitions.logs[ORDERS]
        while log.log_end_offset < 2:
            await asyncio.sleep(0.0001)
        producer.client.close()  # the answer is still on its way
        assert (await result).offset == (1 if is_idempotent else 2)
        await producer.close()
        values = [record.value for record in records_of(log)]
        assert values == [b"first", b"second"] if is_idempotent else [b"first", b"second", b"second"]

    run_cluster("lab", tmp_path, scenario)


def test_keys_go_where_kafkas_own_hash_sends_them():
    # Figures of Kafka's own clients.
    assert [murmur2(key) for key in (b"21", b"foobar", b"a-little-bit-long-string")] == [
        (1 << 32) - 973_932_308,
        (1 << 32) - 790_332_482,
        (1 << 32) - 985_981_536,
    ]
    partitioner = Partitioner(3, 100)
    assert partitioner.choose(b"21", 10) == ((1 << 32) - 973_932_308 & 0x7FFFFFFF) % 3


def test_records_without_key_stay_together_for_a_batch_and_then_go_to_the_next():
    partitioner = Partitioner(3, 100)
    assert [partitioner.choose(None, 50) for _ in range(8)] == [0, 0, 1, 1, 2, 2, 0, 0]


def test_all_partitions_of_a_topic_are_used(lab):
    async def scenario(cluster):
        producer = cluster.producer(batch_size=100, linger_ms=0)
        for number in range(30):
            await producer.send("Mails", b"%d" % number * 10)
        await producer.close()
        ends = [cluster.broker.partitions.logs[TopicPartition("Mails", number)].log_end_offset for number in range(3)]
        assert sum(ends) == 30
        assert min(ends) > 0

    lab(scenario)

"""The pull consumer against a real broker, in the lab."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.client import (
    DefaultMQProducer,
    DefaultMQPullConsumer,
    IllegalClientArgument,
    Message,
    MessageModel,
    MessageQueue,
    MQBrokerError,
    NoRoute,
    PullResult,
    PullStatus,
)
from engine.client.queues.local_file_offset_store import LocalFileOffsetStore, OffsetFileUnreadable
from tests.support.lab.lab_cluster import LabCluster

QUEUE = MessageQueue("T", "broker-a", 0)


@pytest.fixture
def cluster() -> Iterator[LabCluster]:
    with LabCluster(seed=21) as made:
        yield made


@pytest.fixture
def producer(cluster: LabCluster) -> DefaultMQProducer:
    made = cluster.producer("P", "producers")
    cluster.start(made)
    cluster.run(made, made.create_topic("T", queue_nums=2))
    return made


@pytest.fixture
def consumer(cluster: LabCluster, producer: DefaultMQProducer) -> DefaultMQPullConsumer:
    made = cluster.pull_consumer("C", "g")
    cluster.start(made)
    return made


def send(cluster: LabCluster, producer: DefaultMQProducer, count: int, tags: str | None = None) -> None:
    async def send_all() -> None:
        for number in range(count):
            await producer.send(Message("T", b"%d" % number, tags=tags), queue=QUEUE)

    cluster.run(producer, send_all())


def test_the_queues_of_a_topic_are_listed_in_order(cluster, consumer):
    queues = cluster.run(consumer, consumer.fetch_subscribe_message_queues("T"))
    assert queues == (QUEUE, MessageQueue("T", "broker-a", 1))
    with pytest.raises(NoRoute, match=r"topic 'Nowhere' at name server .* is it created"):
        cluster.run(consumer, consumer.fetch_subscribe_message_queues("Nowhere"))


def test_pulling_from_result_to_result_reads_everything_once(cluster, producer, consumer):
    send(cluster, producer, 100)

    async def read() -> list[int]:
        numbers: list[int] = []
        offset = 0
        while True:
            result = await consumer.pull(QUEUE, "*", offset, max_messages=7)
            if result.status is not PullStatus.FOUND:
                assert result.status is PullStatus.NO_NEW_MSG
                return numbers
            assert len(result.messages) <= 7
            numbers += [int(message.body) for message in result.messages]
            offset = result.next_begin_offset

    assert cluster.run(consumer, read()) == list(range(100))


def test_a_pull_from_an_empty_queue_returns_at_once_and_a_blocking_one_waits(cluster, producer, consumer):
    started_us = cluster.world.loop.now_us
    result = cluster.run(consumer, consumer.pull(QUEUE, "*", 0))
    assert result.status is PullStatus.NO_NEW_MSG
    assert cluster.world.loop.now_us - started_us < 10_000

    results: list[PullResult] = []

    async def wait() -> None:
        results.append(await consumer.pull_block_if_not_found(QUEUE, "*", 0))

    cluster.world.spawn(wait(), "waits", cluster.world.node("C").node)
    cluster.world.run_for(10_000)
    assert results == []
    send(cluster, producer, 1)
    cluster.world.run_until(lambda: results, 100)
    assert [message.body for message in results[0].messages] == [b"0"]


def test_a_blocking_pull_gives_up_after_twenty_seconds(cluster, consumer):
    started_us = cluster.world.loop.now_us
    result = cluster.run(consumer, consumer.pull_block_if_not_found(QUEUE, "*", 0))
    assert result.status is PullStatus.NO_NEW_MSG
    assert 20 <= (cluster.world.loop.now_us - started_us) / 1_000_000 <= 25


def test_an_offset_outside_of_the_queue_says_where_to_go_on(cluster, producer, consumer):
    send(cluster, producer, 3)
    result = cluster.run(consumer, consumer.pull(QUEUE, "*", 1_000))
    assert (result.status, result.next_begin_offset) == (PullStatus.OFFSET_ILLEGAL, 3)
    assert (result.min_offset, result.max_offset) == (0, 3)


def test_messages_of_other_tags_are_passed_over(cluster, producer, consumer):
    send(cluster, producer, 3, tags="A")
    result = cluster.run(consumer, consumer.pull(QUEUE, "B", 0))
    assert (result.status, result.messages, result.next_begin_offset) == (PullStatus.NO_MATCHED_MSG, (), 3)
    assert len(cluster.run(consumer, consumer.pull(QUEUE, "A || B", 0)).messages) == 3


def test_offsets_of_a_queue_by_place_and_by_time(cluster, producer, consumer):
    send(cluster, producer, 3)
    cluster.world.run_for(60_000)
    between_ms = cluster.world.node("C").clock.now_ms()
    cluster.world.run_for(60_000)
    send(cluster, producer, 3)
    assert cluster.run(consumer, consumer.min_offset(QUEUE)) == 0
    assert cluster.run(consumer, consumer.max_offset(QUEUE)) == 6
    assert cluster.run(consumer, consumer.search_offset(QUEUE, between_ms)) in (2, 3)
    earliest_ms = cluster.run(consumer, consumer.earliest_message_store_time(QUEUE))
    assert 59_000 < between_ms - earliest_ms < 61_000


def test_noted_progress_is_stored_within_seconds_and_found_by_the_next_member(cluster, producer, consumer):
    send(cluster, producer, 5)
    assert cluster.run(consumer, consumer.fetch_consume_offset(QUEUE)) in (0, None)
    consumer.update_consume_offset(QUEUE, 4)
    assert cluster.run(consumer, consumer.fetch_consume_offset(QUEUE, from_store=False)) == 4
    cluster.world.run_for(11_000)
    other = cluster.pull_consumer("C2", "g")
    cluster.start(other)
    assert cluster.run(other, other.fetch_consume_offset(QUEUE)) == 4
    consumer.update_consume_offset(QUEUE, 2)
    cluster.stop(consumer)
    assert cluster.run(other, other.fetch_consume_offset(QUEUE)) == 2, "a smaller one counts too"


def test_arguments_that_cannot_be_are_named(cluster, consumer):
    with pytest.raises(IllegalClientArgument, match="0 or greater, got -1"):
        cluster.run(consumer, consumer.pull(QUEUE, "*", -1))
    with pytest.raises(IllegalClientArgument, match="1 or greater, got 0"):
        cluster.run(consumer, consumer.pull(QUEUE, "*", 0, 0))
    with pytest.raises(IllegalClientArgument, match="names no tag"):
        cluster.run(consumer, consumer.pull(QUEUE, "||", 0))
    with pytest.raises(MQBrokerError, match="queue"):
        cluster.run(consumer, consumer.pull(MessageQueue("T", "broker-a", 99), "*", 0))


# --- the local file of a broadcasting group ---------------------------------------------------------------------------


def local_store(cluster: LabCluster) -> LocalFileOffsetStore:
    return LocalFileOffsetStore(cluster.world.node("C").disk, "10.0.0.9@DEFAULT", "g")


def test_a_broadcasting_pull_consumer_keeps_its_progress_in_a_file(cluster, producer):
    consumer = cluster.pull_consumer("C", "g", message_model=MessageModel.BROADCASTING)
    cluster.start(consumer)
    assert cluster.run(consumer, consumer.fetch_consume_offset(QUEUE)) is None
    consumer.update_consume_offset(QUEUE, 3)
    cluster.stop(consumer)
    again = cluster.pull_consumer("C", "g", message_model=MessageModel.BROADCASTING)
    cluster.start(again)
    assert cluster.run(again, again.fetch_consume_offset(QUEUE)) == 3


def test_the_file_has_the_format_of_rocketmq_and_a_backup(cluster):
    store = local_store(cluster)
    for offset in (5, 6):
        store.update_offset(QUEUE, offset, increase_only=False)
        cluster.world.run(store.persist_all([QUEUE]))
    disk = cluster.world.node("C").disk
    expected = b'{"offsetTable":{{"brokerName":"broker-a","queueId":0,"topic":"T"}:%d}}'
    assert disk.read_whole(store.path).replace(b" ", b"") == expected % 6
    assert disk.read_whole(store.path + ".bak") == expected % 5


@pytest.mark.parametrize("broken", [b"", b"{", b"\xff\xfe", b'{"offsetTable":{"a":1}}'])
def test_a_broken_file_is_replaced_by_its_backup(cluster, broken):
    store = local_store(cluster)
    for offset in (5, 6):
        store.update_offset(QUEUE, offset, increase_only=False)
        cluster.world.run(store.persist(QUEUE))
    disk = cluster.world.node("C").disk
    disk.write_whole(store.path, broken)
    fresh = local_store(cluster)
    cluster.world.run(fresh.load())
    assert fresh.offset_in_memory(QUEUE) == 5
    disk.write_whole(store.path + ".bak", broken)
    with pytest.raises(OffsetFileUnreadable, match="remove the file to start over"):
        cluster.world.run(local_store(cluster).load())

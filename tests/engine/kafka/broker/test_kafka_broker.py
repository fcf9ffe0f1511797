"""The broker in virtual time: who waits and how long, what is bounded, what survives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from engine.kafka.broker.kafka_broker import KafkaBroker
from engine.kafka.broker.kafka_broker_config import KafkaBrokerConfig
from engine.kafka.records.compression import Codec
from engine.kafka.records.error_code import KafkaErrorCode, KafkaRefusal
from engine.kafka.wire.cluster import InitProducerIdRequest, MetadataRequest
from engine.kafka.wire.fetch import FetchPartition, FetchTopic
from engine.kafka.wire.frames import correlation_id_of, encode_request
from engine.kafka.wire.offsets import OffsetFetchRequest, TopicPartitions
from engine.kafka.wire.server_connection import REQUESTS_WAITING_MAX
from engine.runtime.lab.lab_runtime import LabMachines
from engine.runtime.port import FRAME_MAX_LENGTH_BYTES
from tests.support.kafka.asking import Asker
from tests.support.kafka.bad_requests import (
    batch_with_attributes,
    codes_in,
    commit_request,
    fetch_request,
    produce_request,
)
from tests.support.kafka.brokers import TOPIC, address_of
from tests.support.kafka.partitions import batch_of, orders, records_in

SERVER, CLIENT = "server", "client"


@pytest.fixture
def world() -> Iterator[LabMachines]:
    with LabMachines(seed=1) as machines:
        yield machines


class Cluster:
    """A broker, and connections to it."""

    def __init__(self, world: LabMachines, config: KafkaBrokerConfig | None = None) -> None:
        self.world = world
        self.client = world.node(CLIENT)
        self.start(config or KafkaBrokerConfig({TOPIC: 1}))

    def start(self, config: KafkaBrokerConfig) -> None:
        """The broker, with the files that an earlier one left."""
        server = self.world.node(SERVER)
        self.broker = KafkaBroker(server, config)
        server.run(self.broker.start("0.0.0.0", 0))

    def asker(self) -> Asker:
        return self.client.run(Asker.connected(self.client, address_of(self.broker)))

    def ask(self, asker: Asker, request):
        return self.client.run(asker.ask(request))

    def send(self, asker: Asker, request, correlation_id: int = 0) -> None:
        asker.connection.send_frame(encode_request(request, correlation_id, "tester"))

    def now_ms(self) -> int:
        return self.client.clock.now_ms()


def records_of(answer, partition: int = 0) -> list:
    return records_in(answer.responses[0].partitions[partition].records)


def test_a_fetch_at_the_end_is_answered_as_soon_as_something_is_appended(world: LabMachines) -> None:
    cluster = Cluster(world)
    reader, writer = cluster.asker(), cluster.asker()
    begin_ms = cluster.now_ms()
    waiting = cluster.client.spawn(reader.ask(fetch_request(0, max_wait_ms=10_000)), "fetch")
    world.run_for(3_000)
    assert cluster.broker.partitions.purgatory.waiting_count == 1
    cluster.ask(writer, produce_request(batch_of(3)))
    assert records_of(cluster.client.run(waiting)) == orders(3)
    assert 3_000 <= cluster.now_ms() - begin_ms < 3_100
    assert cluster.broker.partitions.purgatory.waiting_count == 0


def test_a_fetch_is_answered_with_nothing_when_its_time_is_over(world: LabMachines) -> None:
    cluster = Cluster(world)
    reader = cluster.asker()
    begin_ms = cluster.now_ms()
    assert records_of(cluster.ask(reader, fetch_request(0, max_wait_ms=700))) == []
    assert 700 <= cluster.now_ms() - begin_ms < 800


def test_a_fetch_waits_for_as_many_bytes_as_it_wants(world: LabMachines) -> None:
    cluster = Cluster(world)
    reader, writer = cluster.asker(), cluster.asker()
    batch = batch_of(3)
    wanted = replace(fetch_request(0, max_wait_ms=10_000), min_bytes=2 * len(batch))
    waiting = cluster.client.spawn(reader.ask(wanted), "fetch")
    cluster.ask(writer, produce_request(batch))
    world.run_for(100)
    assert not reader.frames
    cluster.ask(writer, produce_request(batch_of(3, 3)))
    assert records_of(cluster.client.run(waiting)) == orders(6)


def test_no_fetch_waits_longer_than_the_broker_lets_it_and_none_is_left_when_its_client_has_gone(
    world: LabMachines,
) -> None:
    cluster = Cluster(world, KafkaBrokerConfig({TOPIC: 1}, fetch_wait_max_ms=5_000))
    reader = cluster.asker()
    cluster.send(reader, fetch_request(0, max_wait_ms=1 << 30))
    world.run_for(100)
    reader.connection.close()
    world.run_for(5_000)
    assert cluster.broker.partitions.purgatory.waiting_count == 0
    assert not [name for name in cluster.broker.tasks.running if "connection" in name]


def test_requests_of_a_connection_are_answered_in_their_order(world: LabMachines) -> None:
    cluster = Cluster(world)
    asker = cluster.asker()
    cluster.send(asker, fetch_request(0, max_wait_ms=500), 7)
    cluster.send(asker, MetadataRequest(None), 8)
    world.run_for(300)
    assert asker.frames == []
    world.run_for(300)
    assert [correlation_id_of(frame) for frame in asker.frames] == [7, 8]


def test_who_sends_without_end_while_one_request_waits_is_disconnected(world: LabMachines) -> None:
    cluster = Cluster(world)
    asker = cluster.asker()
    for _ in range(REQUESTS_WAITING_MAX + 2):
        cluster.send(asker, fetch_request(0, max_wait_ms=30_000))
    world.run_for(100)
    assert asker.lost_reasons


def test_without_acks_nobody_answers_and_what_was_sent_before_the_end_is_appended(world: LabMachines) -> None:
    cluster = Cluster(world)
    asker = cluster.asker()
    for number in range(5):
        cluster.send(asker, produce_request(batch_of(1, number), acks=0))
    asker.connection.close()
    world.run_for(100)
    assert asker.frames == []
    assert records_of(cluster.ask(cluster.asker(), fetch_request(0))) == orders(5)


def test_an_answer_of_many_partitions_fits_into_a_frame_and_none_of_it_is_lost(world: LabMachines) -> None:
    count = 20
    cluster = Cluster(world, KafkaBrokerConfig({TOPIC: count}))
    writer, reader = cluster.asker(), cluster.asker()
    batch = batch_of(25_000)
    for partition in range(count):
        cluster.ask(writer, produce_request(batch, partition=partition))
    greedy = replace(
        fetch_request(0),
        max_bytes=(1 << 31) - 1,
        topics=(FetchTopic(TOPIC, tuple(FetchPartition(number, -1, 0, -1, (1 << 31) - 1) for number in range(count))),),
    )
    assert count * len(batch) > FRAME_MAX_LENGTH_BYTES
    answer = cluster.ask(reader, greedy)
    assert codes_in(answer) == ()
    sizes = [len(part.records) for part in answer.responses[0].partitions]
    assert 0 < sum(sizes) < FRAME_MAX_LENGTH_BYTES
    assert set(sizes) == {0, len(batch)}, "whole batches or nothing"


def test_a_full_disk_is_reported_and_what_was_there_before_is_served(world: LabMachines) -> None:
    cluster = Cluster(world)
    asker = cluster.asker()
    cluster.ask(asker, produce_request(batch_of(3)))
    storage = world.storages[SERVER]
    storage.occupied_bytes = storage.capacity_bytes
    answer = cluster.ask(asker, produce_request(batch_of(20_000, 3)))
    assert codes_in(answer) == (KafkaErrorCode.KAFKA_STORAGE_ERROR,)
    assert codes_in(cluster.ask(asker, commit_request(3))) == (KafkaErrorCode.KAFKA_STORAGE_ERROR,)
    assert records_of(cluster.ask(asker, fetch_request(0))) == orders(3)
    storage.occupied_bytes = 0
    cluster.ask(asker, produce_request(batch_of(1, 3)))
    assert records_of(cluster.ask(asker, fetch_request(0))) == orders(4)


@pytest.mark.parametrize(("flush_before_answer", "kept"), [(True, 3), (False, 0)])
def test_after_a_power_cut_there_is_what_was_flushed_before_the_answer(
    world: LabMachines, flush_before_answer: bool, kept: int
) -> None:
    config = KafkaBrokerConfig({TOPIC: 1}, flush_before_answer=flush_before_answer)
    cluster = Cluster(world, config)
    cluster.ask(cluster.asker(), produce_request(batch_of(3)))
    world.crash(SERVER, keep_page_cache=False)
    world.restart(SERVER)
    cluster.start(config)
    assert records_of(cluster.ask(cluster.asker(), fetch_request(0))) == orders(kept)


def test_groups_and_producers_after_the_broker_was_killed(world: LabMachines) -> None:
    config = KafkaBrokerConfig({TOPIC: 1})
    cluster = Cluster(world, config)
    asker = cluster.asker()
    cluster.ask(asker, commit_request(2, metadata="noted"))
    cluster.ask(asker, commit_request(3, metadata="again"))
    first = cluster.ask(asker, InitProducerIdRequest(None, 0)).producer_id
    appended = cluster.ask(asker, produce_request(batch_of(3, producer_id=first, producer_epoch=0, base_sequence=0)))
    world.crash(SERVER)
    world.restart(SERVER)
    cluster.start(config)
    asker = cluster.asker()
    kept = cluster.ask(asker, OffsetFetchRequest("readers", (TopicPartitions(TOPIC, (0,)),))).topics[0].partitions[0]
    assert (kept.offset, kept.metadata) == (3, "again")
    assert cluster.ask(asker, InitProducerIdRequest(None, 0)).producer_id != first
    again = cluster.ask(asker, produce_request(batch_of(3, producer_id=first, producer_epoch=0, base_sequence=0)))
    assert again == appended, "the same batch is told the same offset"
    assert records_of(cluster.ask(asker, fetch_request(0))) == orders(3)


def test_what_is_not_packed_as_its_header_says_is_stored_unopened(world: LabMachines) -> None:
    cluster = Cluster(world)
    asker = cluster.asker()
    assert codes_in(cluster.ask(asker, produce_request(batch_with_attributes(Codec.GZIP)))) == ()
    answer = cluster.ask(asker, fetch_request(0))
    with pytest.raises(KafkaRefusal, match="GZIP"):
        records_of(answer)


def test_a_topic_with_a_name_that_is_no_folder_is_refused(world: LabMachines) -> None:
    for name in ("", ".", "..", "a/b", "x" * 250):
        with pytest.raises(KafkaRefusal, match="is not allowed"):
            KafkaBroker(world.node(SERVER), KafkaBrokerConfig({name: 1}))

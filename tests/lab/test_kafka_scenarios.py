"""The scenarios with Kafka's nodes: what their texts say is what their runs do, in numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from engine.kafka.records.record_batch import ATTRIBUTES_BYTE
from engine.kafka.wire.frames import decode_request
from engine.kafka.wire.produce import ProduceRequest
from engine.lab.kafka.kafka_broker_node import KafkaBrokerNode
from engine.lab.kafka.kafka_consumer_node import KafkaConsumerNode
from engine.lab.run.run import LabRun
from engine.lab.scenario.kinds.node_spec import SettingValue
from engine.lab.scenario.scenario import Command
from engine.lab.scenario.scenario_files import load_scenario
from engine.runtime.lab.lab_link_fault import Parcel
from tests.support.lab.sent_requests import SentRequests


@contextmanager
def played(name: str, until_ms: int | None = None, **changed: Mapping[str, SettingValue]) -> Iterator[LabRun]:
    """To its end, or until then; ``changed``: settings by node, which count from the beginning."""
    with LabRun(load_scenario(name)) as run:
        for node, settings in changed.items():
            for setting, value in settings.items():
                run.apply(Command("setting", node, {"name": setting, "value": value}))
        run.run_to_time(run.world.end_us if until_ms is None else until_ms * 1_000)
        yield run


def kafka(run: LabRun) -> KafkaBrokerNode:
    (role,) = run.world.roles(KafkaBrokerNode)
    return role


def log_bytes(run: LabRun) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for segment in kafka(run).stored.segments():
        sizes[segment.topic] = sizes.get(segment.topic, 0) + segment.size_bytes
    return sizes


def mean_wait_ms(run: LabRun, node: str) -> float:
    """From a send to its acknowledgement."""
    begun = {one.key: one.time_us for one in run.world.history.sends_invoked}
    waits = [one.time_us - begun[one.key] for one in run.world.history.sends_returned if one.node == node]
    return sum(waits) / len(waits) / 1_000


def consumed(run: LabRun, node: str) -> dict[str, int]:
    """Key -> how often it was worked on."""
    times: dict[str, int] = {}
    for one in run.world.history.consumes_ended:
        if one.node == node:
            times[one.key] = times.get(one.key, 0) + 1
    return times


def test_the_longer_a_batch_lingers_the_fewer_requests_and_bytes_and_the_later_the_acknowledgement():
    with LabRun(load_scenario("linger-and-batch")) as run:
        sent = SentRequests(run.world)
        run.run_to_time(run.world.end_us)
        assert [sent.count(node, "PRODUCE") for node in ("Zero", "Five", "Fifty")] == [120, 40, 5]
        assert sent.count("R", "SEND_MESSAGE_V2") == 120
        sizes = log_bytes(run)
        assert sizes["Zero"] > sizes["Five"] > sizes["Fifty"]
        waits = [mean_wait_ms(run, node) for node in ("Zero", "Five", "Fifty")]
        # Two flights of 3 ms; a record waits for half of the time that its batch lingers, and for the last in it.
        assert waits[0] == pytest.approx(6)
        assert waits[0] < waits[1] < waits[2]
        assert 6 + 25 <= waits[2] <= 6 + 50
        assert run.violations == []


def test_a_batch_that_is_full_does_not_wait_any_longer():
    with played("linger-and-batch", Fifty={"batch_size": 1_000}) as run:
        batches = [
            batch for segment in kafka(run).stored.segments() if segment.topic == "Fifty" for batch in segment.batches
        ]
        assert max(batch.header.size_bytes for batch in batches) <= 1_000
        assert len(batches) > 12
        assert mean_wait_ms(run, "Fifty") < 6 + 25


def test_a_fetch_brings_all_and_poll_hands_out_three_at_a_time():
    with played("completed-fetches", 1_100) as run:
        (role,) = run.world.roles(KafkaConsumerNode)
        assert role.consumer is not None
        assert role.polled == ["order-0", "order-3", "order-6"]
        left = {
            fetch.place.partition: len(fetch.records) or fetch.left_bytes
            for fetch in role.consumer.fetcher.completed_fetches
        }
        assert left[0] == 9, "of the batch that was opened"
        assert left[1] > 100 and left[2] > 100, "bytes of batches that nobody has opened"
        positions = [role.consumer.position(place) for place in role.partitions]
        assert positions == [3, 0, 0]
        assert role.consumer.committed == {}


@pytest.mark.parametrize(("most", "twice"), [(3, 2), (500, 12)])
def test_what_was_returned_and_not_committed_comes_again_after_a_crash(most, twice):
    with played("completed-fetches", C1={"max_poll_records": most}) as run:
        times = consumed(run, "C1")
        assert len(times) == 36
        assert sum(count - 1 for count in times.values()) == twice
        assert run.violations == []


def test_nothing_is_fetched_again_while_records_of_the_partition_wait():
    with LabRun(load_scenario("completed-fetches")) as run:
        sent = SentRequests(run.world)
        run.run_to_time(1_400_000)
        assert sent.count("C1", "FETCH") == 1


def test_packed_batches_travel_lie_and_come_back_as_they_were_packed():
    frames: list[tuple[str, bytes]] = []

    def note(parcel: Parcel, delays_us: tuple[int, ...]) -> None:
        if parcel.data:
            frames.append((f"{parcel.source}->{parcel.target}", parcel.data[4:]))

    with LabRun(load_scenario("compressed-batches")) as run:
        run.world.watch_parcels(note)
        run.run_to_time(run.world.end_us)
        sizes = log_bytes(run)
        assert sizes["Plain"] > 2 * max(sizes["Gzip"], sizes["Lz4"], sizes["Zstd"])
        stored = [
            batch.data
            for segment in kafka(run).stored.segments()
            if segment.topic == "Gzip"
            for batch in segment.batches
        ]
        assert consumed(run, "C1") == {f"gzip-{number}": 1 for number in range(40)}
    sent = [
        part.records[ATTRIBUTES_BYTE:]
        for way, data in frames
        if way == "Gzip->K1" and isinstance(request := decode_request(data)[1], ProduceRequest)
        for topic in request.topics
        for part in topic.partitions
        if part.records
    ]
    assert sent == [data[ATTRIBUTES_BYTE:] for data in stored], "what the checksum covers is never touched"
    fetched = [data for way, data in frames if way == "K1->C1"]
    assert all(any(batch in data for data in fetched) for batch in stored)


def test_a_batch_of_one_record_is_not_worth_packing():
    with played("compressed-batches", Gzip={"linger_ms": 0}) as run:
        sizes = log_bytes(run)
        assert sizes["Gzip"] > sizes["Plain"]


def test_one_log_on_the_one_side_and_one_for_each_partition_on_the_other():
    with played("two-logs") as run:
        rocketmq, own = run.world.disk_of("B1"), kafka(run)
        assert len([path for path in rocketmq.files if "/commitlog/" in f"/{path}"]) == 1
        segments = own.stored.segments()
        assert [(one.topic, one.partition, one.next_offset) for one in segments] == [
            ("Bills", 0, 12),
            ("Orders", 0, 12),
            ("Orders", 1, 12),
            ("Parcels", 0, 12),
        ]
        assert {name[2:] for name in consumed(run, "C")} == {name[2:] for name in consumed(run, "KC")}
        # Sparse: an entry for every second batch or so, where RocketMQ has one for each message.
        assert all(0 < len(one.index_entries) < len(one.batches) for one in segments)


def test_a_small_segment_is_named_by_the_first_offset_in_it():
    with played("two-logs", K1={"segment_bytes": 600}) as run:
        names = [one.name for one in kafka(run).stored.segments() if one.topic == "Bills"]
        assert names[0] == "00000000000000000000.log"
        assert len(names) > 2
        firsts = [one.batches[0].header.base_offset for one in kafka(run).stored.segments() if one.topic == "Bills"]
        assert [int(name.removesuffix(".log")) for name in names] == firsts


def test_recovery_cuts_the_log_behind_the_last_whole_batch_and_the_group_begins_anew():
    with played("torn-segment", 1_700) as run:
        (torn,) = kafka(run).stored.segments()
        acknowledged = sum(one.status == "ok" for one in run.world.history.sends_returned)
        assert acknowledged == 100
        whole = torn.next_offset
        assert 0 < whole < acknowledged
        assert torn.torn_bytes > 0
        run.run_to_time(2_000_000)
        (mended,) = kafka(run).stored.segments()
        assert (mended.next_offset, mended.torn_bytes) == (whole, 0)
        run.run_to_time(run.world.end_us)
        assert kafka(run).stored.segments()[0].next_offset == whole + 95, "five were in flight, behind a gap"
        assert run.violations == []


def test_who_flushes_before_he_answers_loses_nothing_that_was_acknowledged():
    with played("torn-segment", 2_000, K1={"flush_before_answer": True}) as run:
        acknowledged = [one for one in run.world.history.sends_returned if one.status == "ok"]
        (segment,) = kafka(run).stored.segments()
        assert segment.next_offset >= len(acknowledged) > 50
        assert mean_wait_ms(run, "P1") >= 6 + 5

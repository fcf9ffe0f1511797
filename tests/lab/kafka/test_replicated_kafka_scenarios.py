"""What the texts of the scenarios about Kafka's replicas say, is so; and what their switches break, breaks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from engine.kafka.records.topic_partition import TopicPartition
from engine.kafka.replication.replica import Replica
from engine.lab.kafka.kafka_broker_node import KafkaBrokerNode
from engine.lab.kafka.kafka_producer_node import KafkaProducerNode
from engine.lab.run.run import LabRun
from engine.lab.scenario.scenario_files import load_scenario
from tests.support.lab.lab_scenarios import apply

ORDERS = TopicPartition("Orders", 0)
SURVIVE = "acknowledged-records-survive-elections"
STAY = "consumed-records-stay"


@contextmanager
def playing(name: str, *settings: tuple[str, str, bool | int]) -> Iterator[LabRun]:
    """A scenario, begun with other settings: node, name, value."""
    with LabRun(load_scenario(name)) as run:
        for node, setting, value in settings:
            apply(run, "setting", node, name=setting, value=value)
        yield run


def to(run: LabRun, time_ms: int) -> None:
    run.run_to_time(time_ms * 1_000)


def end(run: LabRun) -> set[str]:
    run.run_to_time(run.world.end_us)
    assert not run.world.failures
    return {violation.checker for violation in run.violations}


def replica(run: LabRun, name: str, place: TopicPartition = ORDERS) -> Replica:
    return next(role for role in run.world.roles(KafkaBrokerNode) if role.name == name).replicas[place]


def keys(run: LabRun, name: str, topic: str) -> set[str]:
    role = next(role for role in run.world.roles(KafkaBrokerNode) if role.name == name)
    segments = [one for one in role.stored.segments() if one.topic == topic]
    return {key for one in segments for batch in one.batches for _, key in batch.record_keys()}


def acknowledged(run: LabRun, topic: str) -> set[str]:
    return {one.key for one in run.world.history.sends_returned if one.topic == topic and one.status == "ok"}


def lost(run: LabRun, topic: str) -> set[str]:
    return acknowledged(run, topic) - keys(run, "K2", topic)


def test_acks_compared_loses_what_only_the_leader_had():
    with playing("acks-compared") as run:
        assert end(run) == set()
        on_k1_alone = range(44, 50)
        assert lost(run, "Zero") == {"zero-5", *(f"zero-{number}" for number in on_k1_alone)}
        assert lost(run, "One") == {f"one-{number}" for number in on_k1_alone}
        assert lost(run, "All") == set()
        assert {role.acknowledged for role in run.world.roles(KafkaProducerNode)} == {100}


def test_acks_compared_loses_as_much_of_all_when_it_does_not_wait():
    with playing("acks-compared", ("All", "enable_idempotence", False), ("All", "acks", 1)) as run:
        to(run, 1_999)
        assert len(acknowledged(run, "All")) == 49
        end(run)
        assert lost(run, "All") == {f"all-{number}" for number in range(44, 50)}


def test_isr_shrinks_until_too_few_are_left_and_grows_again():
    with playing("isr-shrinks") as run:
        isrs = {}
        for time_ms in (1_900, 3_700, 3_800, 7_100, 11_900, 12_100, 15_700, 15_800, 18_100, 22_000):
            to(run, time_ms)
            isrs[time_ms] = replica(run, "K1").isr
        everybody = (1, 2, 3)
        assert list(isrs.values()) == [
            *(everybody, everybody, (1, 2), everybody),
            *(everybody, (1, 3), (1, 3), (1,), (1, 3), everybody),
        ]
        assert end(run) == set()
        times_ms = [one.time_us // 1_000 for one in run.world.history.sends_returned]
        pauses = [(one, after) for one, after in itertools.pairwise(times_ms) if after - one > 500]
        assert pauses == [(1_913, 3_766), (9_913, 12_012), (13_913, 18_049)]
        assert len(acknowledged(run, "Orders")) == 180


def test_isr_shrinks_waits_the_whole_pause_with_the_default():
    with playing("isr-shrinks", ("K1", "replica_lag_time_max_ms", 30_000)) as run:
        to(run, 6_990)
        assert len(acknowledged(run, "Orders")) == 10
        to(run, 7_500)
        assert len(acknowledged(run, "Orders")) > 60


def test_unclean_election_stands_still_until_the_only_replica_in_sync_is_back():
    with playing("unclean-election") as run:
        to(run, 11_900)
        assert (len(acknowledged(run, "Orders")), len(keys(run, "K2", "Orders"))) == (28, 5)
        assert (replica(run, "K2").leader, replica(run, "K3").leader) == (-1, -1)
        assert end(run) == set()
        assert len(keys(run, "K2", "Orders")) == 60


def test_unclean_election_goes_on_without_what_was_acknowledged():
    with playing("unclean-election", ("Q1", "unclean_leader_election_enable", True)) as run:
        to(run, 11_900)
        assert replica(run, "K2").leader == 2
        assert {SURVIVE, STAY} <= end(run)
        assert lost(run, "Orders") == {f"order-{number}" for number in range(5, 28)}


def test_unclean_election_loses_nothing_where_two_must_be_in_sync():
    settings = [(name, "min_insync_replicas", 2) for name in ("K1", "K2", "K3")]
    with playing("unclean-election", ("Q1", "unclean_leader_election_enable", True), *settings) as run:
        assert end(run) == set()
        assert lost(run, "Orders") == set()


@pytest.mark.parametrize("asks", [True, False])
def test_high_watermark_truncation_loses_acknowledged_orders_unless_the_follower_asks_where_the_logs_part(asks):
    with playing("high-watermark-truncation", ("K2", "leader_epochs", asks)) as run:
        to(run, 6_120)
        assert len(acknowledged(run, "Orders")) == 10
        assert replica(run, "K2").log.log_end_offset == (10 if asks else 8)
        to(run, 8_900)
        assert replica(run, "K2").is_leader
        assert end(run) == (set() if asks else {SURVIVE, STAY})
        assert lost(run, "Orders") == (set() if asks else {"order-8", "order-9"})
        assert keys(run, "K1", "Orders") == keys(run, "K2", "Orders"), "the old leader has cut its log, too"

"""One replica: what a leader knows of its followers, how far consumers may read, who keeps up, what is cut off."""

from __future__ import annotations

import pytest

from engine.kafka.records.error_code import KafkaErrorCode, KafkaRefusal
from engine.kafka.records.topic_partition import TopicPartition
from engine.kafka.replication.cluster_image import NO_LEADER, PartitionRecord
from engine.kafka.replication.replica import Replica
from engine.kafka.replication.replica_state import ReplicaState
from engine.kafka.replication.replication_config import ReplicationConfig
from engine.runtime.lab.lab_runtime import LabMachines
from engine.runtime.state_table import IllegalStateChange
from tests.support.kafka.partitions import batch_of, opened_log, records_of

PLACE = TopicPartition("Orders", 0)
LAG_MS = 1_000


@pytest.fixture
def make():
    """Replicas on brokers 1, 2, 3."""
    with LabMachines(seed=1) as world:

        def made(node: int, min_insync_replicas: int = 1) -> Replica:
            config = ReplicationConfig(min_insync_replicas, LAG_MS)
            replica = Replica(node, PLACE, opened_log(world.node(f"K{node}").disk), config)
            replica.log.high_watermark = 0
            return replica

        yield made


def decided(leader: int, epoch: int = 0, change: int = 0, isr: tuple[int, ...] = (1, 2, 3)) -> PartitionRecord:
    return PartitionRecord(*PLACE, leader, epoch, change, (1, 2, 3), isr)


def refused(action, *arguments) -> KafkaErrorCode:
    with pytest.raises(KafkaRefusal) as refusal:
        action(*arguments)
    return refusal.value.code


def test_the_high_watermark_is_the_least_end_among_the_in_sync_replicas(make):
    leader = make(1)
    leader.apply(decided(1), 0)
    leader.log.append(batch_of(4), 0)
    assert not leader.follower_fetched(2, 4, 10), "of the third nothing is known"
    assert leader.follower_fetched(3, 0, 10) is False
    assert leader.log.high_watermark == 0
    assert leader.follower_fetched(3, 3, 20)
    assert leader.log.high_watermark == 3
    assert leader.apply(decided(1, change=1, isr=(1, 2)), 30) is False, "the same leader in the same epoch"
    assert leader.log.high_watermark == 4, "who is not in sync is not waited for"


def test_a_replica_that_is_asked_for_is_waited_for_already(make):
    leader = make(1)
    leader.apply(decided(1, isr=(1, 2)), 0)
    leader.log.append(batch_of(4), 0)
    leader.follower_fetched(3, 2, 5)
    leader.asked_isr = (1, 2, 3)
    leader.follower_fetched(2, 4, 10)
    assert leader.log.high_watermark == 2


def test_below_the_least_number_in_sync_nothing_more_is_shown_to_consumers(make):
    leader = make(1, min_insync_replicas=2)
    leader.apply(decided(1, isr=(1,)), 0)
    leader.log.append(batch_of(4), 0)
    assert not leader.has_enough
    assert not leader.advance()
    leader.follower_fetched(2, 4, 10)
    leader.apply(decided(1, change=1, isr=(1, 2)), 20)
    assert leader.log.high_watermark == 4


def test_who_was_not_at_the_end_for_too_long_is_not_wanted_in_sync_and_joins_again_when_it_has_caught_up(make):
    leader = make(1)
    leader.apply(decided(1), 0)
    leader.log.append(batch_of(2), 0)
    leader.follower_fetched(2, 2, 400)
    leader.follower_fetched(3, 0, 400)
    assert leader.wanted_isr(LAG_MS) == (1, 2, 3)
    leader.log.append(batch_of(1, 2), 0)
    assert leader.wanted_isr(LAG_MS + 1) == (1, 2)
    assert leader.wanted_isr(400 + LAG_MS + 1) == (1,)
    leader.apply(decided(1, change=1, isr=(1,)), 2_000)
    leader.follower_fetched(3, 2, 2_100)
    assert leader.wanted_isr(2_100, 3) == (1,), "the high watermark is 3 by now"
    leader.follower_fetched(3, 3, 2_200)
    assert leader.wanted_isr(2_200, 3) == (1, 3)
    assert leader.wanted_isr(9_000) == (1,), "it must live: only who fetches just now may join"


def test_a_follower_that_always_comes_a_little_late_keeps_up(make):
    leader = make(1)
    leader.apply(decided(1), 0)
    for number in range(20):
        leader.log.append(batch_of(1, number), 0)
        for node in (2, 3):
            leader.follower_fetched(node, number, number * 500)
    assert leader.wanted_isr(19 * 500) == (1, 2, 3), "it had each time what was there the time before"


def test_only_a_leader_answers_and_only_in_its_epoch(make):
    replica = make(1)
    assert refused(replica.check_leads) is KafkaErrorCode.NOT_LEADER_OR_FOLLOWER
    replica.apply(decided(1, epoch=3), 0)
    replica.check_leads()
    replica.check_leads(3)
    assert refused(replica.check_leads, 2) is KafkaErrorCode.FENCED_LEADER_EPOCH
    assert refused(replica.check_leads, 4) is KafkaErrorCode.UNKNOWN_LEADER_EPOCH
    replica.apply(decided(2, epoch=4, change=1), 0)
    assert refused(replica.check_leads) is KafkaErrorCode.NOT_LEADER_OR_FOLLOWER


def test_what_was_decided_before_changes_nothing(make):
    replica = make(1)
    replica.apply(decided(2, epoch=2, change=5), 0)
    assert not replica.apply(decided(1, epoch=1, change=4), 0)
    assert (replica.leader, replica.state) == (2, ReplicaState.TRUNCATING)


def test_a_follower_compares_first_and_then_copies_byte_for_byte(make):
    leader, follower = make(1), make(2)
    leader.apply(decided(1, epoch=7), 0)
    leader.log.append(batch_of(3), 7)
    leader.log.append(batch_of(2, 3), 7)
    follower.apply(decided(1, epoch=7), 0)
    assert follower.state is ReplicaState.TRUNCATING
    follower.fetch_on()
    follower.copied(leader.log.read(0, 10_000).data, 3)
    assert follower.log.read(0, 10_000).data == leader.log.read(0, 10_000).data
    assert (follower.log.log_end_offset, follower.log.high_watermark) == (5, 3)
    assert follower.log.epochs.starts == [(7, 0)]
    again = leader.log.read(0, 10_000).data
    assert refused(follower.copied, again, 5) is KafkaErrorCode.OFFSET_OUT_OF_RANGE, "it has that already"


def test_a_log_is_cut_at_whole_batches_with_its_epochs_and_its_high_watermark(make):
    replica = make(2)
    for epoch, first in ((1, 0), (2, 3), (4, 6)):
        replica.log.append(batch_of(3, first), epoch)
    replica.log.high_watermark = 9
    assert replica.truncated_to(7) == 3, "the batch that reaches offset 7 goes as a whole"
    assert (replica.log.log_end_offset, replica.log.high_watermark) == (6, 6)
    assert replica.log.epochs.starts == [(1, 0), (2, 3)]
    assert len(records_of(replica.log)) == 6
    assert replica.truncated_to(6) == 0
    replica.log.append(batch_of(1, 6), 5)
    assert replica.log.epochs.end_of(4, replica.log.log_end_offset) == (2, 6)


def test_an_epoch_ends_where_the_next_one_begins(make):
    log = make(1).log
    assert log.epochs.end_of(0, 0) == (-1, -1), "nothing was appended"
    log.append(batch_of(3), 1)
    log.append(batch_of(3, 3), 4)
    assert [log.epochs.end_of(epoch, log.log_end_offset) for epoch in (0, 1, 2, 4, 5)] == [
        (-1, -1),
        (1, 3),
        (1, 3),
        (4, 6),
        (-1, -1),
    ]


def test_an_illegal_step_is_a_bug():
    with pytest.raises(IllegalStateChange, match="a replica is offline: fetching is not allowed"):
        ReplicaState.OFFLINE.go(ReplicaState.FETCHING)
    with pytest.raises(IllegalStateChange, match="allowed: leader, truncating, offline"):
        ReplicaState.LEADER.go(ReplicaState.FETCHING)
    assert ReplicaState.LEADER.go(ReplicaState.OFFLINE) is ReplicaState.OFFLINE


def test_where_nobody_leads_a_replica_is_offline(make):
    replica = make(1)
    replica.apply(decided(1), 0)
    replica.apply(decided(NO_LEADER, epoch=1, change=1), 0)
    assert (replica.state, replica.followers) == (ReplicaState.OFFLINE, {})

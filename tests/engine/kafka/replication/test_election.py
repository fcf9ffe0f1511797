"""Who leads next, and who counts as in sync."""

from __future__ import annotations

import pytest

from engine.kafka.replication.cluster_image import NO_LEADER, PartitionRecord
from engine.kafka.replication.election import elected

ALL = (1, 2, 3)


def record(leader: int = 1, isr: tuple[int, ...] = ALL) -> PartitionRecord:
    return PartitionRecord("Orders", 0, leader, 5, 9, ALL, isr)


def test_nothing_changes_while_leader_and_in_sync_replicas_live():
    assert elected(record(), ALL) is None
    assert elected(record(isr=(1, 2)), ALL) is None, "who has come back has to catch up first"


def test_the_first_in_sync_replica_that_lives_leads_next_in_a_new_epoch():
    after = elected(record(isr=(1, 3)), (2, 3))
    assert after == PartitionRecord("Orders", 0, 3, 6, 10, ALL, (3,))


def test_a_follower_that_is_gone_is_no_more_in_sync_and_the_epoch_stays():
    assert elected(record(), (1, 3)) == PartitionRecord("Orders", 0, 1, 5, 10, ALL, (1, 3))


def test_nobody_leads_where_no_in_sync_replica_lives_and_the_last_one_stays_in_sync():
    after = elected(record(isr=(1,)), (2, 3))
    assert after == PartitionRecord("Orders", 0, NO_LEADER, 6, 10, ALL, (1,))
    back = elected(after, ALL)
    assert back is not None
    assert (back.leader, back.leader_epoch, back.isr) == (1, 7, (1,))


def test_an_unclean_election_lets_any_replica_lead_and_alone_be_in_sync():
    after = elected(record(isr=(1,)), (2, 3), is_unclean=True)
    assert after is not None
    assert (after.leader, after.leader_epoch, after.isr) == (2, 6, (2,))
    clean = elected(record(isr=(1, 3)), (2, 3), is_unclean=True)
    assert clean is not None
    assert clean.leader == 3, "an in-sync replica comes first"


@pytest.mark.parametrize(("isr", "leader", "epoch"), [(ALL, 2, 6), ((1,), NO_LEADER, 6)])
def test_who_has_restarted_does_not_lead_on_but_is_in_sync_as_before(isr, leader, epoch):
    after = elected(record(isr=isr), (2, 3), restarted=1)
    assert after is not None
    assert (after.leader, after.leader_epoch, after.isr) == (leader, epoch, isr)

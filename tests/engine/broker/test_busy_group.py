"""A group of brokers on a busy machine: its leader stays, and one that goes says why. Virtual time."""

from __future__ import annotations

import pytest

from engine.client.callbacks.send_result import SendStatus
from tests.support.lab.broker_group import MEMBERS, BrokerGroup


def term_of(group):
    return group.leader.peer.core.term


@pytest.mark.parametrize("flush_ms", [900, 1_900])
def test_a_leader_stays_though_every_flush_takes_longer_than_an_election_timeout(flush_ms):
    with BrokerGroup(slave_timeout_ms=20_000) as group:
        leader, term = group.leader, term_of(group)
        for storage in group.world.storages.values():
            storage.flush_us = flush_ms * 1_000
        for number in range(20):
            group.send(f"message-{number}")
        assert (group.leader, term_of(group)) == (leader, term)
        for storage in group.world.storages.values():
            storage.flush_us = 1_000
        group.world.run_for(20_000)
        assert group.send("last") is SendStatus.SEND_OK
        group.wait_until_same()
        assert term_of(group) == term


def test_a_leader_whose_disk_does_not_answer_any_more_is_replaced():
    with BrokerGroup() as group:
        group.send_until_acknowledged("before")
        old = group.leader
        group.world.storages[old.group.name].flush_us = 3_600_000_000
        group.send("in vain")
        group.world.run_until(lambda: any(leader is not old for leader in group.leaders), limit_ms=15_000)
        group.send_until_acknowledged("after")


def test_a_group_that_stood_still_as_a_whole_keeps_its_leader():
    with BrokerGroup() as group:
        group.send_until_acknowledged("before")
        leader, term = group.leader, term_of(group)
        for _ in range(5):
            for name in MEMBERS:
                group.world.pause(name)
            group.world.run_for(5_000)
            for name in MEMBERS:
                group.world.resume(name)
            group.world.run_for(2_000)
        assert (group.leader, term_of(group)) == (leader, term)
        group.send_until_acknowledged("after")


def test_longer_timers_bear_longer_silence():
    times = {"group_election_timeout_min_ms": 8_000, "group_election_timeout_max_ms": 9_000}
    with BrokerGroup(**times) as group:
        leader, term = group.leader, term_of(group)
        fault = group.cut_off(leader.group.name)
        group.world.run_for(7_000)
        group.world.network.faults.remove(fault)
        group.world.run_for(10_000)
        assert (group.leader, term_of(group)) == (leader, term)


def test_a_leader_that_steps_down_says_why_and_calls_it_no_crash(caplog):
    with BrokerGroup() as group:
        group.send_until_acknowledged("before")
        old = group.leader
        fault = group.cut_off(old.group.name)
        caplog.clear()
        group.world.run_until(lambda: old not in group.leaders)
        group.world.run_for(2_000)
        group.world.network.faults.remove(fault)
        group.send_until_acknowledged("after")
        raft = [record.message for record in caplog.records if record.name == "glassmq.raft"]
        why = [message for message in raft if "no longer leads" in message]
        assert len(why) == 1
        assert "it has lost contact with a majority: it last heard" in why[0]
        assert "did not shut down" not in caplog.text

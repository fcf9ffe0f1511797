"""Brokers whose log counts by majority: whole brokers and clients in virtual time."""

from __future__ import annotations

import copy
import random
from functools import partial

import pytest

from engine.broker.group_member import STATE_CHANGES, GroupMember, MemberEvent, MemberStanding, MemberState
from engine.client.callbacks.send_result import SendStatus
from engine.protocol.message.message import Message
from engine.replication.majority.errors import NotOfThisGroup
from engine.replication.majority.shared_tables import FollowedTables
from engine.replication.raft.raft_log import EntryKind
from tests.support.lab.broker_group import MEMBERS, BrokerGroup
from tests.support.lab.lab_cluster import LAB_STORE
from tests.support.lab.runtime_handlers import CollectingHandler, frame_of


def bodies(first, count):
    return [f"order-{number}" for number in range(first, first + count)]


def test_what_is_acknowledged_lies_in_every_members_log_byte_by_byte():
    with BrokerGroup() as group:
        for body in bodies(0, 40):
            assert group.send(body * 50) is SendStatus.SEND_OK
        group.wait_until_same()
        assert all(body.encode() in log for log in group.logs() for body in group.acknowledged)
        assert len(group.leader.broker.store.commit_log.files.files) >= 2


@pytest.mark.parametrize("keeps_page_cache", [True, False])
def test_the_next_leader_serves_all_that_the_dead_one_acknowledged(keeps_page_cache):
    with BrokerGroup() as group:
        group.start_consumer()
        group.send_until_acknowledged(*bodies(0, 10))
        first = group.leader.group.name
        group.crash(first, keep_page_cache=keeps_page_cache)
        group.send_until_acknowledged(*bodies(10, 10))
        assert group.leader.group.name != first
        group.world.run_until(lambda: set(bodies(0, 20)) <= set(group.consumed))
        group.restart_member(first)
        group.wait_until_same()


@pytest.mark.parametrize("seed", range(1, 4))
def test_a_group_serves_again_four_seconds_after_its_leaders_end(seed):
    with BrokerGroup(seed) as group:
        group.send_until_acknowledged("before")
        began_us = group.world.loop.now_us
        group.crash(group.leader.group.name)
        group.send_until_acknowledged("after")
        assert group.world.loop.now_us - began_us < 4_000_000


def test_nobody_sees_what_a_cut_off_leader_appends_and_it_is_given_up():
    with BrokerGroup() as group:
        group.start_consumer()
        group.send_until_acknowledged("before")
        old = group.leader
        group.world.run_until(lambda: group.consumed == ["before"])
        fault = group.cut_off(old.group.name)
        assert group.send("in vain") is not SendStatus.SEND_OK
        assert b"in vain" in b"".join(group.logs())
        group.world.run_until(lambda: group.leaders and old not in group.leaders)
        group.send_until_acknowledged("after")
        group.world.network.faults.remove(fault)
        group.wait_until_same()
        assert old.state is MemberState.FOLLOWS
        assert not any(b"in vain" in log for log in group.logs())
        group.world.run_until(lambda: "after" in group.consumed)
        assert "in vain" not in group.consumed


def test_without_a_majority_nothing_is_acknowledged_and_with_one_it_goes_on():
    with BrokerGroup() as group:
        group.send_until_acknowledged("before")
        leader = group.leader.group.name
        others = [name for name in MEMBERS if name != leader]
        for name in others:
            group.crash(name)
        assert group.send("alone") is not SendStatus.SEND_OK
        group.world.run_until(lambda: not group.leaders)
        assert group.send("nobody leads") is None
        group.restart_member(others[0])
        group.send_until_acknowledged("after")


def test_topics_and_offsets_outlive_their_leader():
    with BrokerGroup() as group:
        consumer = group.start_consumer()
        group.send_until_acknowledged(*bodies(0, 10))
        group.world.run_until(lambda: len(group.consumed) == 10)
        group.stop(consumer)
        group.world.run_for(6_000)
        first = group.leader
        group.crash(first.group.name)
        group.world.run_until(lambda: group.leaders)
        tables = group.leader.broker
        assert "T" in tables.topic_config_manager.topic_config_table
        offsets = [tables.consumer_offset_manager.query_offset("consumers", "T", queue) for queue in range(4)]
        assert sum(offset for offset in offsets if offset > 0) == 10


def test_all_that_was_acknowledged_outlives_a_power_cut_of_all_machines():
    with BrokerGroup() as group:
        group.send_until_acknowledged(*bodies(0, 25))
        for name in MEMBERS:
            group.crash(name, keep_page_cache=False)
        for name in MEMBERS:
            group.restart_member(name)
        group.start_consumer()
        group.world.run_until(lambda: set(group.acknowledged) <= set(group.consumed))


def test_a_message_with_properties_of_zeros_outlives_the_killed_processes_of_all_members():
    with BrokerGroup() as group:
        zeros = Message("T", b"zeros", properties={"ORDER": "order-7" + "\0" * 1_017})
        assert group.run(group.sender, group.sender.send(zeros)).status is SendStatus.SEND_OK
        group.wait_until_same()
        group.world.run_for(15_000)
        for name in MEMBERS:
            group.crash(name)
        for name in MEMBERS:
            group.restart_member(name)
        group.wait_until_same()
        group.start_consumer()
        group.world.run_until(lambda: "zeros" in group.consumed)


def test_who_goes_in_order_gives_no_message_up_and_comes_back_quickly():
    with BrokerGroup() as group:
        group.send_until_acknowledged(*bodies(0, 5))
        leader = group.leader
        name = leader.group.name
        group.world.run(leader.shutdown(), node=name)
        assert leader.state is MemberState.RESTS
        group.crash(name)
        member = group.restart_member(name)
        assert member.peer.core.log.last_index > 0
        group.send_until_acknowledged(*bodies(5, 5))
        group.wait_until_same()


def test_who_was_away_for_long_gets_what_others_keep_on_their_disks_only():
    with BrokerGroup() as group:
        away = next(name for name in MEMBERS if name != group.leader.group.name)
        group.crash(away)
        group.send_until_acknowledged(*bodies(0, 30))
        group.world.run_for(3_000)
        log = group.leader.peer.core.log
        assert log.released_index > 10
        assert not any(entry.data for entry in log.entries[: log.released_index] if entry.kind is EntryKind.DATA)
        group.restart_member(away)
        group.wait_until_same()
        # What was applied before is neither read nor applied again.
        log = group.restart(away).peer.core.log
        assert log.released_index > 10
        group.wait_until_same()


def other_members(group):
    return [name for name in MEMBERS if name != group.leader.group.name]


def flip(content, place):
    content.corrupt(place, content.read(place, 1)[0] ^ 1)


def empty(group, name):
    for path in sorted(group.world.storages[name].files):
        group.world.storages[name].discard(path)


def lose_end_of_log(group, name):
    files = group.world.storages[name].files
    flip(files["raft/log"], files["raft/log"].size_bytes - 20)


def lose_beginning_of_log(group, name):
    flip(group.world.storages[name].files["raft/log"], 100)


def lose_state(group, name):
    group.world.storages[name].discard("raft/state")


LOSSES = (empty, lose_end_of_log, lose_beginning_of_log, lose_state)


@pytest.mark.parametrize("lose", LOSSES)
@pytest.mark.parametrize("seed", range(1, 4))
def test_who_has_lost_what_it_acknowledged_does_not_help_to_lose_it(seed, lose):
    """A and B acknowledge what C, which is cut off, lacks; both end, and B comes back without what it had."""
    with BrokerGroup(seed) as group:
        group.send_until_acknowledged(*bodies(0, 5))
        a = group.leader.group.name
        b, c = other_members(group)
        group.cut_off(c)
        group.send_until_acknowledged(*bodies(5, 20))
        for name in (a, b):
            group.crash(name)
        lose(group, b)
        group.world.network.faults.clear()
        joins = group.restart_member(b)
        group.world.run_for(20_000)
        assert not group.leaders
        assert joins.standing is MemberStanding.JOINING
        assert joins.why["en"]
        group.restart_member(a)
        group.wait_until_same()
        assert all(body.encode() in group.logs()[0] for body in group.acknowledged)
        group.world.run_until(lambda: joins.standing is MemberStanding.FOLLOWER)
        # It is a member again, with a vote: the group does without another one.
        group.crash(c)
        group.send_until_acknowledged(*bodies(25, 5))


@pytest.mark.parametrize("lose", LOSSES)
def test_a_member_that_lost_something_comes_back_while_the_others_serve(lose):
    with BrokerGroup() as group:
        group.send_until_acknowledged(*bodies(0, 20))
        group.world.run_for(3_000)
        name = other_members(group)[0]
        group.crash(name)
        lose(group, name)
        term = group.leader.peer.core.term
        member = group.restart_member(name)
        group.wait_until_same()
        group.world.run_until(lambda: member.standing is MemberStanding.FOLLOWER)
        assert group.leader.peer.core.term == term
        assert not member.why


def test_a_new_group_waits_for_its_last_member_and_begins_with_it():
    with BrokerGroup() as group:
        for name in MEMBERS:
            group.crash(name)
            empty(group, name)
        for name in MEMBERS[:2]:
            group.restart_member(name)
        group.world.run_for(20_000)
        assert [group.members[name].standing for name in MEMBERS[:2]] == [MemberStanding.JOINING] * 2
        group.restart_member(MEMBERS[2])
        group.send_until_acknowledged("first")


def test_a_member_whose_log_is_another_groups_stops_and_says_so():
    """Two machines have lost their disks, and somebody has copied the folder of a third, which lacked the newest, to
    them: what the one that kept its disk has committed does not give way."""
    with BrokerGroup() as group:
        group.send_until_acknowledged(*bodies(0, 5))
        a = group.leader.group.name
        b, c = other_members(group)
        group.cut_off(c)
        group.send_until_acknowledged(*bodies(5, 5))
        group.world.run_for(3_000)
        for name in MEMBERS:
            group.crash(name)
        group.world.network.faults.clear()
        empty(group, b)
        for path, content in group.world.storages[c].files.items():
            group.world.storages[b].add(path, copy.deepcopy(content))
        for name in (b, c):
            group.restart_member(name)
        group.send_until_acknowledged("another story")
        before = group.world.storages[a].files["raft/log"].size_bytes
        stopped = group.restart_member(a)
        group.world.run_until(lambda: stopped.failure)
        assert "is committed here" in stopped.failure
        assert stopped.standing is MemberStanding.STOPPED
        group.world.run_for(30_000)
        assert stopped.standing is MemberStanding.STOPPED, "it does not try again"
        assert group.world.storages[a].files["raft/log"].size_bytes == before


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"garbage",
        b"\xff\xfe",
        b"null",
        b"[]",
        b"{}",
        b'{"index": 3}',
        b'{"index": "3", "log_end_offset": 0, "settled_offset": 0}',
        b'{"index": -3, "log_end_offset": 0, "settled_offset": 0}',
        b'{"index": true, "log_end_offset": 0, "settled_offset": 0}',
        b'{"index": 3, "log_end_offset": 0, "settled_offset": 0, "more": 1}',
        b'{"index": 9, "log_end_offset": 9, "settled_offset": 9, "checksum": 1}',
    ],
)
def test_a_member_with_a_damaged_mark_rebuilds_its_commit_log(content):
    with BrokerGroup() as group:
        group.send_until_acknowledged(*bodies(0, 20))
        group.world.run_for(3_000)
        name = other_members(group)[0]
        group.crash(name)
        mark = group.world.storages[name].files["raft/applied"]
        mark.truncate(0)
        mark.write(0, memoryview(content))
        mark.size_bytes = len(content)
        group.restart_member(name)
        group.send_until_acknowledged(*bodies(20, 5))
        group.wait_until_same()


def test_a_leader_whose_disk_fails_leaves_the_group_and_another_goes_on():
    with BrokerGroup() as group:
        group.send_until_acknowledged("before")
        first = group.leader
        group.world.storages[first.group.name].flush_error = "the disk is broken"
        group.send_until_acknowledged("after")
        assert "the disk is broken" in first.failure
        assert first.state is MemberState.RESTS
        assert group.leader is not first


def test_a_member_whose_disk_was_full_comes_back_by_itself():
    with BrokerGroup() as group:
        name = other_members(group)[0]
        storage, member = group.world.storages[name], group.members[name]
        storage.occupied_bytes = storage.capacity_bytes - storage.used_bytes
        group.send_until_acknowledged(*bodies(0, 30))
        group.world.run_until(lambda: "the disk is full" in member.failure)
        assert member.standing is MemberStanding.STOPPED
        assert "the disk is full" in member.why["zh"]
        group.world.run_for(20_000)
        assert member.standing is MemberStanding.STOPPED
        storage.occupied_bytes = 0
        group.world.run_until(lambda: member.standing is MemberStanding.FOLLOWER)
        group.send_until_acknowledged(*bodies(30, 5))
        group.wait_until_same()
        assert member.failure == ""


def test_a_member_that_cannot_go_on_for_whatever_reason_leaves_and_says_so(monkeypatch):
    with BrokerGroup() as group:
        first = group.leader
        broken, other = other_members(group)
        disk = group.world.node(broken).disk
        keep = FollowedTables.keep

        async def keep_or_fail(tables, entry):
            if tables._disk is disk:
                raise ZeroDivisionError("a mistake of ours")
            await keep(tables, entry)

        monkeypatch.setattr(FollowedTables, "keep", keep_or_fail)
        group.send_until_acknowledged("to a topic that is made by it")
        group.world.run_until(lambda: group.members[broken].state is MemberState.RESTS)
        assert "a mistake of ours" in group.members[broken].failure
        assert group.members[broken].standing is MemberStanding.STOPPED
        # It votes for nobody, and acknowledges nothing that it cannot apply.
        group.crash(first.group.name)
        group.world.run_for(10_000)
        assert not group.leaders
        group.restart_member(first.group.name)
        group.send_until_acknowledged("after")
        assert group.leader.group.name in (first.group.name, other)


def test_a_stranger_at_the_groups_door_is_sent_away_and_harms_nobody():
    with BrokerGroup() as group:
        runtime = group.world.node("stranger")
        host, port = group.leader.group.own_address
        for frame in (b"", b"hello, I am n1", bytes(200)):
            door = CollectingHandler()
            group.world.run(runtime.network.connect(f"{host}:{port}", door, 500), node="stranger")
            door.connection.send_frame(frame_of(frame))
            group.world.run_until(partial(len, door.lost_reasons))
        group.send_until_acknowledged("nothing happened")


def test_a_folder_with_messages_of_a_broker_alone_is_refused():
    with BrokerGroup() as group:
        group.start_broker("alone")
        runtime = group.world.node("alone")
        group.world.run(group.brokers["alone"].shutdown(), node="alone")
        group.world.storages["alone"].add("commitlog/00000000000000000000", _some_file(group))
        member = GroupMember(runtime, group.members["n0"].group, group.brokers["alone"].config, LAB_STORE)
        with pytest.raises(NotOfThisGroup, match="begin with an empty one"):
            group.world.run(member.start(), node="alone")


def _some_file(group):
    return group.world.storages["n0"].files["raft/state"]


def test_a_state_that_cannot_follow_is_in_no_row_of_the_table():
    assert (MemberState.FOLLOWS, MemberEvent.LEAD) not in STATE_CHANGES
    assert (MemberState.LEADS, MemberEvent.FOLLOW) not in STATE_CHANGES


@pytest.mark.parametrize("seed", range(3))
def test_random_crashes_and_partitions_lose_nothing_that_was_acknowledged(seed):
    survives(seed)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3, 60))
def test_many_random_crashes_and_partitions_lose_nothing_that_was_acknowledged(seed):
    survives(seed)


def survives(seed):
    chance = random.Random(seed)
    with BrokerGroup(seed) as group:
        group.start_consumer()
        for number in range(30):
            if chance.random() < 0.2:
                break_something(group, chance)
            group.send(f"message-{number}.")
            group.world.run_for(chance.randrange(500))
        mend(group)
        group.wait_until_same()
        log = group.logs()[0]
        assert [body for body in group.acknowledged if body.encode() not in log] == []
        group.world.run_until(lambda: set(group.acknowledged) <= set(group.consumed), limit_ms=300_000)


def break_something(group, chance):
    """One fault at a time: what was broken before is mended first."""
    mend(group)
    name = chance.choice(MEMBERS)
    if chance.random() < 0.4:
        group.cut_off(name)
    else:
        group.crash(name, keep_page_cache=chance.random() < 0.5)


def mend(group):
    group.world.network.faults.clear()
    for name in sorted(group.down):
        group.restart_member(name)

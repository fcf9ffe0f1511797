"""A leader on a busy machine keeps its office, and one that loses it says why: the core alone."""

from __future__ import annotations

from engine.replication.raft.raft_messages import AppendAnswer, RequestVote
from engine.replication.raft.raft_role import RaftRole
from engine.replication.raft.raft_rules import RaftConfig
from tests.support.raft.groups import Group

TIMES = RaftConfig()


def stand_still(group, name, ms):
    """Stall the process of ``name`` for this long, then let its timer run."""
    group.now_ms += ms
    group.cores[name].tick(group.now_ms, ms - TIMES.heartbeat_ms)
    group.collect(name)


def test_a_leader_that_stood_still_does_not_count_that_as_the_others_silence():
    group = Group("A", "B", "C")
    leader = group.elect("A")
    group.heartbeat("A")
    stand_still(group, "A", 10 * TIMES.election_timeout_max_ms)
    assert leader.role is RaftRole.LEADER
    group.deliver()
    group.heartbeat("A")
    assert (leader.role, leader.term) == (RaftRole.LEADER, 1)


def test_a_leader_that_hears_nobody_steps_down_and_says_who_is_silent():
    group = Group("A", "B", "C")
    leader = group.elect("A")
    group.heartbeat("A")
    for _ in range(TIMES.election_timeout_max_ms // TIMES.heartbeat_ms):
        assert leader.role is RaftRole.LEADER
        group.heartbeat("A", "B", "C")
    assert leader.role is RaftRole.FOLLOWER
    assert leader.why_not_leading == (
        "it has lost contact with a majority: it last heard B 300 ms ago, C 300 ms ago, "
        "and was itself paused for 0 ms of that; "
        "allowed: 300 ms"
    )


def test_a_leader_that_is_cut_off_steps_down_though_it_stands_still_again_and_again():
    group = Group("A", "B", "C")
    leader = group.elect("A")
    group.wire.clear()
    turns = 0
    while leader.role is RaftRole.LEADER:
        stand_still(group, "A", 4 * TIMES.heartbeat_ms)
        group.wire.clear()
        turns += 1
    assert turns <= 2 + TIMES.election_timeout_max_ms // TIMES.heartbeat_ms
    assert "was itself paused for" in leader.why_not_leading


def test_whoever_is_in_a_later_term_is_named():
    group = Group("A", "B", "C")
    leader = group.elect("A")
    leader.receive(RequestVote("C", 7, 99, 6, 0), group.now_ms)
    assert leader.why_not_leading == "C is in term 7"


def test_a_follower_that_stood_still_reads_first_and_then_stands_for_election():
    group = Group("A", "B", "C")
    group.elect("A")
    group.heartbeat("A")
    follower = group.cores["B"]
    stand_still(group, "B", 10 * TIMES.election_timeout_max_ms)
    assert (follower.role, group.wire) == (RaftRole.FOLLOWER, [])
    assert follower.due_ms == group.now_ms + TIMES.heartbeat_ms
    stand_still(group, "B", 10 * TIMES.election_timeout_max_ms)
    assert follower.role is RaftRole.PRE_CANDIDATE


def test_a_sign_of_life_is_answered_and_commits_nothing_that_the_follower_was_not_known_to_have():
    group = Group("A", "B", "C")
    leader = group.elect("A")
    group.propose("A", b"x", "C")
    sign, alive = leader.sign_of_life("C"), AppendAnswer("C", leader.term, 1, 0)
    follower, before = group.cores["C"], leader.followers["C"].match_index
    follower.receive(sign, group.now_ms)
    assert follower.log.commit_index <= before
    assert follower.leader == "A"
    leader.receive(alive, group.now_ms + 40)
    assert leader.followers["C"].match_index == before
    assert leader.followers["C"].heard_ms == group.now_ms + 40

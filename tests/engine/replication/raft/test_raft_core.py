"""A group elects, copies, commits, and survives: the core alone, with messages in the test's hands."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.replication.raft.errors import IllegalRoleChange, NotLeader, ProposalRefused
from engine.replication.raft.raft_core import RaftCore
from engine.replication.raft.raft_log import EntryKind
from engine.replication.raft.raft_messages import AppendAnswer, AppendEntries, VoteAnswer, VoteVerdict
from engine.replication.raft.raft_role import RaftRole, RoleEvent, next_role
from engine.replication.raft.raft_rules import RaftConfig, RaftRules
from tests.support.raft.groups import Group

NO_PRE_VOTE = RaftRules(pre_vote=False)


def test_whoever_wakes_first_is_elected_and_the_others_follow():
    group = Group("A", "B", "C")
    leader = group.elect("B")
    assert leader.term == 1
    assert [core.leader for core in group.cores.values()] == ["B"] * 3
    assert [core.role for core in group.cores.values()].count(RaftRole.FOLLOWER) == 2


def test_a_group_of_one_needs_nobody():
    group = Group("A")
    group.elect("A")
    group.propose("A", b"x")
    assert [entry.data for entry in group.applied["A"]] == [b"", b"x"]


def test_a_proposal_is_committed_by_a_majority_and_applied_by_all_in_order():
    group = Group("A", "B", "C")
    group.elect("A")
    for data in (b"x", b"y"):
        group.propose("A", data)
    assert [entry.data for entry in group.applied["A"]] == [b"", b"x", b"y"]
    group.heartbeat("A")
    assert group.applied["B"] == group.applied["C"] == group.applied["A"]


def test_nothing_is_committed_without_a_majority():
    group = Group("A", "B", "C")
    group.elect("A")
    group.propose("A", b"x", "B", "C")
    assert b"x" not in [entry.data for entry in group.applied["A"]]


def test_a_log_that_lacks_a_committed_entry_gets_no_vote_and_learns_why():
    group = Group("A", "B", "C")
    group.elect("A")
    group.propose("A", b"x", "C")
    group.tick("C")
    group.deliver("A")
    assert group.cores["C"].answers["B"] is VoteVerdict.LOG_BEHIND
    assert group.elect("B", "A").leader == "B"


def test_without_the_check_of_the_log_a_committed_entry_is_lost():
    group = Group("A", "B", "C", rules=RaftRules(checks_log_is_up_to_date=False))
    group.elect("A")
    group.propose("A", b"x", "C")
    assert group.applied["A"][-1].data == b"x"
    group.elect("C", "A")
    group.heartbeat("C", "A")
    assert b"x" not in group.data("B")


def test_a_vote_is_given_once_per_term_also_after_a_restart():
    group = Group("A", "B", "C", rules=NO_PRE_VOTE)
    group.tick("A")
    group.tick("B", 0)
    to_c = [number for number, (_, target, _) in enumerate(group.wire) if target == "C"]
    group.deliver_one(to_c[0])
    group.restart("C")
    group.deliver_one(to_c[1] - 1)
    verdicts = [message.verdict for _, _, message in group.wire if isinstance(message, VoteAnswer)]
    assert verdicts == [VoteVerdict.GRANTED, VoteVerdict.VOTED_FOR_ANOTHER]


def test_a_deposed_leaders_tail_gives_way_and_its_term_ends():
    group = Group("A", "B", "C")
    group.elect("A")
    group.propose("A", b"kept")
    group.propose("A", b"lost", "B", "C")
    group.elect("B", "A")
    group.propose("B", b"new", "A")
    group.heartbeat("B")
    assert group.cores["A"].role is RaftRole.FOLLOWER
    assert group.data("A") == group.data("B") == [b"kept", b"new"]


@pytest.mark.parametrize("own_term_only", [True, False])
def test_an_entry_of_an_older_term_is_committed_only_with_one_of_the_leaders_own(own_term_only):
    """Paper, figure 8."""
    group = Group("A", "B", "C", rules=RaftRules(commits_only_own_term=own_term_only))
    group.elect("A")
    group.propose("A", b"old", "B", "C")
    group.restart("A")
    leader = group.elect("A", "C")
    assert [entry.term for entry in group.applied["A"]] == [1, 1, 2]
    group.restart("A")
    group.tick("A")
    leader = group.cores["A"]
    while leader.role is not RaftRole.LEADER:
        group.deliver_one(0)
    leader.receive(AppendAnswer("B", 3, 1, 2), group.now_ms)
    assert leader.log.commit_index == (0 if own_term_only else 2)


def test_a_leader_that_hears_no_majority_steps_down():
    group = Group("A", "B", "C")
    group.elect("A")
    group.tick("A", 400)
    assert group.cores["A"].role is RaftRole.FOLLOWER


def test_pre_vote_leaves_a_working_group_alone():
    group = Group("A", "B", "C")
    group.elect("A")
    group.heartbeat("A")
    group.tick("C", 50)
    group.deliver()
    assert group.cores["A"].role is RaftRole.LEADER
    assert group.cores["C"].term == 1
    assert group.cores["C"].answers["B"] is VoteVerdict.HEARS_LEADER


def test_without_pre_vote_one_that_was_cut_off_deposes_the_leader():
    group = Group("A", "B", "C", rules=NO_PRE_VOTE)
    group.elect("A")
    group.heartbeat("A")
    group.tick("C", 50)
    group.deliver()
    assert group.cores["A"].term == 2


def test_a_follower_that_was_away_gets_all_it_lacks():
    group = Group("A", "B", "C")
    group.elect("A", "C")
    for number in range(300):
        group.propose("A", b"%d" % number, "C")
    for _ in range(3):
        group.heartbeat("A")
    assert group.data("C") == [b"%d" % number for number in range(300)]
    assert group.applied["C"] == group.applied["A"]


def test_a_follower_that_lost_its_disk_gets_everything_again_from_the_same_leader():
    group = Group("A", "B", "C")
    leader = group.elect("A")
    for number in range(30):
        group.propose("A", b"%d" % number)
    group.cores["C"] = RaftCore("C", group.voters, group.rules, RaftConfig(), random.Random("C"), group.now_ms)
    group.heartbeat("A")
    assert group.data("C") == group.data("A")
    assert leader.followers["C"].match_index == leader.log.last_index


def test_a_member_joins_and_another_leaves():
    group = Group("A", "B", "C", "D", voters=("A", "B", "C"))
    leader = group.elect("A")
    leader.change_membership(("A", "B", "C", "D"))
    group.collect("A")
    group.deliver()
    group.heartbeat("A")
    assert group.cores["D"].voters == ("A", "B", "C", "D")
    assert group.applied["D"] == group.applied["A"]
    leader.change_membership(("B", "C", "D"))
    group.collect("A")
    group.deliver()
    assert leader.role is RaftRole.FOLLOWER, "it has managed its own removal"
    assert group.elect("B").voters == ("B", "C", "D")
    group.tick("A")
    assert group.cores["A"].role is RaftRole.FOLLOWER, "who is no voter stands for nothing"


def test_a_membership_that_gives_way_counts_no_more():
    group = Group("A", "B", "C", "D", voters=("A", "B", "C"))
    group.elect("A").change_membership(("A", "B", "C", "D"))
    group.collect("A")
    group.wire.clear()
    assert "D" in group.cores["A"].voters
    group.elect("B", "A", "D")
    group.heartbeat("B")
    assert group.cores["A"].voters == ("A", "B", "C")


def test_what_cannot_be_proposed_is_refused_with_the_reason():
    group = Group("A", "B", "C")
    leader = group.elect("A")
    with pytest.raises(NotLeader) as refusal:
        group.cores["B"].propose(b"x")
    assert refusal.value.leader == "A"
    for voters in (("A",), ("A", "B", "C"), ("A", "B", "C", "D", "E"), ("A", "B", "C", "C")):
        with pytest.raises(ProposalRefused, match="one voter"):
            leader.change_membership(voters)
    leader.change_membership(("A", "B"))
    with pytest.raises(ProposalRefused, match="not committed"):
        leader.change_membership(("A",))
    with pytest.raises(ProposalRefused, match="bytes"):
        leader.propose(bytes(RaftConfig().entry_max_bytes + 1))
    for _ in range(leader.log.commit_index + RaftConfig().uncommitted_max - leader.log.last_index):
        leader.propose(b"")
    with pytest.raises(ProposalRefused, match="wait for a majority"):
        leader.propose(b"")


def test_a_change_of_role_that_is_not_in_the_table_raises():
    with pytest.raises(IllegalRoleChange, match="allowed: ask first, stand, step down"):
        next_role(RaftRole.FOLLOWER, RoleEvent.WIN)


def test_an_answer_about_the_future_does_no_harm():
    group = Group("A", "B", "C")
    leader = group.elect("A")
    leader.receive(AppendAnswer("B", 1, 1, 1 << 60), group.now_ms)
    leader.receive(AppendAnswer("B", 1, 0, 1 << 60), group.now_ms)
    assert leader.followers["B"].match_index <= leader.log.last_index
    group.cores["B"].receive(AppendEntries("A", 1, 1 << 60, 1, 1 << 60), group.now_ms)
    assert group.cores["B"].log.commit_index <= 1


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_whatever_is_lost_doubled_or_late_no_two_peers_apply_different_entries(data):
    group = Group("A", "B", "C")
    names = list(group.cores)
    applied: dict[int, tuple[int, EntryKind, bytes]] = {}
    leaders: dict[int, str] = {}
    for number in range(data.draw(st.integers(20, 120))):
        action = data.draw(
            st.sampled_from(["tick", "deliver", "deliver", "deliver", "lose", "double", "propose", "restart"])
        )
        name = data.draw(st.sampled_from(names))
        core = group.cores[name]
        if action == "tick":
            group.tick(name, data.draw(st.sampled_from([10, 60, 400])))
        elif action == "restart":
            group.restart(name)
        elif action == "propose" and core.role is RaftRole.LEADER:
            core.propose(b"%d" % number)
            group.collect(name)
        elif group.wire:
            place = data.draw(st.integers(0, len(group.wire) - 1))
            if action == "deliver":
                group.deliver_one(place)
            elif action == "double":
                group.wire.append(group.wire[place])
            elif action == "lose":
                group.wire.pop(place)
        for other in group.cores.values():
            if other.role is RaftRole.LEADER:
                assert leaders.setdefault(other.term, other.name) == other.name
            for entry in group.applied[other.name]:
                what = (entry.term, entry.kind, entry.data)
                assert applied.setdefault(entry.index, what) == what

"""A member that has lost its state does not count before it can have forgotten nothing that matters."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.replication.raft.errors import CommittedEntryConflict, ProposalRefused
from engine.replication.raft.hard_state import HardState, JoinReason
from engine.replication.raft.raft_core import RaftCore
from engine.replication.raft.raft_log import EntryKind, RaftEntry
from engine.replication.raft.raft_messages import Admission, AppendEntries, JoiningAnswer
from engine.replication.raft.raft_role import RaftRole
from tests.support.raft.groups import Group


def group_with_a_wiped_member() -> Group:
    """A and B have committed what C lacks; then B has lost its disk, and A is away."""
    group = Group("A", "B", "C")
    group.elect("A", "C")
    group.propose("A", b"acknowledged", "C")
    assert group.data("A") == group.data("B") == [b"acknowledged"]
    group.wipe("B")
    return group


def new_group(*names: str) -> Group:
    group = Group(*names)
    for name in names:
        group.wipe(name)
    return group


def test_who_has_forgotten_what_it_acknowledged_elects_nobody_who_lacks_it():
    group = group_with_a_wiped_member()
    for _ in range(5):
        for name in ("C", "B"):
            group.tick(name)
            group.deliver("A")
    assert group.cores["C"].role is not RaftRole.LEADER
    assert group.cores["B"].role is RaftRole.JOINING


def test_a_joining_member_does_not_stand_and_its_log_counts_for_no_majority():
    group = group_with_a_wiped_member()
    group.tick("A", 50)
    group.deliver("C")
    group.propose("A", b"in vain", "C")
    assert group.data("B") == [b"acknowledged", b"in vain"]
    assert group.cores["A"].log.commit_index == 2
    assert group.cores["B"].role is RaftRole.JOINING


def test_a_leader_that_hears_joining_members_only_steps_down():
    group = group_with_a_wiped_member()
    for _ in range(10):
        group.tick("A", 50)
        group.deliver("C")
    assert group.cores["A"].role is not RaftRole.LEADER


def test_a_wiped_member_is_one_again_with_an_entry_that_a_majority_has_without_it():
    group = group_with_a_wiped_member()
    group.heartbeat("A")
    group.heartbeat("A")
    core = group.cores["B"]
    assert core.role is RaftRole.FOLLOWER
    assert core.hard_state == HardState(1, "A"), "its vote of this term is given"
    assert group.data("B") == [b"acknowledged"]
    group.restart("B")
    assert group.cores["B"].role is RaftRole.FOLLOWER, "it stays one"
    group.propose("A", b"with B", "C")
    assert group.applied["A"][-1].data == b"with B"


def test_a_late_admission_admits_nobody_that_was_wiped_again():
    group = group_with_a_wiped_member()
    late = Admission("A", 1, group.cores["B"].hard_state.joining)
    group.wipe("B")
    group.cores["B"].receive(AppendEntries("A", 1, 0, 0, 0), group.now_ms)
    group.cores["B"].receive(late, group.now_ms)
    assert group.cores["B"].role is RaftRole.JOINING


def test_an_admission_of_another_term_or_to_a_member_changes_nothing():
    group = group_with_a_wiped_member()
    core = group.cores["B"]
    core.receive(AppendEntries("A", 3, 0, 0, 0), group.now_ms)
    core.receive(Admission("A", 1, core.hard_state.joining), group.now_ms)
    assert core.role is RaftRole.JOINING
    group.cores["C"].receive(Admission("A", 1, 0), group.now_ms)
    assert group.cores["C"].role is RaftRole.FOLLOWER


def test_what_a_member_acknowledged_before_it_was_wiped_counts_no_longer():
    group = group_with_a_wiped_member()
    leader = group.cores["A"]
    assert leader.followers["B"].match_index == 2
    leader.receive(JoiningAnswer("B", 1, 0, 0, group.cores["B"].hard_state.joining), group.now_ms)
    assert leader.followers["B"].match_index == 0


@pytest.mark.parametrize("voters", [("A", "B", "C", "D"), ("A", "B"), ("B", "C")])
def test_no_change_leaves_a_group_without_a_majority_of_those_who_count(voters: tuple[str, ...]):
    group = group_with_a_wiped_member()
    group.tick("A", 50)
    group.deliver("C")
    assert group.cores["A"].followers["B"].joining
    with pytest.raises(ProposalRefused, match=r"only (A|A, C|C) would count"):
        group.cores["A"].change_membership(voters)
    group.cores["A"].change_membership(("A", "C"))


def test_a_new_member_that_has_to_join_is_taken_in_by_a_majority_without_it():
    group = Group("A", "B", "C", "D", voters=("A", "B", "C"))
    group.wipe("D")
    group.elect("A").change_membership(("A", "B", "C", "D"))
    for _ in range(4):
        group.heartbeat("A")
    assert group.cores["D"].role is RaftRole.FOLLOWER
    assert group.cores["A"].log.commit_index == group.cores["A"].log.last_index


def test_members_that_are_all_new_found_their_group():
    group = new_group("A", "B", "C")
    for name in ("A", "B", "C"):
        group.tick(name)
        group.deliver()
    assert {core.role for core in group.cores.values()} == {RaftRole.FOLLOWER}
    group.elect("B")
    group.propose("B", b"first")
    assert group.applied["B"][-1].data == b"first"


def test_a_single_new_member_is_a_group():
    group = new_group("A")
    group.tick("A")
    assert group.elect("A").role is RaftRole.LEADER


@pytest.mark.parametrize("away", ["A", "B", "C"])
def test_without_one_of_them_nobody_knows_that_all_are_new(away: str):
    group = new_group("A", "B", "C")
    for _ in range(5):
        for name in ("A", "B", "C"):
            group.tick(name)
            group.deliver(away)
    assert not any(core.role is RaftRole.LEADER for core in group.cores.values())
    for name in ("A", "B", "C"):
        group.tick(name)
        group.deliver()
    assert all(core.role is not RaftRole.JOINING for core in group.cores.values()), "it may come later"


def test_who_has_lost_its_log_is_not_new():
    group = new_group("A", "B", "C")
    state = HardState(joining=99, reason=JoinReason.DAMAGED_LOG)
    group.cores["C"] = group._core("C", (state, ()))
    for name in ("A", "B", "C", "A"):
        group.tick(name)
        group.deliver()
    assert group.cores["A"].role is RaftRole.JOINING


def test_what_is_committed_never_gives_way_and_says_so():
    group = Group("A", "B", "C")
    group.elect("A")
    group.propose("A", b"committed")
    group.heartbeat("A")
    core = group.cores["B"]
    before = list(core.log.entries)
    other = RaftEntry(2, 5, EntryKind.DATA, b"another story")
    with pytest.raises(CommittedEntryConflict, match="entry 2 is committed here, of term 1"):
        core.receive(AppendEntries("C", 5, 1, 1, 2, (other,)), group.now_ms)
    assert core.log.entries == before


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 1 << 40))
def test_no_schedule_with_wiped_disks_elects_two_leaders_of_a_term_or_loses_what_was_committed(seed: int):
    Hostile(seed).run()


class Hostile:
    """Frames are late, doubled and lost; processes end; all but one machine, chance says which, may lose its disk."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        names = "ABCDE"[: self.chance.choice((3, 3, 5))]
        self.group = Group(*names)
        self.keeper = self.chance.choice(names)
        self.leaders: dict[int, str] = {}
        self.committed: dict[int, RaftEntry] = {}
        #: Index -> the term in which somebody first knew that it is. A leader of a term before need not have it.
        self.committed_in: dict[int, int] = {}
        self.lost_disk: dict[str, None] = {}

    def run(self) -> None:
        for number in range(500):
            self._step(number)
            for name, core in self.group.cores.items():
                self._check(name, core)

    def _step(self, number: int) -> None:
        chance, group = self.chance, self.group
        name = chance.choice(list(group.cores))
        actions = ("deliver", "late", "again", "lose", "tick", "propose", "restart", "wipe")
        match chance.choices(actions, (80, 3, 2, 3, 8, 8, 1, 2))[0]:
            case "deliver" if group.wire:
                group.deliver_one(0)
            case "late" if group.wire:
                group.deliver_one(chance.randrange(len(group.wire)))
            case "again" if group.wire:
                group.wire.append(chance.choice(group.wire))
            case "lose" if group.wire:
                group.wire.pop(chance.randrange(len(group.wire)))
            case "tick":
                group.tick(name, chance.choice((0, 0, 50, 200)))
            case "propose" if group.cores[name].role is RaftRole.LEADER:
                group.cores[name].propose(b"%d" % number)
                group.collect(name)
            case "restart":
                group.restart(name)
            case "wipe" if name != self.keeper and self._may_be_wiped(name):
                group.wipe(name)

    def _may_be_wiped(self, name: str) -> bool:
        """A majority has not lost its disk, or is a member again."""
        joining = [other for other, core in self.group.cores.items() if core.role is RaftRole.JOINING]
        return 2 * len({*joining, name}) < len(self.group.cores)

    def _check(self, name: str, core: RaftCore) -> None:
        if core.role is RaftRole.LEADER:
            assert self.leaders.setdefault(core.term, name) == name, f"two leaders of term {core.term}"
            known = [entry for index, entry in self.committed.items() if self.committed_in[index] < core.term]
            assert all(entry in core.log.entries for entry in known), f"{name} lacks what is committed"
        for entry in self._newly_applied(name):
            self.committed_in.setdefault(entry.index, core.term)
            assert self.committed.setdefault(entry.index, entry) == entry, "two entries are committed at one place"

    def _newly_applied(self, name: str) -> Iterator[RaftEntry]:
        yield from self.group.applied[name]
        self.group.applied[name] = []

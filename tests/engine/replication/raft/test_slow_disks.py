"""A core is ahead of its disk: what it says meanwhile must hold though it forgets what was not written."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.replication.raft.hard_state import HardState
from engine.replication.raft.raft_log import RaftEntry
from engine.replication.raft.raft_output import RaftOutput
from engine.replication.raft.raft_role import RaftRole
from engine.replication.raft.raft_rules import RaftRules
from tests.engine.replication.raft.test_joining import Hostile
from tests.support.raft.groups import Group


class SlowDisks(Group):
    """What a core decides waits for :meth:`finish`; a process that ends before has not written it.

    :ivar cut_off: whom no message reaches or leaves.
    :ivar writing: what is being written, by peer; what is decided meanwhile is the next round's, as in ``RaftPeer``.
    """

    def __init__(self, *names: str, rules: RaftRules) -> None:
        self.cut_off = ""
        self.writing: dict[str, RaftOutput] = {}
        super().__init__(*names, rules=rules)
        self.disks: dict[str, tuple[HardState, list[RaftEntry]]] = {name: (HardState(), []) for name in names}

    def deliver_one(self, number: int, *cut: str) -> None:
        super().deliver_one(number, self.cut_off, *cut)

    def collect(self, name: str) -> None:
        if self.writing.get(name, RaftOutput()) == RaftOutput():
            self.writing[name] = self.cores[name].take_output()

    def finish(self, name: str) -> None:
        """The disk of ``name`` has written what it got."""
        output = self.writing.pop(name, RaftOutput())
        state, entries = self.disks[name]
        if output.entries:
            entries = [*entries[: output.entries[0].index - 1], *output.entries]
        self.disks[name] = (output.hard_state or state, entries)
        self.wire += [(name, target, message) for target, message in output.messages]
        self.applied[name] += output.committed

    def restart(self, name: str) -> None:
        self.writing.pop(name, None)
        self.applied[name] = []
        self.cores[name] = self._core(name, self.disks[name])

    def wipe(self, name: str) -> None:
        self.writing.pop(name, None)
        super().wipe(name)
        self.disks[name] = (self.cores[name].hard_state, [])

    def say_that_it_lives(self, name: str) -> None:
        """As ``RaftPeer`` does while its disk is slow."""
        core = self.cores[name]
        if core.role is RaftRole.LEADER:
            self.wire += [(name, follower, core.sign_of_life(follower)) for follower in core.followers]
        elif core.leader:
            self.wire.append((name, core.leader, core.answer_of_life()))


class HostileWithSlowDisks(Hostile):
    """Processes end in the middle of writes, too, and say meanwhile that they live."""

    group: SlowDisks

    def __init__(self, seed: int, *, pre_vote: bool) -> None:
        super().__init__(seed)
        self.group = SlowDisks(*self.group.cores, rules=RaftRules(pre_vote=pre_vote))

    def _may_be_wiped(self, name: str) -> bool:
        # Who was admitted, and has not written it, joins again when it comes back.
        joining = [other for other, (state, _) in self.group.disks.items() if state.joining]
        return super()._may_be_wiped(name) and 2 * len({*joining, name}) < len(self.group.cores)

    def _step(self, number: int) -> None:
        super()._step(number)
        name = self.chance.choice(list(self.group.cores))
        match self.chance.choices(("finish", "finish all", "live", "restart", "cut off"), (60, 25, 12, 2, 1))[0]:
            case "finish":
                self.group.finish(name)
            case "finish all":
                for one in self.group.cores:
                    self.group.finish(one)
            case "live":
                self.group.say_that_it_lives(name)
            case "restart":
                self.group.restart(name)
            case "cut off":
                self.group.cut_off = "" if self.group.cut_off else name


def test_who_lives_beside_a_slow_disk_acknowledges_nothing_that_it_may_forget():
    group = SlowDisks("A", "B", "C", rules=RaftRules())
    group.tick("A")
    for _ in range(12):
        for name in group.cores:
            group.finish(name)
            group.collect(name)
        group.deliver()
    leader, follower = group.cores["A"], group.cores["B"]
    assert leader.log.commit_index == 1
    leader.propose(b"written by A alone")
    group.collect("A")
    group.finish("A")
    group.deliver("C")
    assert follower.log.last_index == 2
    for name in ("B", "A", "B"):
        group.say_that_it_lives(name)
        group.deliver("C")
    assert leader.log.commit_index == 1
    group.restart("B")
    assert group.cores["B"].log.last_index == 1


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 1 << 40), st.booleans())
def test_what_is_said_before_it_is_written_loses_nothing_and_elects_nobody(seed: int, pre_vote: bool):
    HostileWithSlowDisks(seed, pre_vote=pre_vote).run()


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(0, 2_000, 200))
def test_many_schedules_of_slow_disks_lose_nothing_either(seed: int):
    for number in range(seed, seed + 200):
        HostileWithSlowDisks(number, pre_vote=number % 2 == 0).run()

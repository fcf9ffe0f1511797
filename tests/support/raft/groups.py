"""A group of cores without a runtime: messages are in a list until the test delivers them."""

from __future__ import annotations

import random
from collections.abc import Sequence

from engine.replication.raft.hard_state import HardState, JoinReason
from engine.replication.raft.raft_core import RaftCore
from engine.replication.raft.raft_log import EntryKind, RaftEntry
from engine.replication.raft.raft_messages import RaftMessage, decode_message, encode_message
from engine.replication.raft.raft_role import RaftRole
from engine.replication.raft.raft_rules import RaftConfig, RaftRules


class Group:
    """Time passes only by :meth:`tick`; every message goes through its bytes.

    :ivar wire: (sender, target, message), oldest first.
    :ivar applied: by peer.
    """

    def __init__(self, *names: str, voters: Sequence[str] | None = None, rules: RaftRules | None = None) -> None:
        self.now_ms = self.joinings = 0
        self.rules = rules or RaftRules()
        self.voters = voters or names
        self.wire: list[tuple[str, str, RaftMessage]] = []
        self.applied: dict[str, list[RaftEntry]] = {name: [] for name in names}
        self.cores = {name: self._core(name) for name in names}

    def _core(self, name: str, saved: tuple[HardState, Sequence[RaftEntry]] = (HardState(), ())) -> RaftCore:
        generator = random.Random(name)
        return RaftCore(name, self.voters, self.rules, RaftConfig(), generator, self.now_ms, saved)

    def collect(self, name: str) -> None:
        """Do what the core wants done."""
        output = self.cores[name].take_output()
        self.wire += [(name, target, message) for target, message in output.messages]
        self.applied[name] += output.committed

    def tick(self, name: str, after_ms: int = 400) -> None:
        """The timer of ``name`` is over; by default so late that nobody hears a leader any more."""
        self.now_ms += after_ms
        self.cores[name].tick(self.now_ms)
        self.collect(name)

    def deliver(self, *cut: str) -> None:
        """Deliver until nothing is under way; what goes to or comes from ``cut`` is lost."""
        while self.wire:
            self.deliver_one(0, *cut)

    def deliver_one(self, number: int, *cut: str) -> None:
        """Deliver one of those on the wire."""
        sender, target, message = self.wire.pop(number)
        if sender not in cut and target not in cut:
            self.cores[target].receive(decode_message(encode_message(message)[4:]), self.now_ms)
            self.collect(target)

    def elect(self, name: str, *cut: str) -> RaftCore:
        """``name`` stands for election, and wins."""
        self.tick(name)
        self.deliver(*cut)
        assert self.cores[name].role is RaftRole.LEADER
        return self.cores[name]

    def propose(self, name: str, data: bytes, *cut: str) -> None:
        """The leader ``name`` puts it into the log; what follows is delivered."""
        self.cores[name].propose(data)
        self.collect(name)
        self.deliver(*cut)

    def heartbeat(self, name: str, *cut: str) -> None:
        """The leader's timer is over, and what follows is delivered."""
        self.tick(name, 50)
        self.deliver(*cut)

    def restart(self, name: str) -> None:
        """The process of ``name`` comes back with what its disk has."""
        core = self.cores[name]
        self.applied[name] = []
        self.cores[name] = self._core(name, (core.hard_state, core.log.entries))

    def wipe(self, name: str) -> None:
        """The process of ``name`` comes back with an empty disk."""
        self.joinings += 1
        self.applied[name] = []
        state = HardState(joining=self.joinings, reason=JoinReason.NEW)
        self.cores[name] = self._core(name, (state, ()))

    def data(self, name: str) -> list[bytes]:
        """What the entries of ``name``'s log hold, without those that leaders begin with."""
        return [entry.data for entry in self.cores[name].log.entries if entry.kind is not EntryKind.NO_OP]

"""State of one peer of a Raft group for the checkers."""

from __future__ import annotations

from engine.lab.checkers.watch.broker_watch import Tell
from engine.lab.raft.raft_peer_node import RaftPeerNode
from engine.replication.raft.raft_log import RaftEntry


class RaftListener:
    """Listener for events of the peers of a Raft group. The methods do nothing; a checker overrides those it needs."""

    def leader_elected(self, peer: str, term: int, log: list[RaftEntry]) -> None:
        """A peer believes that it leads; ``log`` is its log."""

    def entry_logged(self, peer: str, entry: RaftEntry, previous: RaftEntry | None) -> None:
        """A peer has an entry in its log, directly after ``previous``; repeated after a restart."""

    def entry_applied(self, peer: str, entry: RaftEntry) -> None:
        """A peer has applied a committed entry; repeated after a restart."""


class RaftWatch:
    """Follow one peer over all its incarnations.

    :param report: called with each change.
    """

    def __init__(self, role: RaftPeerNode, report: Tell) -> None:
        self._role = role
        self._report = report
        self._led_term = 0
        self._log: list[RaftEntry] = []
        self._applied = 0
        self._incarnation = 0

    def look(self) -> None:
        """Report what changed. This runs after every event of the peer."""
        role = self._role
        if role.peer is None:
            return
        if role.incarnation != self._incarnation:
            self._incarnation, self._log, self._applied, self._led_term = role.incarnation, [], 0, 0
        log = role.peer.core.log.entries
        if len(log) != len(self._log) or (log and log[-1] is not self._log[-1]):
            self._compare(log)
        if role.is_leader and role.term != self._led_term:
            self._led_term = role.term
            self._report(RaftListener.leader_elected, role.name, role.term, log)
        for entry in role.applied[self._applied :]:
            self._report(RaftListener.entry_applied, role.name, entry)
        self._applied = len(role.applied)

    def _compare(self, log: list[RaftEntry]) -> None:
        known = min(len(log), len(self._log))
        while known and log[known - 1] is not self._log[known - 1]:
            known -= 1
        self._log = list(log)
        for number in range(known, len(log)):
            self._report(RaftListener.entry_logged, self._role.name, log[number], log[number - 1] if number else None)

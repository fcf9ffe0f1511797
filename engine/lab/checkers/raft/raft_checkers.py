"""The safety of a Raft group: four properties of its paper's figure 3, and what a client may rely on.

Fault model of all five: peers crash, also by a power cut that takes what was not flushed and tears what was being
written; they pause, their clocks jump, their disks are slow or full; frames are lost, doubled, late, out of order;
links are cut. What was flushed stays (the paper has no disk that forgets). Nothing is promised about when: a group
without a majority makes no progress, and that is not a violation.
"""

from __future__ import annotations

from engine.lab.checkers.watch.checker import Checker, has_raft
from engine.lab.checkers.watch.cluster_watch import ClusterWatch
from engine.lab.checkers.watch.violation import Anomaly
from engine.lab.nodes.history import SendReturned
from engine.lab.raft.raft_peer_node import key_of
from engine.replication.raft.raft_log import RaftEntry


class ElectionSafety(Checker):
    """Anomaly: *two owners*. Election Safety: at most one leader is elected in a given term."""

    name = "election-safety"
    anomaly = Anomaly.TWO_OWNERS
    applies = staticmethod(has_raft)

    def __init__(self, watch: ClusterWatch) -> None:
        super().__init__(watch)
        self._leaders: dict[int, str] = {}

    def leader_elected(self, peer: str, term: int, log: list[RaftEntry]) -> None:
        other = self._leaders.setdefault(term, peer)
        if other != peer:
            text = self.text("two", node=peer, other=other, term=term)
            self.report({"node": peer, "term": term}, text)


class LogMatching(Checker):
    """Anomaly: *ghost read*. Log Matching: two logs with an entry of the same index and term are the same up to it.

    By induction it is enough that such entries hold the same data, and follow entries of the same term.
    """

    name = "log-matching"
    anomaly = Anomaly.GHOST_READ
    applies = staticmethod(has_raft)

    def __init__(self, watch: ClusterWatch) -> None:
        super().__init__(watch)
        self._known: dict[tuple[int, int], tuple[str, RaftEntry, int]] = {}

    def entry_logged(self, peer: str, entry: RaftEntry, previous: RaftEntry | None) -> None:
        term_before = previous.term if previous is not None else 0
        other, known, known_before = self._known.setdefault((entry.index, entry.term), (peer, entry, term_before))
        if known != entry or known_before != term_before:
            self.report(_element(peer, entry), self.text("differs", node=peer, other=other, entry=entry))


class LeaderCompleteness(Checker):
    """Anomaly: *lost write*. Leader Completeness: an entry that is committed is in the logs of all later leaders."""

    name = "leader-completeness"
    anomaly = Anomaly.LOST_WRITE
    applies = staticmethod(has_raft)

    def __init__(self, watch: ClusterWatch) -> None:
        super().__init__(watch)
        #: Index -> the entry first committed there.
        self._committed: dict[int, RaftEntry] = {}

    def entry_applied(self, peer: str, entry: RaftEntry) -> None:
        self._committed.setdefault(entry.index, entry)

    def leader_elected(self, peer: str, term: int, log: list[RaftEntry]) -> None:
        for index, entry in self._committed.items():
            if entry.term < term and (len(log) < index or log[index - 1] != entry):
                text = self.text("lacks", node=peer, term=term, entry=entry, key=key_of(entry))
                self.report(_element(peer, entry), text)


class StateMachineSafety(Checker):
    """Anomaly: *out of order*. State Machine Safety: no two peers ever apply different entries at the same index."""

    name = "state-machine-safety"
    anomaly = Anomaly.OUT_OF_ORDER
    applies = staticmethod(has_raft)

    def __init__(self, watch: ClusterWatch) -> None:
        super().__init__(watch)
        self._applied: dict[int, tuple[str, RaftEntry]] = {}

    def entry_applied(self, peer: str, entry: RaftEntry) -> None:
        other, known = self._applied.setdefault(entry.index, (peer, entry))
        if known != entry:
            said = {"node": peer, "other": other, "index": entry.index, "key": key_of(entry), "known": key_of(known)}
            self.report(_element(peer, entry), self.text("differs", **said))


class AcknowledgedCommandsAreCommitted(Checker):
    """Anomaly: *lost write*. A command that a client knows to be committed is in the log of every later leader.

    It follows from Leader Completeness; this is the client's view of it.
    """

    name = "acknowledged-commands-are-committed"
    anomaly = Anomaly.LOST_WRITE
    applies = staticmethod(has_raft)

    def __init__(self, watch: ClusterWatch) -> None:
        super().__init__(watch)
        self._acknowledged: dict[int, str] = {}
        self._newest_term = 0

    def command_returned(self, entry: SendReturned) -> None:
        if entry.status == "ok":
            self._acknowledged[entry.queue_offset] = entry.key

    def leader_elected(self, peer: str, term: int, log: list[RaftEntry]) -> None:
        if term < self._newest_term:
            return
        self._newest_term = term
        for index, key in self._acknowledged.items():
            if len(log) < index or key_of(log[index - 1]) != key:
                said = {"node": peer, "term": term, "index": index, "key": key}
                text = self.text("lost", **said)
                self.report({"node": peer, "offset": index, "message": key}, text)


def _element(peer: str, entry: RaftEntry) -> dict[str, str | int]:
    return {"node": peer, "offset": entry.index, "message": key_of(entry)}

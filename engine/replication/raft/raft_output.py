"""Decisions of a core, and what a leader knows about its followers (etcd's raft: ``Ready``, ``Progress``)."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.replication.raft.hard_state import HardState
from engine.replication.raft.raft_log import RaftEntry
from engine.replication.raft.raft_messages import RaftMessage


@dataclass(slots=True)
class RaftOutput:
    """The actions that a peer must carry out next.

    :ivar hard_state: to be written; None: unchanged.
    :ivar entries: to be written; the log on the disk ends before the first of them.
    :ivar messages: (voter, message), to be sent after both are on the disk.
    :ivar committed: to be applied, in this order.
    """

    hard_state: HardState | None = None
    entries: list[RaftEntry] = field(default_factory=list)
    messages: list[tuple[str, RaftMessage]] = field(default_factory=list)
    committed: list[RaftEntry] = field(default_factory=list)


@dataclass(slots=True)
class RaftFollowerProgress:
    """The leader's state about a follower: ``next_index`` runs ahead of its answers, ``match_index`` does not.

    :ivar joining: the number of its joining; 0: it is a member, and counts.
    :ivar admission_index: index of the entry with which it will count again; 0: there is no such entry yet.
    """

    next_index: int
    match_index: int = 0
    heard_ms: int = 0
    joining: int = 0
    admission_index: int = 0

"""The nodes of a Raft group, for their cards on the stage."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from app.picture.world.producer import SendCounts


class VoteAnswer(TypedDict):
    """The answer to a candidate."""

    name: str
    verdict: str


class RaftFollower(TypedDict):
    """A follower as its leader knows it."""

    name: str
    match_index: int
    next_index: int


class Obstacle(TypedDict):
    """Why a peer does not lead."""

    reason: str
    #: Of the peers that are the reason; may be empty.
    names: str


class Raft(TypedDict):
    """The state of a peer's process."""

    role: str
    term: int
    #: Empty: none.
    voted_for: str
    #: Empty: not known.
    leader: str
    voters: list[str]
    commit_index: int
    applied_index: int
    last_index: int
    last_term: int
    #: Whether it refuses candidates that lack entries.
    checks_log: bool
    failure: str
    #: When the timer is over.
    due_us: int
    #: How long the timer is at most.
    wait_us: int
    #: Of a candidate.
    answers: list[VoteAnswer]
    #: Of a leader.
    followers: list[RaftFollower]
    obstacles: list[Obstacle]


class RaftEntry(TypedDict):
    """An entry of the log."""

    index: int
    term: int
    text: str
    kind: str
    #: Without a process it is not known: False.
    is_committed: bool


class RaftLog(TypedDict):
    """The log; without a process as it is on the disk."""

    entry_count: int
    #: The newest ones.
    entries: list[RaftEntry]


class RaftPeer(TypedDict):
    """A peer."""

    #: Only while a process runs.
    raft: NotRequired[Raft]
    log: RaftLog


class RaftClient(SendCounts):
    """A client of a Raft group."""

    #: The node that it takes for the leader.
    asked: str

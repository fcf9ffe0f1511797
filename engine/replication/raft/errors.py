"""Errors of the Raft log."""

from __future__ import annotations


class RaftError(Exception):
    """Base of all errors that the Raft group raises."""


class IllegalRoleChange(RaftError):
    """A role change is not in the table: a bug, or a message that no correct peer sends."""


class RaftFrameRefused(RaftError):
    """A frame is not a frame of this protocol, or its fields do not agree with its content."""


class CommittedEntryConflict(RaftError):
    """A leader sends another entry in place of one that is committed here: one of the two has lost its log."""


class NotLeader(RaftError):
    """Only the leader accepts proposals.

    :ivar leader: name of the leader; empty if unknown.
    """

    def __init__(self, name: str, leader: str) -> None:
        super().__init__(f"{name} does not lead; the leader is {leader or 'unknown'}")
        self.leader = leader


class ProposalRefused(RaftError):
    """The leader cannot accept the proposal now; the proposal is in no log."""


class OutcomeUnknown(RaftError):
    """The leader stepped down or stopped before the proposal was committed; it may still be committed."""

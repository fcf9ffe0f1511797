"""What can go wrong with a majority log."""

from __future__ import annotations


class RaftError(Exception):
    """Base of what the group refuses."""


class IllegalRoleChange(RaftError):
    """A role that cannot follow on the present one: a bug, or a message that no peer sends."""


class RaftFrameRefused(RaftError):
    """A frame that is none of this protocol, or lies about what is in it."""


class CommittedEntryConflict(RaftError):
    """A leader sends another entry in the place of one that is committed here: one of the two has lost its log."""


class NotLeader(RaftError):
    """Only the leader takes proposals.

    :ivar leader: whom to ask; empty: unknown.
    """

    def __init__(self, name: str, leader: str) -> None:
        super().__init__(f"{name} does not lead; the leader is {leader or 'unknown'}")
        self.leader = leader


class ProposalRefused(RaftError):
    """The leader cannot take the proposal now; it is in no log."""


class OutcomeUnknown(RaftError):
    """The leader has lost its office, or stopped, before the proposal was committed: it may still be."""

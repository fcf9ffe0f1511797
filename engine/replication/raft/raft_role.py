"""The roles of a peer, as a table (paper, figure 4). A change that is not in the table raises."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from engine.replication.raft.errors import IllegalRoleChange
from engine.runtime.state_table import next_state


class RaftRole(StrEnum):
    """Role of a peer. A candidate that only asks whether it could win (thesis, section 9.6) has a role of its own."""

    FOLLOWER = "follower"
    #: It has no state or has lost some: it takes entries, but neither votes nor counts.
    JOINING = "joining"
    PRE_CANDIDATE = "pre-candidate"
    CANDIDATE = "candidate"
    LEADER = "leader"


class RoleEvent(StrEnum):
    """Event that changes the role."""

    #: The timer has ended, and pre-vote is on.
    ASK_FIRST = "ask first"
    #: The timer has ended without pre-vote, or a majority would vote for the peer.
    STAND = "stand"
    #: A majority has voted for the peer.
    WIN = "win"
    #: The peer hears of a newer term or of this term's leader, or, as leader, from no majority.
    STEP_DOWN = "step down"
    #: As a joining member, the peer has everything that may have been committed with votes it has forgotten.
    BE_ADMITTED = "be admitted"


ROLE_CHANGES: Mapping[tuple[RaftRole, RoleEvent], RaftRole] = {
    (RaftRole.FOLLOWER, RoleEvent.ASK_FIRST): RaftRole.PRE_CANDIDATE,
    (RaftRole.FOLLOWER, RoleEvent.STAND): RaftRole.CANDIDATE,
    (RaftRole.FOLLOWER, RoleEvent.STEP_DOWN): RaftRole.FOLLOWER,
    (RaftRole.JOINING, RoleEvent.STEP_DOWN): RaftRole.JOINING,
    (RaftRole.JOINING, RoleEvent.BE_ADMITTED): RaftRole.FOLLOWER,
    (RaftRole.PRE_CANDIDATE, RoleEvent.ASK_FIRST): RaftRole.PRE_CANDIDATE,
    (RaftRole.PRE_CANDIDATE, RoleEvent.STAND): RaftRole.CANDIDATE,
    (RaftRole.PRE_CANDIDATE, RoleEvent.STEP_DOWN): RaftRole.FOLLOWER,
    (RaftRole.CANDIDATE, RoleEvent.ASK_FIRST): RaftRole.PRE_CANDIDATE,
    (RaftRole.CANDIDATE, RoleEvent.STAND): RaftRole.CANDIDATE,
    (RaftRole.CANDIDATE, RoleEvent.WIN): RaftRole.LEADER,
    (RaftRole.CANDIDATE, RoleEvent.STEP_DOWN): RaftRole.FOLLOWER,
    (RaftRole.LEADER, RoleEvent.STEP_DOWN): RaftRole.FOLLOWER,
}


def next_role(role: RaftRole, event: RoleEvent) -> RaftRole:
    """Return the role after ``event``. Raises :class:`IllegalRoleChange`, which names what is allowed."""
    return next_state(ROLE_CHANGES, role, event, "a peer", IllegalRoleChange)

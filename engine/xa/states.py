"""The states of a global transaction and of a branch, as tables. A transition that is not in a table raises an error.

Global, at the coordinator::

    active --vote--> voting --all yes--> prepared --commit--> committing --all done--> committed
       |               |--one no--> refused     |
       '---------------+--------------+---------'--rollback--> rolling-back --all done--> rolled-back

Branch, at its resource manager; *prepared* is the only undecided state that survives a crash of the process::

    enlisted --lock--> waiting --work--> executing --vote yes--> prepared --commit--> committed
       '-----------------+----------------+------------------------'--rollback--> rolled-back
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Decision(StrEnum):
    """The decision about a global transaction."""

    COMMIT = "commit"
    ROLLBACK = "rollback"
    UNDECIDED = "undecided"


class GlobalState(StrEnum):
    """The state of a global transaction at the coordinator."""

    ACTIVE = "active"
    VOTING = "voting"
    PREPARED = "prepared"
    REFUSED = "refused"
    COMMITTING = "committing"
    COMMITTED = "committed"
    ROLLING_BACK = "rolling-back"
    ROLLED_BACK = "rolled-back"

    @property
    def is_final(self) -> bool:
        """Return whether every branch has carried out the decision."""
        return self in (GlobalState.COMMITTED, GlobalState.ROLLED_BACK)


class GlobalEvent(StrEnum):
    """The events that change the state of a global transaction."""

    VOTE = "vote"
    ALL_YES = "all yes"
    ONE_NO = "one no"
    COMMIT = "commit"
    ROLLBACK = "rollback"
    ALL_DONE = "all done"


GLOBAL_TRANSITIONS: Mapping[tuple[GlobalState, GlobalEvent], GlobalState] = {
    (GlobalState.ACTIVE, GlobalEvent.VOTE): GlobalState.VOTING,
    (GlobalState.ACTIVE, GlobalEvent.ROLLBACK): GlobalState.ROLLING_BACK,
    (GlobalState.VOTING, GlobalEvent.ALL_YES): GlobalState.PREPARED,
    (GlobalState.VOTING, GlobalEvent.ONE_NO): GlobalState.REFUSED,
    (GlobalState.VOTING, GlobalEvent.ROLLBACK): GlobalState.ROLLING_BACK,
    (GlobalState.PREPARED, GlobalEvent.COMMIT): GlobalState.COMMITTING,
    (GlobalState.PREPARED, GlobalEvent.ROLLBACK): GlobalState.ROLLING_BACK,
    (GlobalState.REFUSED, GlobalEvent.ROLLBACK): GlobalState.ROLLING_BACK,
    (GlobalState.COMMITTING, GlobalEvent.ALL_DONE): GlobalState.COMMITTED,
    (GlobalState.ROLLING_BACK, GlobalEvent.ALL_DONE): GlobalState.ROLLED_BACK,
}


class BranchState(StrEnum):
    """The state of a branch at its resource manager."""

    ENLISTED = "enlisted"
    WAITING = "waiting"
    EXECUTING = "executing"
    PREPARED = "prepared"
    COMMITTED = "committed"
    ROLLED_BACK = "rolled-back"

    @property
    def is_final(self) -> bool:
        """Return whether the branch is finished and holds no lock."""
        return self in (BranchState.COMMITTED, BranchState.ROLLED_BACK)


class BranchEvent(StrEnum):
    """The events that change the state of a branch."""

    LOCK = "lock"
    WORK = "work"
    VOTE_YES = "vote yes"
    COMMIT = "commit"
    ROLLBACK = "rollback"


BRANCH_TRANSITIONS: Mapping[tuple[BranchState, BranchEvent], BranchState] = {
    (BranchState.ENLISTED, BranchEvent.LOCK): BranchState.WAITING,
    (BranchState.ENLISTED, BranchEvent.ROLLBACK): BranchState.ROLLED_BACK,
    (BranchState.WAITING, BranchEvent.WORK): BranchState.EXECUTING,
    (BranchState.WAITING, BranchEvent.ROLLBACK): BranchState.ROLLED_BACK,
    (BranchState.EXECUTING, BranchEvent.VOTE_YES): BranchState.PREPARED,
    (BranchState.EXECUTING, BranchEvent.ROLLBACK): BranchState.ROLLED_BACK,
    (BranchState.PREPARED, BranchEvent.COMMIT): BranchState.COMMITTED,
    (BranchState.PREPARED, BranchEvent.ROLLBACK): BranchState.ROLLED_BACK,
}


class BranchVote(StrEnum):
    """The state of a branch as known to the coordinator."""

    #: Registered; not asked yet, or no reply yet.
    NONE = "none"
    YES = "yes"
    NO = "no"
    #: It has carried out the decision.
    DONE = "done"

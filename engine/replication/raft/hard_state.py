"""What a peer must remember over a crash, besides its log (paper, figure 2), and whether it does."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class JoinReason(IntEnum):
    """Why a member joins: what it cannot know about its own past."""

    NONE = 0
    #: Its folder was empty.
    NEW = 1
    #: Of ``raft/log`` less is whole than it had acknowledged.
    DAMAGED_LOG = 2
    #: ``raft/state`` is missing, damaged, or older than the log.
    LOST_STATE = 3

    @property
    def words(self) -> str:
        """For the log; people get ``raft.joins`` of the texts."""
        return self.name.lower().replace("_", " ")


@dataclass(frozen=True, slots=True)
class HardState:
    """Term and vote, and whether this peer joins.

    :ivar voted_for: empty: nobody in this term.
    :ivar joining: 0: it is a member. Else the number of this joining: drawn anew each time that state is missed, so
        that no late frame about an earlier life is taken for one about this one.
    """

    term: int = 0
    voted_for: str = ""
    joining: int = 0
    reason: JoinReason = JoinReason.NONE

"""The state that a peer must keep across a crash besides its log (paper, figure 2), and its durability."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class JoinReason(IntEnum):
    """The reason why a member joins: the part of its own past that it cannot know."""

    NONE = 0
    #: Its folder was empty.
    NEW = 1
    #: ``raft/log`` has fewer undamaged entries than the member had acknowledged.
    DAMAGED_LOG = 2
    #: ``raft/state`` is missing, damaged, or older than the log.
    LOST_STATE = 3

    @property
    def words(self) -> str:
        """Return the reason as words for the log; users see ``raft.joins`` of the texts."""
        return self.name.lower().replace("_", " ")


@dataclass(frozen=True, slots=True)
class HardState:
    """Term and vote of a peer, and whether it is joining.

    :ivar voted_for: the candidate that got the vote in this term; empty if none did.
    :ivar joining: 0: it is a member. Otherwise the number of this joining, drawn each time the state is found missing,
        so that a late frame about an earlier joining is not taken for one about this joining.
    """

    term: int = 0
    voted_for: str = ""
    joining: int = 0
    reason: JoinReason = JoinReason.NONE

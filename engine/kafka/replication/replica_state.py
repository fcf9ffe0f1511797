"""State of a broker's replica of a partition (Kafka: ``Partition``, and ``ReplicaState`` of
``AbstractFetcherThread``)::

offline ----> truncating ----> fetching        from every state, when the controller says so:
   |                                            to leader, to truncating (it follows a new leader), to offline
   +--------> leader
"""

from __future__ import annotations

from enum import StrEnum

from engine.runtime.state_table import successor


class ReplicaState(StrEnum):
    """State of a replica; the module shows the changes."""

    #: The partition has no leader, as far as this broker knows.
    OFFLINE = "offline"
    #: It follows, and finds out up to where its log agrees with its leader's.
    TRUNCATING = "truncating"
    #: It follows, and appends what its leader has.
    FETCHING = "fetching"
    LEADER = "leader"

    def go(self, state: ReplicaState) -> ReplicaState:
        """Return ``state``, after checking that the change to it is legal; an illegal change is a bug."""
        return successor(_STEPS, self, state, "a replica")


_ANEW = (ReplicaState.LEADER, ReplicaState.TRUNCATING, ReplicaState.OFFLINE)
_STEPS = {
    ReplicaState.OFFLINE: _ANEW,
    ReplicaState.TRUNCATING: (ReplicaState.FETCHING, *_ANEW),
    ReplicaState.FETCHING: _ANEW,
    ReplicaState.LEADER: _ANEW,
}

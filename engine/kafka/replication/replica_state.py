"""What a broker is for one partition (Kafka: ``Partition``, and ``ReplicaState`` of ``AbstractFetcherThread``)::

offline ----> truncating ----> fetching        from every state, when the controller says so:
   |                                            to leader, to truncating (it follows a new leader), to offline
   +--------> leader
"""

from __future__ import annotations

from enum import StrEnum


class ReplicaState(StrEnum):
    """See the module."""

    #: Nobody leads, as far as this broker knows.
    OFFLINE = "offline"
    #: It follows, and looks how far its log is its leader's.
    TRUNCATING = "truncating"
    #: It follows, and appends what its leader has.
    FETCHING = "fetching"
    LEADER = "leader"

    def go(self, state: ReplicaState) -> ReplicaState:
        """``state`` itself. An illegal step is a bug."""
        assert state in _STEPS[self], f"a replica that is {self} cannot be {state}"
        return state


_ANEW = (ReplicaState.LEADER, ReplicaState.TRUNCATING, ReplicaState.OFFLINE)
_STEPS = {
    ReplicaState.OFFLINE: _ANEW,
    ReplicaState.TRUNCATING: (ReplicaState.FETCHING, *_ANEW),
    ReplicaState.FETCHING: _ANEW,
    ReplicaState.LEADER: _ANEW,
}

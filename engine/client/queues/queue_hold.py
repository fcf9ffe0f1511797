"""The ownership of a queue and of its broker lock by a consumer (RocketMQ: flags of ``ProcessQueue``).

A released queue stays locked until its listener has ended, and the broker's reply to a renewal may still arrive: so
there are four states. A dropped queue never comes back; a rebalance that acquires the queue again creates a new process
queue.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class QueueHold(StrEnum):
    """The ownership of a queue by a consumer. Concurrent consumers do not lock queues."""

    UNLOCKED = "unlocked"
    LOCKED = "locked"
    DROPPED = "dropped"
    DROPPED_LOCKED = "dropped, locked"

    @property
    def is_dropped(self) -> bool:
        """Return whether the queue was released: nothing may be consumed, committed or pulled through its object any
        more.
        """
        return self in (QueueHold.DROPPED, QueueHold.DROPPED_LOCKED)

    @property
    def is_locked(self) -> bool:
        """Return whether the broker granted the lock and is not known to have revoked it."""
        return self in (QueueHold.LOCKED, QueueHold.DROPPED_LOCKED)


class HoldEvent(StrEnum):
    """The events that change the ownership."""

    GRANTED = "the broker granted or renewed the lock"
    LOST = "the broker refused the lock, or it was given back"
    GIVEN_UP = "the consumer gave the queue up"


HOLD_TRANSITIONS: Mapping[tuple[QueueHold, HoldEvent], QueueHold] = {
    (QueueHold.UNLOCKED, HoldEvent.GRANTED): QueueHold.LOCKED,
    (QueueHold.UNLOCKED, HoldEvent.LOST): QueueHold.UNLOCKED,
    (QueueHold.UNLOCKED, HoldEvent.GIVEN_UP): QueueHold.DROPPED,
    (QueueHold.LOCKED, HoldEvent.GRANTED): QueueHold.LOCKED,
    (QueueHold.LOCKED, HoldEvent.LOST): QueueHold.UNLOCKED,
    (QueueHold.LOCKED, HoldEvent.GIVEN_UP): QueueHold.DROPPED_LOCKED,
    (QueueHold.DROPPED, HoldEvent.GRANTED): QueueHold.DROPPED_LOCKED,
    (QueueHold.DROPPED, HoldEvent.LOST): QueueHold.DROPPED,
    (QueueHold.DROPPED, HoldEvent.GIVEN_UP): QueueHold.DROPPED,  # repeated at every rebalance while its listener runs
    (QueueHold.DROPPED_LOCKED, HoldEvent.GRANTED): QueueHold.DROPPED_LOCKED,
    (QueueHold.DROPPED_LOCKED, HoldEvent.LOST): QueueHold.DROPPED,
    (QueueHold.DROPPED_LOCKED, HoldEvent.GIVEN_UP): QueueHold.DROPPED_LOCKED,
}

"""The ownership of a queue and of its broker lock by a consumer (RocketMQ: flags of ``ProcessQueue``).

A released queue stays locked until its listener has ended, and the broker's reply to a renewal may still arrive: so
there are four states. A dropped queue never comes back; a rebalance that acquires the queue again creates a new process
queue.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Hold(StrEnum):
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
        return self in (Hold.DROPPED, Hold.DROPPED_LOCKED)

    @property
    def is_locked(self) -> bool:
        """Return whether the broker granted the lock and is not known to have revoked it."""
        return self in (Hold.LOCKED, Hold.DROPPED_LOCKED)


class HoldEvent(StrEnum):
    """The events that change the ownership."""

    GRANTED = "the broker granted or renewed the lock"
    LOST = "the broker refused the lock, or it was given back"
    GIVEN_UP = "the consumer gave the queue up"


HOLD_TRANSITIONS: Mapping[tuple[Hold, HoldEvent], Hold] = {
    (Hold.UNLOCKED, HoldEvent.GRANTED): Hold.LOCKED,
    (Hold.UNLOCKED, HoldEvent.LOST): Hold.UNLOCKED,
    (Hold.UNLOCKED, HoldEvent.GIVEN_UP): Hold.DROPPED,
    (Hold.LOCKED, HoldEvent.GRANTED): Hold.LOCKED,
    (Hold.LOCKED, HoldEvent.LOST): Hold.UNLOCKED,
    (Hold.LOCKED, HoldEvent.GIVEN_UP): Hold.DROPPED_LOCKED,
    (Hold.DROPPED, HoldEvent.GRANTED): Hold.DROPPED_LOCKED,
    (Hold.DROPPED, HoldEvent.LOST): Hold.DROPPED,
    (Hold.DROPPED, HoldEvent.GIVEN_UP): Hold.DROPPED,  # repeated at every rebalance while its listener runs
    (Hold.DROPPED_LOCKED, HoldEvent.GRANTED): Hold.DROPPED_LOCKED,
    (Hold.DROPPED_LOCKED, HoldEvent.LOST): Hold.DROPPED,
    (Hold.DROPPED_LOCKED, HoldEvent.GIVEN_UP): Hold.DROPPED_LOCKED,
}

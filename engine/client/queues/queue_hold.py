"""Whether a queue is its consumer's still, and whether the broker's lock of it is (RocketMQ: flags of
``ProcessQueue``).

A queue that was given up stays locked until its listener has ended, and the broker's answer to a renewal may still come
for it: so there are four states. A queue that was dropped never comes back; a rebalance that gets the queue again makes
a new process queue.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Hold(StrEnum):
    """How a consumer holds a queue. Concurrent consumers lock none."""

    UNLOCKED = "unlocked"
    LOCKED = "locked"
    DROPPED = "dropped"
    DROPPED_LOCKED = "dropped, locked"

    @property
    def is_dropped(self) -> bool:
        """Whether the queue was given up: nothing may be consumed, committed or pulled through its object any more."""
        return self in (Hold.DROPPED, Hold.DROPPED_LOCKED)

    @property
    def is_locked(self) -> bool:
        """Whether the broker gave the lock and was not heard to take it back."""
        return self in (Hold.LOCKED, Hold.DROPPED_LOCKED)


class HoldEvent(StrEnum):
    """What moves it."""

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
    (Hold.DROPPED, HoldEvent.GIVEN_UP): Hold.DROPPED,  # asked again at every rebalance while its listener runs
    (Hold.DROPPED_LOCKED, HoldEvent.GRANTED): Hold.DROPPED_LOCKED,
    (Hold.DROPPED_LOCKED, HoldEvent.LOST): Hold.DROPPED,
    (Hold.DROPPED_LOCKED, HoldEvent.GIVEN_UP): Hold.DROPPED_LOCKED,
}

"""The delay levels of a broker, with the queue that each has in SCHEDULE_TOPIC_XXXX."""

from __future__ import annotations

from typing import TypedDict


class DelayQueue(TypedDict):
    """The queue of one level."""

    level: int
    delay_ms: int
    queue_id: int
    min: int
    max: int
    #: Of the next message to be delivered.
    offset: int
    waiting: int


class DelayLevel(DelayQueue):
    """A level of the live broker."""

    #: When the next message is due; None: nothing waits.
    next_due_ms: int | None


class WorldDelayLevel(DelayQueue):
    """A level of a lab broker."""

    #: When the next message is due; None: nothing waits.
    next_due_us: int | None


class DelayLevels(TypedDict):
    """The levels of the live broker."""

    #: The delay of level 1, 2, 3 ... (``messageDelayLevel``).
    delays_ms: list[int]
    #: Those that were ever used.
    levels: list[DelayLevel]


class WorldDelayLevels(TypedDict):
    """The levels of a lab broker."""

    #: The delay of level 1, 2, 3 ... (``messageDelayLevel``).
    delays_ms: list[int]
    #: Those that were ever used.
    levels: list[WorldDelayLevel]

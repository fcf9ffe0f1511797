"""The delay levels of a broker, with the queue that each has in SCHEDULE_TOPIC_XXXX."""

from __future__ import annotations

from typing import TypedDict


class DelayLevel(TypedDict):
    """A level and its queue."""

    level: int
    delay_ms: int
    queue_id: int
    min: int
    max: int
    #: Of the next message to be delivered.
    offset: int
    waiting: int
    #: When the next message is due; None: nothing waits.
    next_due_us: int | None


class DelayLevels(TypedDict):
    """The levels."""

    #: The delay of level 1, 2, 3 ... (``messageDelayLevel``).
    delays_ms: list[int]
    #: Those that were ever used.
    levels: list[DelayLevel]

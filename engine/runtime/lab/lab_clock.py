"""A lab node's clock: virtual time, perhaps skewed."""

from __future__ import annotations

from engine.runtime.lab.lab_loop import LabLoop

#: The start of every world: 2026-01-01T00:00:00Z, in milliseconds since 1970.
WORLD_BEGIN_MS = 1_767_225_600_000


class LabClock:
    """The port's ``Clock`` of one node."""

    def __init__(self, loop: LabLoop) -> None:
        self._schedule = loop.schedule
        #: How far this node's wall clock is ahead of the world's, in milliseconds.
        self.skew_ms = 0

    @property
    def begin_ms(self) -> int:
        """What this clock shows when virtual time begins."""
        return WORLD_BEGIN_MS + self.skew_ms

    def now_ms(self) -> int:
        return self.begin_ms + self._schedule.now_us // 1_000

    def monotonic_us(self) -> int:
        return self._schedule.now_us

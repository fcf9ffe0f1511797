"""How fast a world plays: which virtual time belongs to a moment of real time."""

from __future__ import annotations

#: A world that cannot keep its pace falls behind by so much of real time at most; then its clock is set anew.
LAG_MAX_S = 0.25


class Pace:
    """:ivar speed: virtual seconds per second."""

    def __init__(self) -> None:
        self.speed = 1.0
        self._anchor = (0.0, 0)

    def begin(self, now: float, virtual_us: int) -> None:
        """From now on the world goes on from ``virtual_us``."""
        self._anchor = (now, virtual_us)

    def due_us(self, now: float) -> int:
        """The virtual time up to which it should have run by now."""
        started, begun_us = self._anchor
        return begun_us + round((now - started) * self.speed * 1_000_000)

    def note(self, now: float, virtual_us: int) -> None:
        """It has run to ``virtual_us``. What it lags behind too far is given up."""
        if self.due_us(now) - virtual_us > LAG_MAX_S * self.speed * 1_000_000:
            self.begin(now, virtual_us)

"""A rate limit: a bucket of tokens that refills at a steady rate."""

from __future__ import annotations


class EventBudget:
    """A token bucket: ``per_second`` events in the long run, ``burst`` at one moment.

    Times are in seconds. Not thread-safe.
    """

    __slots__ = ("_at", "_burst", "_left", "_per_second")

    def __init__(self, per_second: float, burst: int, now: float) -> None:
        self._per_second = per_second
        self._burst = burst
        self._left = float(burst)
        self._at = now

    def take(self, now: float) -> bool:
        """Spend one event; return False when no token is left."""
        self._left = min(self._burst, self._left + (now - self._at) * self._per_second)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True

"""A token bucket for rates per second (RocketMQ 4.9 limits no rate)."""

from __future__ import annotations

from typing import Final

_SECOND_US: Final = 1_000_000


class TokenBucket:
    """A bucket with as many tokens as are added per second.

    It counts in millionths of a token, so that a microsecond at one token a second still counts.
    """

    def __init__(self, per_second: int, now_us: int) -> None:
        self.per_second = per_second
        self._tokens = per_second * _SECOND_US
        self._filled_us = now_us

    def has_any(self, now_us: int) -> bool:
        """Return True if a token is available now."""
        self._tokens = min(self.per_second * _SECOND_US, self._tokens + (now_us - self._filled_us) * self.per_second)
        self._filled_us = now_us
        return self._tokens >= _SECOND_US

    def take(self, count: int) -> None:
        """Take ``count`` tokens; an excess is deducted from later ones."""
        self._tokens -= count * _SECOND_US

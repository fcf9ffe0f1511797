"""The time of the live broker's world: microseconds since 1970."""

from __future__ import annotations


def unix_us(timestamp_ms: int) -> int:
    """Return a time in milliseconds since 1970 in microseconds."""
    return timestamp_ms * 1_000

"""The time of a broker's world: microseconds since 1970, or in the lab since virtual time began."""

from __future__ import annotations


def unix_us(timestamp_ms: int) -> int:
    """Return a time in milliseconds since 1970 in microseconds."""
    return timestamp_ms * 1_000


def world_us(timestamp_ms: int, begin_ms: int) -> int:
    """Return a time of the broker's clock as one of its world, which begins at ``begin_ms`` of that clock."""
    return (timestamp_ms - begin_ms) * 1_000

"""Ranges of integers, which describe the gaps among numbered messages. RocketMQ has no such class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

#: First and last, both included. Lists of ranges ascend and do not overlap.
NumberRange = tuple[int, int]


def without(ranges: Iterable[NumberRange], taken: Iterable[NumberRange]) -> Iterator[NumberRange]:
    """Yield the parts of ``ranges`` that are in none of ``taken``. Both are walked once; those of ``taken`` may
    touch.
    """
    rest = iter(taken)
    hole = next(rest, None)
    for first, last in ranges:
        start = first
        while hole is not None and hole[0] <= last:
            if hole[0] > start:
                yield start, hole[0] - 1
            start = max(start, hole[1] + 1)
            if hole[1] >= last:
                break
            hole = next(rest, None)
        if start <= last:
            yield start, last


def count_of(ranges: Iterable[NumberRange]) -> int:
    """Return how many numbers the ranges contain."""
    return sum(last - first + 1 for first, last in ranges)

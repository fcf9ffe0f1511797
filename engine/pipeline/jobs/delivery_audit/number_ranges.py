"""Ranges of numbers, first and last included; lists of them ascend and do not touch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

NumberRange = tuple[int, int]


def without(ranges: Iterable[NumberRange], taken: Sequence[NumberRange]) -> Iterator[NumberRange]:
    """What of ``ranges`` lies in none of ``taken``."""
    position = 0
    for first, last in ranges:
        start = first
        while position < len(taken) and taken[position][1] < start:
            position += 1
        for taken_first, taken_last in taken[position:]:
            if taken_first > last:
                break
            if taken_first > start:
                yield start, taken_first - 1
            start = taken_last + 1
        if start <= last:
            yield start, last


def count_of(ranges: Iterable[NumberRange]) -> int:
    """How many numbers."""
    return sum(last - first + 1 for first, last in ranges)

"""Ranges of numbers, against plain sets."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from engine.protocol.number_ranges import NumberRange, count_of, without

#: Ascending, apart.
ranges = st.lists(st.integers(0, 60), unique=True).map(
    lambda edges: [(first, after - 1) for first, after in list(pairwise(sorted(edges)))[::2]]
)


@given(ranges, ranges)
def test_ranges_can_be_taken_from_ranges(some: list[NumberRange], taken: list[NumberRange]) -> None:
    def members(of: list[NumberRange]) -> set[int]:
        return {number for first, last in of for number in range(first, last + 1)}

    rest = list(without(some, taken))
    assert members(rest) == members(some) - members(taken)
    assert rest == sorted(rest)
    assert count_of(rest) == len(members(rest))


def test_ranges_without_others() -> None:
    assert list(without([(0, 9), (20, 29)], [(3, 4), (8, 21), (29, 40)])) == [(0, 2), (5, 7), (22, 28)]
    assert count_of([(0, 2), (5, 7)]) == 6

"""The set behaves as a set of Python, and forgets from below."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.protocol.number_set import NumberSet

_NUMBERS = st.lists(st.integers(0, 5_000) | st.integers(1 << 50, (1 << 50) + 40), max_size=60)


def _numbers_of(ranges):
    return [number for first, last in ranges for number in range(first, last + 1)]


@given(_NUMBERS)
def test_it_holds_what_was_added_once(numbers):
    made = NumberSet()
    assert [made.add(number) for number in numbers] == [number not in numbers[:at] for at, number in enumerate(numbers)]
    assert _numbers_of(made.ranges()) == sorted(set(numbers))
    assert made.count == len(set(numbers))
    assert all(number in made for number in numbers)


@given(_NUMBERS, st.integers(0, 3_000), st.integers(0, 3_000))
def test_what_is_missing_is_what_is_not_in_it(numbers, first, length):
    missing = _numbers_of(NumberSet(numbers).missing(first, first + length))
    assert missing == [number for number in range(first, first + length + 1) if number not in numbers]


@given(_NUMBERS, st.integers(0, 6_000))
def test_what_lies_below_a_number_is_counted(numbers, limit):
    assert NumberSet(numbers).count_below(limit) == len({number for number in numbers if number < limit})


@given(_NUMBERS, _NUMBERS)
def test_a_union_holds_what_one_of_them_holds(left, right):
    union = NumberSet.union([NumberSet(left), NumberSet(right)])
    assert _numbers_of(union.ranges()) == sorted({*left, *right})
    assert union.count == len({*left, *right})


@given(_NUMBERS)
def test_it_comes_back_from_its_json(numbers):
    made = NumberSet.decode(NumberSet(numbers).encode())
    assert (made.count, list(made.ranges())) == (len(set(numbers)), list(NumberSet(numbers).ranges()))


def test_chunks_without_a_gap_are_one_range_and_one_integer():
    made = NumberSet(range(4_096))
    assert list(made.ranges()) == [(0, 4_095)]
    assert len(made.chunks) == 4


def test_what_is_forgotten_is_counted_and_not_missing():
    made = NumberSet([0, 5, 1_500, 2_100])
    made.forget_lowest()
    assert (made.floor, made.forgotten, made.count) == (1_024, 2, 2)
    assert not made.add(7)
    assert list(made.missing(0, 1_600)) == [(1_024, 1_499), (1_501, 1_600)]
    union = NumberSet.union([made, NumberSet([3, 2_000])])
    assert (union.floor, union.forgotten, union.count) == (1_024, 3, 3)

"""The set behaves as a set of Python, and forgets from below."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.protocol.number_set import CHUNK, CHUNKS_MAX, FULL, NUMBERS_PER_CHUNK_MIN, NumberSet

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
    assert union.floor == 0
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


@given(_NUMBERS, _NUMBERS)
def test_numbers_of_another_set_are_added_and_those_that_were_in_both_returned(left, right):
    made = NumberSet(left)
    both = made.update(NumberSet(right))
    assert _numbers_of(both.ranges()) == sorted({*left} & {*right})
    assert both.count == len({*left} & {*right})
    assert _numbers_of(made.ranges()) == sorted({*left, *right})
    assert made.count == len({*left, *right})


@given(_NUMBERS, _NUMBERS)
def test_what_another_set_has_can_be_left_out(left, right):
    rest = NumberSet(left).without(NumberSet(right))
    assert _numbers_of(rest.ranges()) == sorted({*left} - {*right})
    assert rest.count == len({*left} - {*right})
    assert all((number in rest) is (number in left and number not in right) for number in (*left, *right))


@given(_NUMBERS, st.integers(-5, 6_000) | st.integers(1 << 50, (1 << 50) + 50))
@example([CHUNK - 1, CHUNK], CHUNK)
@example([CHUNK], CHUNK + 1)
def test_those_below_a_number_are_a_set_of_their_own(numbers, limit):
    below = NumberSet(numbers).below(limit)
    assert _numbers_of(below.ranges()) == sorted({number for number in numbers if number < limit})


@given(st.lists(st.integers(0, 5_000), min_size=1))
def test_the_smallest_is_known(numbers):
    assert NumberSet(numbers).minimum == min(numbers)


@given(_NUMBERS.filter(bool), st.integers(1, 4))
def test_what_is_forgotten_is_always_the_lowest_and_its_count_is_kept(numbers, times):
    made = NumberSet(numbers)
    for _ in range(times):
        if made.count:
            made.forget_lowest()
    kept = sorted({number for number in numbers if number >= made.floor})
    assert _numbers_of(made.ranges()) == kept
    assert (made.count, made.forgotten) == (len(kept), len({*numbers}) - len(kept))
    assert made.floor % CHUNK == 0
    assert not made.add(made.floor - 1)
    assert list(made.missing(0, made.floor - 1)) == []
    assert made.add(made.floor) is (made.floor not in kept)
    again = NumberSet.decode(made.encode())
    assert again.encode() == made.encode()
    assert (again.count, again.floor, again.forgotten) == (made.count, made.floor, made.forgotten)


@given(st.sets(st.integers(0, CHUNK - 1)), st.integers(0, 3))
def test_a_chunk_of_bits_is_its_numbers(places, chunk):
    bits = sum(1 << place for place in places)
    made = NumberSet([chunk * CHUNK, chunk * CHUNK + 7])
    assert made.add_bits(chunk, bits) == bits & 0b1000_0001
    assert _numbers_of(made.ranges()) == sorted(chunk * CHUNK + place for place in places | {0, 7})
    assert made.add_bits(chunk, FULL) == bits | 0b1000_0001
    assert (list(made.ranges()), made.count) == ([(chunk * CHUNK, (chunk + 1) * CHUNK - 1)], CHUNK)


def test_numbers_far_apart_are_sparse_and_complete_chunks_are_not():
    made = NumberSet()
    for chunk in range(CHUNKS_MAX):
        made.add_bits(chunk, 1)
    assert not made.is_sparse
    made.add_bits(CHUNKS_MAX, 1)
    assert made.is_sparse
    for chunk in range(0, CHUNKS_MAX, 2):
        made.add_bits(chunk, FULL)
    assert not made.is_sparse, "few chunks are partly filled"
    dense = NumberSet()
    for chunk in range(CHUNKS_MAX + 1):
        dense.add_bits(chunk, (1 << NUMBERS_PER_CHUNK_MIN) - 1)
    assert not dense.is_sparse, "chunks hold enough on average"


_SAVED = {"floor": CHUNK, "forgotten": 3, "bits": {"1": "ff", "2": "all"}}


@pytest.mark.parametrize(
    "wrong",
    [
        {"floor": -CHUNK},
        {"floor": 5},
        {"floor": "x"},
        {"floor": None},
        {"forgotten": -1},
        {"bits": {"0": "1"}},
        {"bits": {"-1": "1"}},
        {"bits": {"1": "0"}},
        {"bits": {"1": "-1"}},
        {"bits": {"1": f"{FULL + 1:x}"}},
        {"bits": {"1": "xyz"}},
        {"bits": {"1": None}},
        {"bits": {"x": "1"}},
        {"bits": ["abc"]},
        {"bits": None},
    ],
)
def test_a_saved_set_that_cannot_be_is_refused(wrong):
    assert NumberSet.decode(_SAVED).count == 8 + CHUNK
    with pytest.raises((ValueError, KeyError, TypeError)):
        NumberSet.decode({**_SAVED, **wrong})
    with pytest.raises(KeyError):
        NumberSet.decode({name: value for name, value in _SAVED.items() if name not in wrong})

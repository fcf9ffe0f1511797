"""A day of a broker in bounded memory: nothing that happened is lost, it only becomes coarser."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.watch.history import LONGEST_S, MEASURES, TIERS, History

START = 1_800_000_000 // 60 * 60


def busy(value: float) -> dict[str, float]:
    return dict.fromkeys(MEASURES, value)


def seconds_of(answer) -> list[int]:
    return [begin // 1_000_000 for begin in answer["begin_us"]]


def history(seconds: int, value=lambda second: 1.0) -> History:
    reported = History()
    for second in range(START, START + seconds):
        reported.add(second, busy(value(second)))
    return reported


@pytest.fixture(scope="module")
def whole_day() -> History:
    return history(LONGEST_S + 100)


@pytest.mark.parametrize(
    ("ago_s", "resolution_s"), [(300, 1), (590, 1), (3_600, 10), (7_000, 10), (6 * 3_600, 60), (24 * 3_600, 60)]
)
def test_the_finest_tier_that_reaches_back_far_enough_answers(whole_day, ago_s, resolution_s):
    reported = whole_day
    answer = reported.between(reported.last_second - ago_s, reported.last_second)
    assert answer["resolution_s"] == resolution_s
    assert len(seconds_of(answer)) <= max(TIERS.values())
    assert seconds_of(answer)[0] <= max(reported.last_second - ago_s, reported.last_second - LONGEST_S + 60)
    assert seconds_of(answer)[-1] == reported.last_second // resolution_s * resolution_s


def test_a_spike_of_one_second_is_still_there_a_day_later():
    spike = START + 1_000
    reported = history(3 * 3_600, lambda second: 500.0 if second == spike else 2.0)
    answer = reported.between(START, reported.last_second)
    backlog = answer["measures"]["backlog"]
    at = seconds_of(answer).index(spike // 60 * 60)
    assert (backlog["min"][at], backlog["max"][at], backlog["mean"][at]) == (2.0, 500.0, 10.3)
    assert [value for index, value in enumerate(backlog["max"]) if index != at] == [2.0] * (len(backlog["max"]) - 1)


def test_a_latency_of_a_second_without_messages_is_no_zero():
    reported = History()
    reported.add(START, {**busy(7.0), "in_messages": 0})
    reported.add(START + 1, busy(9.0))
    measures = reported.between(START, START + 1)["measures"]
    assert measures["put_p99_us"]["mean"] == [None, 9.0]
    assert measures["in_messages"]["mean"] == [0, 9.0]
    assert measures["deliver_p99_ms"]["mean"] == [7.0, 9.0]


def test_seconds_in_which_nobody_looked_are_a_gap():
    reported = History()
    reported.add(START, busy(1.0))
    reported.add(START + 4, busy(2.0))
    assert reported.between(START - 50, START + 50)["measures"]["backlog"]["max"] == [1.0, None, None, None, 2.0]


def test_a_second_that_comes_again_is_left_out():
    reported = history(3)
    reported.add(START + 1, busy(100.0))
    assert reported.between(START, START + 2)["measures"]["backlog"]["max"] == [1.0, 1.0, 1.0]


def test_what_lies_before_the_start_and_in_the_future_is_empty():
    reported = history(10)
    assert seconds_of(reported.between(START - 500, START - 100)) == []
    assert seconds_of(reported.between(START + 500, START + 600)) == []
    assert seconds_of(History().between(START, START + 10)) == []


@pytest.mark.parametrize("back_s", [3, 90, 5_000, 30_000])
def test_a_clock_that_was_set_back_goes_on_from_there_and_keeps_what_lies_before(back_s):
    reported = history(40_000)
    now = reported.last_second - back_s
    reported.forget_from(now)
    for second in range(now, now + 20):
        reported.add(second, busy(9.0))
    for since_s in (300, 9_000):
        answer = reported.between(now - since_s, now + 100_000)
        assert seconds_of(answer)[-1] <= now + 19 == reported.last_second
        highest = answer["measures"]["backlog"]["max"]
        assert highest[-1] == 9.0
        # Seconds that had been forgotten for later ones are only in the coarser cells.
        assert highest[0] == (9.0 if back_s > 600 and since_s < 600 else 1.0)


@given(st.lists(st.tuples(st.integers(1, 90), st.integers(0, 10_000)), min_size=1, max_size=60))
def test_a_coarse_cell_says_of_its_seconds_what_is_true(steps):
    reported, known, second = History(), {}, START
    for step, value in steps:
        second += step
        known[second] = value
        reported.add(second, busy(value))
    # From so long ago that the coarsest tier answers.
    answer = reported.between(second - 10 * 3_600, second)
    assert answer["resolution_s"] == 60
    backlog = answer["measures"]["backlog"]
    for index, start in enumerate(seconds_of(answer)):
        inside = [value for when, value in known.items() if start <= when < start + 60]
        expected = (min(inside), max(inside), round(sum(inside) / len(inside), 2)) if inside else (None, None, None)
        assert (backlog["min"][index], backlog["max"][index], backlog["mean"][index]) == expected

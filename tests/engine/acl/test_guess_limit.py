"""A client that guesses a secret wrong is slowed, and soon forgiven."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.acl.guess_limit import REMEMBERED_MAX, SECONDS_FOR_ANOTHER, WRONG_AT_ONCE, GuessLimit


def tries(limit, who, now, count):
    """Return how many of these wrong tries are checked."""
    looked_at = 0
    for _ in range(count):
        if not limit.is_slowed(who, now):
            looked_at += 1
            limit.was_wrong(who, now)
    return looked_at


def test_some_tries_are_free_then_one_a_second():
    limit = GuessLimit()
    assert tries(limit, "a", 100.0, 800) == WRONG_AT_ONCE
    assert [tries(limit, "a", 101.0 + second, 800) for second in range(5)] == [1] * 5
    assert tries(limit, "b", 105.0, 1) == 1


def test_who_stops_is_forgiven_at_once_and_all_is_forgotten_later():
    limit = GuessLimit()
    tries(limit, "a", 0.0, 800)
    assert not limit.is_slowed("a", SECONDS_FOR_ANOTHER)
    assert tries(limit, "a", WRONG_AT_ONCE * SECONDS_FOR_ANOTHER, 800) == WRONG_AT_ONCE


def test_the_table_is_bounded():
    limit = GuessLimit()
    for number in range(2 * REMEMBERED_MAX):
        tries(limit, f"address-{number}", 0.0, 50)
    slowed = sum(limit.is_slowed(f"address-{number}", 0.0) for number in range(2 * REMEMBERED_MAX))
    assert slowed == REMEMBERED_MAX


@given(st.lists(st.floats(0, 5), max_size=80))
def test_no_time_brings_more_tries_than_allowed(pauses):
    limit, now, looked_at = GuessLimit(), 0.0, 0
    for pause in pauses:
        now += pause
        looked_at += tries(limit, "a", now, 3)
        assert looked_at <= WRONG_AT_ONCE + now / SECONDS_FOR_ANOTHER + 1e-6

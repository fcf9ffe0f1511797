"""Reservations: in whatever order the calls come, and however often, a service that keeps states does each once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.lab.work.reservations import Done, ReservationEvent, ReservationState, reserve, state_of

EVENTS = {"t": ReservationEvent.TRY, "o": ReservationEvent.CONFIRM, "x": ReservationEvent.CANCEL}


def after(events: str, *, keeps_states: bool = True, most: int = 0) -> tuple[Done, list[ReservationState]]:
    done: Done = {}
    answers = [reserve(done, EVENTS[one], "a", keeps_states=keeps_states, most=most).state for one in events]
    return done, answers


@pytest.mark.parametrize(
    ("events", "answers"),
    [
        ("too", ["tried", "confirmed", "confirmed"]),
        ("ttx", ["tried", "tried", "cancelled"]),
        ("xt", ["cancelled", "cancelled"]),
        ("txo", ["tried", "cancelled", "cancelled"]),
        ("tox", ["tried", "confirmed", "confirmed"]),
        ("o", ["nothing"]),
    ],
)
def test_what_is_not_in_the_table_changes_nothing_and_is_answered_with_what_is(events, answers):
    assert after(events)[1] == answers


@given(st.text(alphabet="tox", max_size=12))
def test_whatever_comes_a_reservation_is_confirmed_once_or_cancelled_once_or_open(events):
    done, _ = after(events)
    times = {event: done.get((event.value, "a"), 0) for event in ReservationEvent}
    assert set(times.values()) <= {0, 1}
    assert sum(times.values()) <= 1
    assert (sum(times.values()) == 0) is (state_of(done, "a") is ReservationState.NOTHING)


def test_without_states_a_second_confirm_sells_twice_and_a_late_try_is_taken():
    assert after("too", keeps_states=False)[0][("confirm", "a")] == 2
    assert after("xt", keeps_states=False)[0] == {("try", "a"): 0, ("cancel", "a"): 1}


def test_no_more_is_reserved_than_there_is_and_what_is_cancelled_is_free_again():
    done: Done = {}

    def call(event: str, key: str) -> str:
        return reserve(done, EVENTS[event], key, keeps_states=True, most=2).state.value

    assert [call("t", key) for key in "abc"] == ["tried", "tried", "refused"]
    assert [call("o", "a"), call("t", "c"), call("x", "b"), call("t", "c")] == [
        "confirmed",
        "refused",
        "cancelled",
        "tried",
    ]

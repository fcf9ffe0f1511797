"""Tables of states: what they allow, and the errors for everything else."""

from __future__ import annotations

import itertools
from enum import Enum, IntEnum, StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.runtime.state_table import IllegalStateChange, next_state, successor


class Lamp(StrEnum):
    OFF = "off"
    ON = "on"
    BROKEN = "broken"


class Hand(Enum):
    PRESS = "press"
    DROP = "drop"


class Gear(IntEnum):
    NEUTRAL = 0
    FIRST = 1


CHANGES = {
    (Lamp.OFF, Hand.PRESS): Lamp.ON,
    (Lamp.ON, Hand.PRESS): Lamp.OFF,
    (Lamp.ON, Hand.DROP): Lamp.BROKEN,
}
FOLLOWING = {Lamp.OFF: (Lamp.ON,), Lamp.ON: (Lamp.OFF, Lamp.BROKEN)}


def test_an_event_changes_the_state_as_the_table_says():
    for (state, event), after in CHANGES.items():
        assert next_state(CHANGES, state, event, "the lamp") is after


@pytest.mark.parametrize(
    ("state", "event", "words"),
    [
        (Lamp.OFF, Hand.DROP, "the lamp is off: drop is not allowed; allowed: press"),
        (Lamp.BROKEN, Hand.PRESS, "the lamp is broken: press is not allowed; allowed: nothing"),
    ],
)
def test_an_event_that_the_state_does_not_allow_is_refused_with_those_allowed(state, event, words):
    with pytest.raises(IllegalStateChange) as refused:
        next_state(CHANGES, state, event, "the lamp")
    assert str(refused.value) == words
    with pytest.raises(LookupError, match=words):
        next_state(CHANGES, state, event, "the lamp", LookupError)


def test_a_state_is_followed_only_by_those_of_its_entry():
    for state, after in itertools.product(Lamp, Lamp):
        if after in FOLLOWING.get(state, ()):
            assert successor(FOLLOWING, state, after, "the lamp") is after
        else:
            with pytest.raises(IllegalStateChange, match=f"the lamp is {state}: {after} is not allowed; allowed: "):
                successor(FOLLOWING, state, after, "the lamp")


def test_states_that_are_numbers_are_named():
    with pytest.raises(IllegalStateChange, match="it is FIRST: FIRST is not allowed; allowed: NEUTRAL"):
        successor({Gear.FIRST: (Gear.NEUTRAL,)}, Gear.FIRST, Gear.FIRST, "it")


@given(st.dictionaries(st.tuples(st.sampled_from(Lamp), st.sampled_from(Hand)), st.sampled_from(Lamp)))
def test_of_any_table_each_change_is_made_or_refused_with_all_that_the_state_allows(table):
    for state, event in itertools.product(Lamp, Hand):
        if (state, event) in table:
            assert next_state(table, state, event, "it") is table[state, event]
            continue
        allowed = [known.value for before, known in table if before is state]
        with pytest.raises(IllegalStateChange) as refused:
            next_state(table, state, event, "it")
        assert str(refused.value).endswith(f"allowed: {', '.join(allowed) or 'nothing'}")


@given(st.dictionaries(st.sampled_from(Gear), st.sets(st.sampled_from(Gear))))
def test_a_state_that_is_zero_is_a_state_like_any_other(table):
    for state, after in itertools.product(Gear, Gear):
        if after in table.get(state, ()):
            assert successor(table, state, after, "it") is after
        else:
            with pytest.raises(IllegalStateChange):
                successor(table, state, after, "it")

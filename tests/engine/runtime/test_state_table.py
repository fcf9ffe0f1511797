"""Tables of states: what they allow, and the errors for everything else."""

from __future__ import annotations

import itertools
from enum import Enum, IntEnum, StrEnum

import pytest

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

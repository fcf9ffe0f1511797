"""The state tables: what they allow, and that nothing else is allowed."""

from __future__ import annotations

import itertools

import pytest

from engine.runtime.state_table import next_state
from engine.xa.errors import IllegalTransition
from engine.xa.states import (
    BRANCH_TRANSITIONS,
    GLOBAL_TRANSITIONS,
    BranchEvent,
    BranchState,
    GlobalEvent,
    GlobalState,
)

TABLES = [(GLOBAL_TRANSITIONS, GlobalState, GlobalEvent), (BRANCH_TRANSITIONS, BranchState, BranchEvent)]


@pytest.mark.parametrize(("table", "states", "events"), TABLES)
def test_what_is_not_in_the_table_raises_and_says_what_is_allowed(table, states, events):
    for state, event in itertools.product(states, events):
        if (state, event) in table:
            assert next_state(table, state, event, "x") is table[state, event]
        else:
            with pytest.raises(IllegalTransition, match=f"x is {state}: {event} is not allowed; allowed: "):
                next_state(table, state, event, "x", IllegalTransition)


@pytest.mark.parametrize(("table", "states", "events"), TABLES)
def test_every_state_can_be_reached_and_final_ones_are_left_by_nothing(table, states, events):
    reachable = {next(iter(states)), *table.values()}
    assert reachable == set(states)
    assert {state for state in states if state.is_final} == set(states) - {state for state, _ in table}


def test_a_branch_that_voted_yes_ends_only_by_a_word_from_outside():
    allowed = [event for state, event in BRANCH_TRANSITIONS if state is BranchState.PREPARED]
    assert allowed == [BranchEvent.COMMIT, BranchEvent.ROLLBACK]


def test_a_global_transaction_commits_only_when_all_have_voted_yes():
    before = [state for (state, event), after in GLOBAL_TRANSITIONS.items() if after is GlobalState.COMMITTING]
    assert before == [GlobalState.PREPARED]

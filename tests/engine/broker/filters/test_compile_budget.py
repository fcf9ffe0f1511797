"""The words of new expressions that connections share."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.broker.filters.compile_budget import CompileBudget
from engine.filter.compiler import WORDS_MAX

PER_SECOND = 5_000


class Clock:
    def __init__(self) -> None:
        self.now_us = 7_300_000

    def __call__(self) -> int:
        return self.now_us


def flood(budget: CompileBudget, connections: int, words: int) -> int:
    """Each connection takes what it gets, one after the other; how much they got."""
    taken = 0
    for number in range(connections):
        while budget.take(f"flood-{number}", words):
            taken += words
    return taken


@pytest.mark.parametrize(("connections", "words"), [(1, 3), (1, WORDS_MAX), (2, WORDS_MAX), (20, 3), (200, 3)])
def test_whoever_asks_a_little_is_served_while_others_flood(connections, words):
    clock = Clock()
    budget = CompileBudget(PER_SECOND, clock)
    flood(budget, connections, words)
    for _ in range(5):
        clock.now_us += 1_000_000
        flood(budget, connections, words)
        assert [budget.take("honest", 3) for _ in range(5)] == [True] * 5


def test_the_longest_expression_is_compiled_beside_a_flood():
    budget = CompileBudget(PER_SECOND, Clock())
    flood(budget, 1, 3)
    assert budget.take("honest", WORDS_MAX)


def test_a_connection_alone_gets_a_third_of_the_words():
    assert flood(CompileBudget(PER_SECOND, Clock()), 1, 1) == PER_SECOND // 3


def test_an_expression_longer_than_a_seconds_words_is_compiled_and_paid_for():
    clock = Clock()
    budget = CompileBudget(10, clock)
    assert budget.take("a", 35)
    for _ in range(3):
        assert not budget.take("b", 1)
        clock.now_us += 1_000_000
    assert budget.take("b", 1)


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(1, WORDS_MAX), st.sampled_from([0, 0, 0, 300_000, 5_000_000])),
        max_size=60,
    )
)
def test_no_second_brings_more_than_its_words(asks):
    clock = Clock()
    budget = CompileBudget(PER_SECOND, clock)
    taken: dict[int, int] = {}
    for number, words, passes_us in asks:
        clock.now_us += passes_us
        if budget.take(f"c{number}", words):
            second = clock.now_us // 1_000_000
            taken[second] = taken.get(second, 0) + words
    assert all(words <= PER_SECOND for words in taken.values())

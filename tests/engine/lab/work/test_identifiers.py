"""Ids that machines make: unique as long as each has its number and its clock goes on."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.lab.work.identifiers import WORKER_MAX, IdentifierConfig, IdentifierMaker
from engine.runtime.lab.lab_runtime import LabMachines
from tests.support.idempotence.deliveries import SetClock

_STEPS = st.lists(st.integers(0, 3), max_size=40)


def ids(worker: int, steps_ms: list[int]) -> list[int]:
    """Made by one worker whose clock goes on by so much before each."""
    clock = SetClock()
    maker = IdentifierMaker(clock, lambda: IdentifierConfig(worker))
    made = []
    for step_ms in steps_ms:
        clock.time_ms += step_ms
        made.append(asyncio.run(maker.next_id()))
    return made


@given(_STEPS, _STEPS, st.integers(0, WORKER_MAX), st.integers(0, WORKER_MAX))
def test_they_grow_and_two_workers_have_none_in_common(first, second, one, other):
    made = ids(one, first)
    assert made == sorted(set(made))
    assert all(0 < number < 1 << 63 for number in made)
    if one != other:
        assert not set(made) & set(ids(other, second))


def test_two_workers_with_one_number_and_a_clock_that_goes_back_make_the_same_ids():
    assert ids(1, [5, 5]) == ids(1, [5, 5])
    first, _, again = ids(1, [1_000, 2_000, -2_000])
    assert again == first


def test_who_waits_for_its_clock_makes_none_twice():
    with LabMachines(seed=1) as world:
        node = world.node("P1")
        maker = IdentifierMaker(node.clock, lambda: IdentifierConfig(1, identifier_waits_for_clock=True))
        first = node.run(maker.next_id())
        node.clock.skew_ms = -2_000
        begun_us = world.loop.now_us
        assert node.run(maker.next_id()) > first
        assert world.loop.now_us - begun_us == 2_000_000


def test_more_than_fit_into_a_millisecond_wait_for_the_next():
    with LabMachines(seed=1) as world:
        node = world.node("P1")
        maker = IdentifierMaker(node.clock, IdentifierConfig)
        made = [node.run(maker.next_id()) for _ in range(5_000)]
        assert made == sorted(set(made))


@pytest.mark.parametrize("worker", [-1, WORKER_MAX + 1])
def test_a_worker_has_a_number_that_fits(worker):
    with pytest.raises(ValueError, match="allowed: 0 to 1023"):
        IdentifierConfig(worker)

"""Garbage of worlds that are made by the thousand."""

from __future__ import annotations

import gc
import weakref

import pytest

from engine.lab.run.gc_pause import with_gc_paused


class _Cycle:
    """Only the garbage collector frees it."""

    def __init__(self) -> None:
        self.myself = self


_failed: list[weakref.ref[_Cycle]] = []


@with_gc_paused
def _make(fails: bool) -> weakref.ref[_Cycle]:
    assert not gc.isenabled()
    made = _Cycle()
    if fails:
        _failed.append(weakref.ref(made))
        raise ValueError("as asked for")
    return weakref.ref(made)


def test_what_was_made_is_gone_and_the_collector_runs_again() -> None:
    assert _make(False)() is None
    assert gc.isenabled()


def test_the_collector_runs_again_after_a_failure() -> None:
    with pytest.raises(ValueError, match="as asked for"):
        _make(True)
    assert gc.isenabled()


def test_what_a_failure_left_goes_before_the_next_one() -> None:
    for _ in range(3):
        try:
            _make(True)
        except ValueError:
            gc.collect(0)  # as Python does by itself when much was made
    _make(False)
    assert [failed() for failed in _failed[-3:]] == [None] * 3


def test_within_another_one_nothing_is_collected() -> None:
    @with_gc_paused
    def outer() -> tuple[weakref.ref[_Cycle], bool]:
        inner = _make(False)
        return inner, inner() is not None

    inner, was_left = outer()
    assert was_left
    assert inner() is None

"""The interval around a measured rate."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.lab.sweep.wilson import wilson_interval


@pytest.mark.parametrize(
    ("hits", "runs", "low", "high"),
    [(0, 10, 0.0, 0.2775), (1, 10, 0.0179, 0.4042), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0), (0, 0, 0.0, 1.0)],
)
def test_known_intervals(hits, runs, low, high):
    assert wilson_interval(hits, runs) == pytest.approx((low, high), abs=1e-4)


@given(st.integers(1, 10**6).flatmap(lambda runs: st.tuples(st.integers(0, runs), st.just(runs))))
def test_the_interval_holds_the_rate_and_stays_a_share(case):
    hits, runs = case
    low, high = wilson_interval(hits, runs)
    assert 0 <= low <= hits / runs <= high <= 1
    assert low < high

"""How often a rule acts, until when, and which rules cannot be."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.faults.errors import FaultRefused
from engine.faults.fault_rule import Direction, FaultAction, FaultRule, fits


def hits_of(rule, frames):
    """Numbers of the frames, from 1, on which the rule acted."""
    return [number for number in range(1, frames + 1) if not rule.is_spent(0) and rule.takes()]


def test_a_rule_acts_on_so_many_frames_and_is_spent():
    rule = FaultRule(FaultAction.DROP, times=2)
    assert hits_of(rule, 5) == [1, 2]
    assert (rule.seen, rule.hits, rule.is_spent(0)) == (2, 2, True)


def test_a_rule_acts_on_every_nth_frame():
    assert hits_of(FaultRule(FaultAction.DROP, every=3, times=2), 12) == [3, 6]


def test_a_ratio_is_drawn_from_the_seed():
    first, again, other = (hits_of(FaultRule(FaultAction.DROP, ratio=0.3, seed=seed), 1_000) for seed in (5, 5, 6))
    assert first == again != other
    assert 200 < len(first) < 400
    assert hits_of(FaultRule(FaultAction.DROP, ratio=0.0), 100) == []


def test_a_rule_ends_with_its_time_and_when_the_clock_is_set_back():
    rule = FaultRule(FaultAction.DROP, for_ms=1_000, made_ms=5_000)
    assert [rule.is_spent(now_ms) for now_ms in (4_999, 5_000, 5_999, 6_000)] == [True, False, False, True]
    assert not FaultRule(FaultAction.DROP).is_spent(10**15)


@pytest.mark.parametrize("what", [FaultAction.REJECT, FaultAction.ANSWER_LATE])
@pytest.mark.parametrize("options", [{"frame": "reply"}, {"frame": "reply to PULL_MESSAGE"}, {"direction": "out"}])
def test_only_requests_are_rejected_or_answered_late(what, options):
    with pytest.raises(FaultRefused) as refused:
        FaultRule(what, **options)
    assert {*dict(refused.value.text)} == {"en", "zh"}


def test_a_request_that_is_answered_late_is_a_reply_that_is_delayed():
    rule = FaultRule(FaultAction.ANSWER_LATE, "PULL_MESSAGE")
    assert (rule.frame, rule.direction) == ("reply to PULL_MESSAGE", Direction.OUT)


@pytest.mark.parametrize(
    ("pattern", "name", "does"),
    [
        ("orders", "orders", True),
        ("orders", "orders-2", False),
        ("orders*", "orders-2", True),
        ("*", "", True),
        ("ord*rs", "orders", False),
        ("Orders", "orders", False),
    ],
)
def test_a_pattern_is_a_whole_name_or_the_beginning_of_one(pattern, name, does):
    assert fits(pattern, name) is does


@given(st.binary(max_size=200), st.integers(0, 1 << 53))
def test_a_spoiled_frame_has_one_byte_turned_behind_the_first_four(frame, seed):
    spoiled = FaultRule(FaultAction.CORRUPT, seed=seed).spoil(frame)
    assert len(spoiled) == len(frame)
    differing = [at for at in range(len(frame)) if spoiled[at] != frame[at]]
    assert len(differing) == (1 if len(frame) > 4 else 0)
    assert all(at >= 4 and spoiled[at] == frame[at] ^ 0xFF for at in differing)

"""After a reset only what a group has pulled from there on may be confirmed, for half a minute."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.broker.tables import offset_resets
from engine.broker.tables.offset_resets import GUARD_MS, BrokerOffsetResets

QUEUE = ("g", "T", 0)


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.us = 0

    def now_ms(self) -> int:
        return self.us // 1_000

    def monotonic_us(self) -> int:
        return self.us


@given(
    target=st.integers(0, 50),
    pulls=st.lists(st.tuples(st.integers(0, 50), st.integers(1, 10))),
    commit=st.integers(0, 70),
)
def test_a_commit_is_taken_where_an_unbroken_line_of_pulls_leads_from_the_reset_to_it(target, pulls, commit):
    resets = BrokerOffsetResets(Clock())
    resets.begin(*QUEUE, target)
    end = target
    for begin, count in pulls:
        resets.note_pull(*QUEUE, begin, begin + count)
        if target <= begin <= end:
            end = max(end, begin + count)
    assert resets.lets_commit(*QUEUE, commit) == (target <= commit <= end)
    assert resets.lets_commit("other", "T", 0, commit)


def test_the_protection_ends_and_takes_no_room_then():
    clock = Clock()
    resets = BrokerOffsetResets(clock)
    resets.begin(*QUEUE, 5)
    assert not resets.lets_commit(*QUEUE, 9)
    clock.us = GUARD_MS * 1_000
    assert resets.lets_commit(*QUEUE, 9)
    resets.begin("g", "T", 1, 0)
    assert len(resets) == 1


def test_the_queues_that_are_protected_are_bounded(monkeypatch):
    monkeypatch.setattr(offset_resets, "_QUEUES_MAX", 3)
    resets = BrokerOffsetResets(Clock())
    for queue_id in range(9):
        resets.begin("g", "T", queue_id, 0)
    assert len(resets) == 3
    assert resets.lets_commit("g", "T", 5, 7)
    assert not resets.lets_commit("g", "T", 8, 7)

"""The trend of a backlog: it follows from how the backlog moved, not from a burst or the sawtooth of commits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.watch.backlogs import ALL, LEAST_MS, Backlogs, BacklogTrend, Trend
from app.watch.facts import Facts, GroupFacts, QueueOf, QueueProgressFacts

START_MS = 1_800_000_000_000


def facts(second: float, stored: int, read: int, topic: str = "orders") -> Facts:
    lag = stored - read
    queues = {QueueOf(topic, 0): QueueProgressFacts(read, lag, is_owned=True)}
    return Facts(START_MS + round(1_000 * second), 1, {"reports": GroupFacts(lag, 1, queues)})


def trend(looks: list[tuple[int, int]], topic: str = ALL) -> Trend:
    """``(stored, read)`` of each second."""
    backlogs = Backlogs()
    for second, (stored, read) in enumerate(looks):
        backlogs.take(facts(second, stored, read))
    return backlogs.trend("reports", topic)


def saw(seconds: int, per_s: int, lag: int = 0) -> list[tuple[int, int]]:
    """A group that reads as fast as is stored, and commits every 5 s."""
    return [(lag + per_s * second, per_s * (second // 5 * 5)) for second in range(seconds)]


@pytest.mark.parametrize(
    ("looks", "kind"),
    [
        ([(3_000 + 15 * n, 10 * n) for n in range(40)], BacklogTrend.GROWING),
        ([(3_000 + 15 * n, 0) for n in range(40)], BacklogTrend.UNREAD),
        ([(3_000, 0)] * 40, BacklogTrend.STANDING),
        ([(3_000 + 10 * n, 10 * n) for n in range(40)], BacklogTrend.STEADY),
        ([(3_000 + 10 * n, 20 * n) for n in range(40)], BacklogTrend.GONE),
        ([(50 + 10 * n, 10 * n) for n in range(40)], BacklogTrend.KEEPS_UP),
        ([(3_000 + 15 * n, 10 * n) for n in range(14)], BacklogTrend.UNKNOWN),
        (
            [(3_000 + 10 * n, 500 + 10 * n) for n in range(30)] + [(3_300, 20)],
            BacklogTrend.UNKNOWN,
        ),  # offsets were reset
        (saw(60, 100), BacklogTrend.KEEPS_UP),
        (saw(60, 10, lag=3_000), BacklogTrend.STEADY),
    ],
)
def test_what_becomes_of_a_backlog(looks, kind):
    assert trend(looks).kind is kind
    assert trend(looks, "orders").kind is kind


@pytest.mark.parametrize("seconds", range(1, 70))
def test_a_burst_is_never_called_growing(seconds):
    burst = [(0, 0)] * 20 + [(2_000, 0)] * seconds
    assert trend(burst).kind in (BacklogTrend.UNKNOWN, BacklogTrend.STANDING)
    read_slowly = [(10 * n, 10 * n) for n in range(20)] + [(2_000 + 10 * n, 10 * n) for n in range(20, 20 + seconds)]
    assert trend(read_slowly).kind in (BacklogTrend.UNKNOWN, BacklogTrend.STEADY)


def test_what_has_stopped_growing_is_not_called_growing_for_long():
    grown = [(3_000 + 30 * n, 10 * n) for n in range(60)]
    assert trend(grown).kind is BacklogTrend.GROWING
    assert round(trend(grown).per_s, 6) == 20
    stopped = grown + [(4_770 + 10 * n, 590 + 10 * n) for n in range(1, 12)]
    assert trend(stopped).kind is BacklogTrend.STEADY


def test_what_shrinks_is_reported_when_it_will_be_gone():
    reported = trend([(3_000 + 10 * n, 60 * n) for n in range(31)])
    assert (reported.kind, round(reported.per_s, 6), reported.left_ms) == (BacklogTrend.GONE, -50, 30_000)


def test_the_page_shows_each_topic_where_something_waits():
    backlogs = Backlogs()
    for second in range(31):
        queues = {
            QueueOf("orders", 0): QueueProgressFacts(60 * second, 3_000 - 50 * second, is_owned=True),
            QueueOf("calm", 0): QueueProgressFacts(7, 0, is_owned=True),
        }
        group = GroupFacts(3_000 - 50 * second, 1, queues)
        backlogs.take(Facts(START_MS + 1_000 * second, 1, {"reports": group, "idle": GroupFacts(0, 1, {})}))
    gone = {"kind": "gone", "left_us": 30_000_000}
    assert backlogs.as_json() == {"reports": {ALL: gone, "orders": gone}}


def test_the_same_second_twice_counts_once_and_a_clock_that_was_set_back_begins_anew():
    backlogs = Backlogs()
    for second in range(40):
        for _ in range(10):
            backlogs.take(facts(second, 3_000 + 15 * second, 10 * second))
    assert backlogs.trend("reports").kind is BacklogTrend.GROWING
    backlogs.take(facts(-500, 4_000, 500))
    assert backlogs.trend("reports").kind is BacklogTrend.UNKNOWN


def test_a_group_that_does_nothing_for_days_keeps_one_look():
    backlogs = Backlogs()
    for second in range(100):
        backlogs.take(facts(second, 70, 70))
    assert [len(looks) for looks in backlogs._looks.values()] == [1, 1]


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=60))
def test_growth_is_reported_only_where_more_waits_than_before(steps):
    backlogs, second, stored, read, lags = Backlogs(), 0, 0, 0, {}
    for passed, more, taken in steps:
        second, stored = second + passed, stored + more
        read = min(stored, read + taken)
        lags[second] = stored - read
        backlogs.take(facts(second, stored, read))
    reported = backlogs.trend("reports")
    seen = [lag for at, lag in lags.items() if at >= second - 30]
    if reported.kind in (BacklogTrend.GROWING, BacklogTrend.UNREAD):
        assert reported.per_s > 0
        assert lags[second] > min(seen)
    if reported.kind is BacklogTrend.GONE:
        assert reported.left_ms > 0 or lags[second] == 0
        assert lags[second] < max(seen)
    if second - min(at for at in lags if at >= second - 30) < LEAST_MS / 1_000:
        assert reported.kind is BacklogTrend.UNKNOWN

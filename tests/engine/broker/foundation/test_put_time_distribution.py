"""How many sends of a minute took how long."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from engine.broker.foundation.put_time_distribution import CLASSES, PutTimeDistribution


def counts(text: str) -> dict[str, int]:
    """As the exporter reads it."""
    return {name: int(count) for name, count in (part.split(":") for part in text.split(" "))}


def test_each_duration_is_in_the_class_of_its_milliseconds():
    distribution = PutTimeDistribution()
    times_us = (0, 999, 1_000, 9_999, 10_000, 99_999, 100_000, 499_999, 500_000, 4_999_999, 5_000_000, 60_000_000)
    distribution.add(60, dict.fromkeys(times_us, 1))
    assert [name for name, count in counts(distribution.last_minute(120)).items() for _ in range(count)] == [
        *["[<=0ms]"] * 2,
        *["[0~10ms]"] * 2,
        "[10~50ms]",
        "[50~100ms]",
        "[100~200ms]",
        "[200~500ms]",
        "[500ms~1s]",
        "[4~5s]",
        "[5~10s]",
        "[10s~]",
    ]


@given(st.lists(st.integers(0, 20_000_000_000).map(lambda ns: ns // 1_000)), st.integers(0, 5))
def test_only_the_last_full_minute_is_shown(times_us, minutes_later):
    distribution = PutTimeDistribution()
    for number, time_us in enumerate(times_us):
        distribution.add(600 + number % 60, {time_us: 1})
    shown = counts(distribution.last_minute(600 + 60 * minutes_later))
    assert tuple(shown) == CLASSES
    assert sum(shown.values()) == (len(times_us) if minutes_later == 1 else 0)


def test_a_clock_that_goes_back_shows_nothing_of_a_later_minute():
    distribution = PutTimeDistribution()
    distribution.add(600, {1: 5})
    assert sum(Counter(counts(distribution.last_minute(300))).values()) == 0

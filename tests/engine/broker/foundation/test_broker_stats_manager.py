import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.broker.foundation.broker_stats_manager import HISTORY_SECONDS, BrokerStatsManager, PutLatencyHistogram

START_MS = 1_000_000_000_000


def test_a_full_second_holds_what_happened_in_it():
    stats = BrokerStatsManager(START_MS)
    stats.record_put("T", 1, 100, 40, START_MS + 10)
    stats.record_put("T", 3, 300, 100, START_MS + 999)
    stats.record_pull("T", "g", 2, 200, START_MS + 900, START_MS + 950)
    stats.record_put("T", 1, 100, 40, START_MS + 1_000)
    second = stats.last_second(START_MS + 1_500)
    assert (second.second, second.in_messages, second.in_bytes) == (START_MS // 1_000, 4, 400)
    assert (second.out_messages, second.out_bytes, second.pulls_found) == (2, 200, 1)
    assert second.put_p50_us == 40
    assert 100 <= second.put_p99_us <= 103
    assert second.deliver_p50_ms == 50


def test_the_slowest_thousandth_is_reported_of_the_last_full_second_only():
    stats = BrokerStatsManager(START_MS)
    for latency_us in [10] * 995 + [50_000] * 5:
        stats.record_put("T", 1, 100, latency_us, START_MS)
    assert stats.last_second(START_MS + 1_000).put_p99_us == 10
    assert 50_000 <= stats.put_p999_us(START_MS + 1_000) <= 51_600
    assert stats.put_p999_us(START_MS + 2_000) == 0


def test_quiet_seconds_are_zero_even_where_the_ring_was_used_before():
    stats = BrokerStatsManager(START_MS)
    for second in range(HISTORY_SECONDS):
        stats.record_put("T", 1, 1, 1, START_MS + second * 1_000)
    later = START_MS + (HISTORY_SECONDS + 300) * 1_000
    history = stats.history(later)
    assert len(history) == HISTORY_SECONDS - 1
    assert [entry.second for entry in history] == list(range(later // 1_000 - len(history), later // 1_000))
    assert sum(entry.in_messages for entry in history) == 299
    assert all(entry.in_messages == 0 for entry in history[-300:])


def test_a_gap_longer_than_the_ring_leaves_nothing_behind():
    stats = BrokerStatsManager(START_MS)
    stats.record_put("T", 5, 5, 1, START_MS)
    assert all(entry.in_messages == 0 for entry in stats.history(START_MS + 10_000_000))
    assert stats.totals.in_messages == 5


def test_totals_are_kept_per_topic_and_group():
    stats = BrokerStatsManager(START_MS)
    stats.record_put("A", 2, 20, 1, START_MS)
    stats.record_put("B", 1, 10, 1, START_MS)
    stats.record_pull("A", "g", 2, 20, START_MS, START_MS)
    assert (stats.topics["A"].in_messages, stats.topics["A"].out_messages) == (2, 2)
    assert stats.groups["A", "g"].out_bytes == 20
    stats.forget_topic("A")
    assert list(stats.topics) == ["B"]
    assert not stats.groups


def test_the_totals_per_topic_are_bounded():
    stats = BrokerStatsManager(START_MS, max_entries=2)
    for name in "ABC":
        stats.record_put(name, 1, 1, 1, START_MS)
        stats.record_pull(name, "g", 1, 1, START_MS, START_MS)
    assert list(stats.topics) == ["A", "B"]
    assert len(stats.groups) == 2
    assert stats.totals.in_messages == 3


def test_the_rate_of_a_group_is_that_of_the_last_minute():
    stats = BrokerStatsManager(START_MS)
    stats.record_pull("T", "g", 100, 1, START_MS, START_MS)
    assert stats.group_get_tps("T", "g") == 0.0
    stats.sample()
    assert stats.group_get_tps("T", "g") == pytest.approx(10.0)
    for _ in range(6):
        stats.sample()
    assert stats.group_get_tps("T", "g") == 0.0


def test_a_rate_soon_after_the_start_is_over_what_has_passed():
    stats = BrokerStatsManager(START_MS)
    assert stats.per_second("in_messages", START_MS + 500, 10) == 0.0
    stats.record_put("T", 6, 1, 1, START_MS)
    assert stats.per_second("in_messages", START_MS + 2_000, 10) == pytest.approx(3.0)
    assert stats.per_second("in_messages", START_MS + 60_000, 10) == 0.0


def test_midnight_moves_the_totals_of_the_morning():
    stats = BrokerStatsManager(START_MS)
    stats.record_put("T", 3, 1, 1, START_MS)
    stats.advance(START_MS + 86_400_000)
    assert stats.today_morning == (3, 0)
    stats.record_put("T", 1, 1, 1, START_MS + 86_400_000)
    stats.advance(START_MS + 2 * 86_400_000)
    assert (stats.yesterday_morning, stats.today_morning) == ((3, 0), (4, 0))


@given(st.lists(st.integers(min_value=0, max_value=2_000_000_000), min_size=1), st.sampled_from([0.5, 0.9, 0.99]))
def test_a_percentile_is_exact_when_small_never_too_low_and_at_most_one_part_in_32_too_high(values, share):
    histogram = PutLatencyHistogram()
    for value in values:
        histogram.record(value)
    ordered = sorted(values)
    rank = next(i for i in range(1, len(ordered) + 1) if i >= share * len(ordered))
    exact = ordered[rank - 1]
    found = histogram.percentile(share)
    assert exact <= found <= exact + exact // 32
    assert found == exact or exact >= 64


def test_a_histogram_stays_small_whatever_it_counts():
    histogram = PutLatencyHistogram()
    for bits in range(64):
        for value in range(1 << bits, 2 << bits, max(1, (1 << bits) // 100)):
            histogram.record(value)
    assert len(histogram.cells) <= 896


@pytest.mark.parametrize("back_s", [3, 90, 599, 600, 5_000])
def test_a_clock_that_was_set_back_begins_its_seconds_anew(back_s):
    stats = BrokerStatsManager(START_MS)
    for second in range(700):
        stats.record_put("T", 7, 70, 5, START_MS + 1_000 * second)
    now = START_MS + 1_000 * (699 - back_s)
    for second in range(4):
        stats.record_put("T", 2, 20, 5, now + 1_000 * second)
    reported = stats.history(now + 4_000)
    assert reported[-1].second == now // 1_000 + 3
    assert [one.in_messages for one in reported[-3:]] == [2, 2, 2]
    assert reported[-4].in_messages == 9, "what the last second of the old time had counted so far is in the first one"
    before = [one.in_messages for one in reported if one.second < now // 1_000]
    assert before.count(7) == min(len(before), max(0, HISTORY_SECONDS - 1 - back_s))
    assert set(before) <= {0, 7}


def test_a_clock_that_sways_by_a_second_closes_nothing():
    stats = BrokerStatsManager(START_MS)
    stats.record_put("T", 1, 10, 5, START_MS + 1_000)
    stats.record_put("T", 1, 10, 5, START_MS)
    assert stats.history(START_MS + 2_000)[-1].in_messages == 2


def test_a_clock_that_went_back_counts_as_no_latency():
    histogram = PutLatencyHistogram()
    histogram.record(-5)
    assert histogram.percentile(0.99) == 0

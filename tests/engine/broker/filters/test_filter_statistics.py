"""Counts of what filters did."""

from engine.broker.filters.filter_statistics import FilterStatistics


def test_counts_add_up_per_subscription_and_the_table_is_bounded():
    statistics = FilterStatistics(max_entries=1)
    statistics.record("g", "T", 2, 3)
    statistics.record("g", "U", 1, 1)
    statistics.record("g", "T", 1, 0)
    assert list(statistics.counts) == [("g", "T")]
    known, unknown = statistics.of("g", "T"), statistics.of("g", "U")
    assert (known.let_through, known.kept_back) == (3, 3)
    assert (unknown.let_through, unknown.kept_back) == (0, 0)

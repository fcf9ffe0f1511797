"""What the driver keeps and tells of windows."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.pipeline.jobs.traffic import item_counts
from engine.pipeline.jobs.traffic import picture as picture_module
from engine.pipeline.jobs.traffic.description import DESCRIPTION
from engine.pipeline.jobs.traffic.picture import TrafficPicture, TrafficWindowFigures, imbalance
from tests.support.pipeline.memory_report import MemoryReport


def window(start_ms, messages, topic="Orders", **figures):
    known = {"bytes": None, "p50_ms": 1, "p99_ms": 9, "max_ms": 20, "queues": {}, "tags": {}, "keys": {}}
    return TrafficWindowFigures(start_ms, topic, messages, **(known | figures))


@pytest.fixture
def report():
    return MemoryReport()


def make(report, patience_ms=0, queues=4):
    return TrafficPicture(report, 1_000, 2, {"Orders": queues}, patience_ms)


def test_queues_without_messages_count_for_the_imbalance(report):
    assert imbalance([10], 4).max_to_mean == 4
    assert imbalance([5, 5], 2) == (imbalance([], 2)) == imbalance([0, 0], 2)
    assert imbalance([2, 4, 4, 4, 5, 5, 7, 9], 8).variation == pytest.approx(2 / 5)


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=20))
def test_imbalance_has_bounds(counts):
    found = imbalance(counts, len(counts))
    assert 1 <= found.max_to_mean <= len(counts) + 1e-9
    assert 0 <= found.variation <= len(counts) ** 0.5 + 1e-9


def test_rows_are_those_that_the_description_names(report):
    picture = make(report)
    picture.update([window(0, 10, bytes=50, queues={"a:0": 10}, tags={"T": 10}, keys={"k": 3})])
    columns = {table.name: len(table.columns) for table in DESCRIPTION.tables}
    for name, rows in report.tables.items():
        assert [len(row) for row in rows] == [columns[name]] * len(rows), name
    assert report.tables["windows"] == [[0, "Orders", 10, 10.0, 50.0, 1, 9, 20, 4.0, pytest.approx(3**0.5)]]
    assert report.tables["queues"] == [["Orders", "a:0", 10, 1.0, 4.0]]
    assert report.tables["keys"] == [["Orders", "k", 3, True, 0.3, 0.3, 0]]


def test_newer_figures_of_a_window_replace_the_older_ones(report):
    picture = make(report)
    picture.update([window(0, 10, tags={"T": 10})])
    picture.update([window(0, 12, tags={"T": 11, "U": 1}), window(1_000, 4, tags={"U": 4})])
    assert [(row[0], row[2]) for row in report.tables["windows"]] == [(1_000, 4), (0, 12)]
    assert report.tables["topics"][0][:5] == ["Orders", 16, None, 12.0, 0]
    assert report.tables["tags"] == [
        ["Orders", "T", 11, True, 11 / 16, 11 / 12, 0],
        ["Orders", "U", 5, True, 5 / 16, 1.0, 1_000],
    ]


def test_the_points_of_a_window_are_reported_once_when_it_cannot_grow_any_more(report):
    picture = make(report, patience_ms=2_000)

    def throughput():
        return [(x, y) for plot, _, x, y in report.points if plot == "throughput"]

    picture.update([window(0, 10), window(1_000, 20)])
    assert throughput() == []
    picture.update([window(0, 11), window(2_000, 5)])
    assert throughput() == [(0, 11)]
    picture.close_until(4_000)
    assert throughput() == [(0, 11), (1_000, 20)]
    picture.close_until(inf)
    picture.close_until(inf)
    assert throughput() == [(0, 11), (1_000, 20), (2_000, 5)]


def test_where_nothing_came_the_throughput_is_nought(report):
    picture = make(report)
    picture.update([window(0, 10), window(1_000, 20)])
    picture.update([window(6_000, 5), window(8_000, 5)])
    picture.close_until(inf)
    throughput = [(x, y) for plot, _, x, y in report.points if plot == "throughput"]
    assert throughput == [(0, 10), (1_000, 20), (2_000, 0), (5_000, 0), (6_000, 5), (7_000, 0), (8_000, 5)]


def test_what_is_dropped_before_it_is_reported_is_not_silence(report, monkeypatch):
    monkeypatch.setattr(picture_module, "WINDOWS_MAX", 2)
    picture = make(report, patience_ms=0)
    picture.update([window(0, 10)])
    picture.update([window(number * 1_000, 10) for number in range(1, 6)])
    picture.update([window(8_000, 10)])
    throughput = [(x, y) for plot, _, x, y in report.points if plot == "throughput"]
    assert throughput == [(0, 10), (4_000, 10), (5_000, 10), (6_000, 0), (7_000, 0), (8_000, 10)]


def test_memory_is_bounded_and_sums_go_on_over_what_was_dropped(report, monkeypatch):
    monkeypatch.setattr(picture_module, "WINDOWS_MAX", 10)
    monkeypatch.setattr(item_counts, "ITEMS_MAX", 20)
    picture = make(report)
    for number in range(100):
        picture.update([window(number * 1_000, 10, keys={f"k{number}": 1, "hot": 9})])
    assert report.tables["topics"][0][1] == 1_000
    assert report.tables["keys"][0][1:3] == ["hot", 900]
    assert picture.left_out == 90
    assert len(picture._sums()["Orders"].keys.items) <= 20, "of many keys the rarest are forgotten"
    assert len(report.tables["windows"]) == 10

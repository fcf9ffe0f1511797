"""Whether the count of a tag or key over several windows is exact."""

from __future__ import annotations

import pytest

from engine.pipeline.jobs.traffic import item_counts
from engine.pipeline.jobs.traffic.item_counts import ItemCounts


def exact(counts: ItemCounts) -> dict[str | None, tuple[int, bool]]:
    return {name: (item.messages, counts.is_exact(item)) for name, item in counts.top(10)}


def test_a_count_is_exact_if_the_item_was_in_every_list_that_leaves_some_out():
    counts = ItemCounts()
    counts.add({"a": 3}, 3, 0, are_exact=True, are_all=True)
    assert exact(counts) == {"a": (3, True)}
    # There may be an "a" that is not listed.
    counts.add({"b": 5, "c": 4}, 12, 1, are_exact=True, are_all=False)
    assert exact(counts) == {"b": (5, True), "c": (4, True), "a": (3, False)}


def test_no_count_is_exact_after_a_window_that_estimated():
    counts = ItemCounts()
    counts.add({"a": 3}, 3, 0, are_exact=True, are_all=True)
    counts.add({"a": 9}, 30, 1, are_exact=False, are_all=False)
    assert exact(counts) == {"a": (12, False)}


@pytest.mark.parametrize("name", ["rare", "new"])
def test_what_may_have_been_dropped_before_is_not_exact(monkeypatch, name):
    monkeypatch.setattr(item_counts, "ITEMS_MAX", 2)
    counts = ItemCounts()
    counts.add({"hot": 9, "warm": 5, "rare": 1}, 15, 0, are_exact=True, are_all=True)
    assert exact(counts) == {"hot": (9, True)}
    counts.add({name: 2}, 2, 1, are_exact=True, are_all=True)
    assert exact(counts) == {"hot": (9, True), name: (2, False)}

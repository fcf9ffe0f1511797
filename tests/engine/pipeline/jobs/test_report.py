"""What a report keeps of many rows."""

from __future__ import annotations

import random

from engine.pipeline.jobs.report import fair_share


def test_no_kind_of_row_hides_another():
    kinds = [[f"{kind}{number}" for number in range(count)] for kind, count in (("a", 900), ("b", 3), ("c", 900))]
    shown = fair_share(kinds, 500)
    assert len(shown) == 500
    assert [row for row in shown if row.startswith("b")] == ["b0", "b1", "b2"]
    assert shown[:2] == ["a0", "a1"] and "c0" in shown


def test_a_share_is_as_large_as_it_can_be_and_rows_keep_their_order():
    choice = random.Random(1)
    for _ in range(300):
        kinds = [[(kind, row) for row in range(choice.randrange(8))] for kind in range(choice.randrange(6))]
        limit = choice.randrange(1, 20)
        shown = fair_share(kinds, limit)
        assert len(shown) == min(limit, sum(map(len, kinds)))
        assert shown == sorted(shown)
        shares = [sum(kind == number for kind, _ in shown) for number in range(len(kinds))]
        least = min((share for share, rows in zip(shares, kinds, strict=True) if share < len(rows)), default=limit)
        assert all(share <= least + 1 for share in shares)

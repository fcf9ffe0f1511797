"""What a report keeps of many rows."""

from __future__ import annotations

import io
import json
import random
from functools import partial

import pytest

from engine.pipeline.jobs.report import ALL_ROWS, JsonLinesReport, fair_share


@pytest.mark.parametrize(("rows_max", "shown", "left_out"), [(2, 2, 6), (ALL_ROWS, 7, 1)])
def test_a_report_writes_as_many_rows_as_it_was_made_for(rows_max, shown, left_out):
    stream = io.StringIO()
    JsonLinesReport(stream, rows_max).table("findings", [[number] for number in range(7)], left_out=1)
    event = json.loads(stream.getvalue())
    assert (event["rows"], event["left_out"]) == ([[number] for number in range(shown)], left_out)


def test_each_change_of_the_phase_is_one_line():
    stream = io.StringIO()
    report = JsonLinesReport(stream)
    tasks, messages = (partial(report.progress, 1, 2, unit) for unit in ("tasks", "messages"))
    for call in (report.planning, messages, report.planning, tasks, tasks, report.working, report.planning, tasks):
        call()
    events = [json.loads(line) for line in stream.getvalue().splitlines()]
    phases = [event["phase"] for event in events if event["event"] == "phase"]
    assert phases == ["planning", "working", "planning", "working"]
    assert len(events) == len(phases) + 4


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

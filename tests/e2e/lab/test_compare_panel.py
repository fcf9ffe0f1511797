"""The panel that puts runs with different settings side by side."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import expect

from tests.e2e.accessibility import findings_in_every_theme
from tests.e2e.lab.lab_page import opened, show_panel
from tests.e2e.scenes import empty_scene

TABLE = (
    Path(__file__).parents[3] / "static" / "lab" / "comparisons" / "batch-trade-offs.C1.consumeMessageBatchMaxSize.json"
)


def test_sizes_of_batches_stand_side_by_side_and_each_opens_its_run(serve, open_page):
    page = opened(open_page(f"{serve(empty_scene())}/lab/batch-trade-offs", reduced_motion="reduce"))
    show_panel(page, "compare")
    panel = page.locator("#panel-compare")
    rows = panel.locator(".compare-table").filter(has_text="consumeMessageBatchMaxSize").locator("tbody tr")
    runs = json.loads(TABLE.read_text(encoding="utf-8"))["runs"]
    expect(rows).to_have_count(len(runs))
    for number, run in enumerate(runs):
        assert rows.nth(number).locator(".compare-figure").all_text_contents() == [
            f"{run[name]:g}" for name in ("calls", "threads_busy", "per_second", "consumed_again", "without_need")
        ]
    assert findings_in_every_theme(page) == []
    rows.nth(3).get_by_role("button").click()
    expect(page.locator("[data-node=C1]")).to_have_attribute("data-status", "running")
    show_panel(page, "settings")
    expect(page.get_by_role("spinbutton", name="consume_message_batch_max_size")).to_have_value("16")

"""The panel that puts runs with different settings side by side."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import expect

from tests.e2e.accessibility import findings_in_every_theme
from tests.e2e.lab.lab_page import opened, show_panel
from tests.e2e.scenes import empty_scene

FOLDER = Path(__file__).parents[3] / "static" / "lab" / "comparisons"
TABLE = FOLDER / "batch-trade-offs.C1.consumeMessageBatchMaxSize.json"
POLICIES = FOLDER / "replication-compare.json"


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
    rows.nth(3).get_by_role("link").click()
    expect(page.locator("[data-node=C1]")).to_have_attribute("data-status", "running")
    show_panel(page, "settings")
    expect(page.get_by_role("spinbutton", name="consume_message_batch_max_size")).to_have_value("16")


def test_policies_of_replication_stand_side_by_side_each_opens_its_run_and_all_can_be_saved(serve, open_page):
    page = opened(open_page(f"{serve(empty_scene())}/lab/replication-compare", reduced_motion="reduce"))
    show_panel(page, "compare")
    panel = page.locator("#panel-compare")
    table = json.loads(POLICIES.read_text(encoding="utf-8"))
    faults = panel.locator(".replication-compare")
    expect(faults).to_have_count(len(table["faults"]))
    rows = faults.first.locator("tbody tr")
    expect(rows).to_have_count(len(table["policies"]))
    expect(rows.first.locator(".replication-lost")).to_contain_text("1")
    expect(panel.locator(".replication-searches tbody tr").last).to_contain_text("Nothing found")
    assert findings_in_every_theme(page) == []
    with page.expect_download() as saved:
        panel.get_by_role("link", name="as CSV").click()
    lines = saved.value.path().read_text(encoding="utf-8").splitlines()
    assert lines[0] == "policy,fault,acknowledged,lost,unavailable_ms,is_back,duplicates,on_one_machine,in_doubt"
    assert len(lines) == 1 + len(table["cells"])
    rows.last.get_by_role("link").click()
    expect(page.locator("[data-node=K3]")).to_be_visible()
    expect(page.locator("[data-node=A1]")).to_have_count(0)
    expect(faults).to_have_count(len(table["faults"]))

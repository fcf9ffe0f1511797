"""Two-phase commit on the stage: who plays which part, who is in doubt and who waits; and the table of crash points."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import expect

from tests.e2e.accessibility import findings_in_every_theme
from tests.e2e.lab.lab_page import expect_event, opened, run_to_ms, show_panel
from tests.e2e.scenes import empty_scene

TABLE = Path(__file__).parents[3] / "static" / "lab" / "crash_points" / "xa-two-phase.json"


def test_banks_in_doubt_are_seen_and_a_row_of_the_crash_table_opens_its_run(serve, open_page):
    page = opened(open_page(f"{serve(empty_scene())}/lab/xa-two-phase", reduced_motion="reduce"))
    expect(page.locator("[data-node=B1] .xa-part")).to_have_text("TC RM")
    expect(page.locator("[data-node=P1] .xa-part")).to_have_text("TM RM")
    run_to_ms(page, 8_000)
    bank = page.locator("[data-node=R1]")
    expect(bank.locator("[data-part=branches] .is-waits")).to_contain_text("TC-1-2")
    expect(bank.locator(".xa-lock")).to_contain_text("A is locked by TC-1-2")
    expect(bank.locator("[data-part=cash-machine]")).to_contain_text("locked by TC-1-2")
    expect(page.locator("[data-node=P1] [data-part=cash-machine]")).to_contain_text("balance: 80,000")
    show_panel(page, "xa")
    panel = page.locator("#panel-xa")
    # Two transactions were in doubt at each of two banks, the first ones for an instant.
    expect(panel.locator(".xa-lane .xa-bar-prepared")).to_have_count(4)
    expect(panel.locator("tbody tr").filter(has_text="xa-1")).to_contain_text("TC is gone")
    expect(panel.locator("tbody tr").filter(has_text="message-1")).to_contain_text("A has paid, B is waiting")
    assert findings_in_every_theme(page) == []

    (row,) = [
        row
        for row in json.loads(TABLE.read_text(encoding="utf-8"))["points"]
        if row["step"]["en"] == "receives all votes, all of them yes"
    ]
    panel.locator(".crash-points summary").click()
    panel.get_by_role("link", name="TC receives all votes, all of them yes").click()
    expect_event(page, row["event"])
    expect(page.locator("[data-node=TC]")).to_have_attribute("data-status", "crashed")

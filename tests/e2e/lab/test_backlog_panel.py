"""The panel of backlogs, and what the stage says of consumers that cannot keep up."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.e2e.accessibility import findings_in_every_theme
from tests.e2e.lab.lab_page import opened, run_to_ms, show_panel
from tests.e2e.scenes import empty_scene


def test_a_backlog_is_drawn_queue_by_queue_and_a_full_queue_says_why_it_is_not_pulled(serve, open_page):
    page = opened(open_page(f"{serve(empty_scene())}/lab/moved-aside", reduced_motion="reduce"))
    run_to_ms(page, 4_000)
    show_panel(page, "backlog")
    panel = page.locator("#panel-backlog")
    # The group with the greatest peak is shown by itself; another one can be chosen.
    expect(panel.locator(".backlog-group")).to_have_count(3)
    chosen = panel.locator(".backlog-group", has_text="plain")
    chosen.click()
    expect(chosen).to_have_attribute("aria-pressed", "true")
    expect(panel.locator("tr[data-backlog-queue]")).to_have_count(2)
    expect(panel.locator("canvas")).to_have_count(2)  # the lags, and the members below them
    panel.get_by_role("application").first.focus()
    page.keyboard.press("ArrowRight")
    expect(panel.locator("#backlog-readout")).to_contain_text("members: ")
    full = page.locator("[data-node=C2] [data-process-queue='Events@0'] [data-flow-control=count]")
    expect(full).to_be_attached()
    expect(page.locator("[data-node=C1] [data-moved-aside]")).to_contain_text("Later")
    assert findings_in_every_theme(page) == []


def test_messages_in_the_list_of_a_process_are_shown_as_long_as_it_lives(serve, open_page):
    page = opened(open_page(f"{serve(empty_scene())}/lab/early-ack-loses?lang=zh", reduced_motion="reduce"))
    run_to_ms(page, 1_200)
    handed_over = page.locator("[data-node=C1] [data-handed-over]")
    expect(handed_over).to_contain_text("order-0")
    expect(page.locator(".moment-violation")).to_contain_text("order-0")

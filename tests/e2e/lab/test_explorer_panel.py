"""The search on the lab's page: from the missing lock to the schedule that is replayed on the stage."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.e2e.accessibility import findings_in_every_theme
from tests.e2e.lab.lab_page import opened, show_panel
from tests.e2e.scenes import empty_scene

#: A search process is a fresh interpreter on a machine that may be busy.
SEARCH_MS = 240_000


def search(page, *switches, stalls="1"):
    """Choose what is switched off and search to the end."""
    show_panel(page, "explorer")
    for name in switches:
        page.locator(f".explorer-form input[value={name}]").check()
    page.locator(".explorer-form select[name=max_stalls]").select_option(stalls)
    page.locator(".explorer-form button[type=submit]").click()
    expect(page.locator(".explorer-finding")).to_be_visible(timeout=SEARCH_MS)


def test_a_lock_that_is_off_on_the_stage_is_off_in_the_search(serve, open_page):
    page = opened(open_page(f"{serve(empty_scene())}/lab/two-consumers"))
    show_panel(page, "explorer")
    lock = page.locator(".explorer-form input[value=broker-lock]")
    expect(lock).not_to_be_checked()
    page.locator("[data-lock-switch=broker-lock]").first.click()
    page.locator(".popover [data-kind=switch]").click()
    expect(lock).to_be_checked()
    expect(lock).to_be_disabled()
    expect(page.locator(".explorer-settings")).to_contain_text("B1 Broker lock: off")
    page.locator(".explorer-form [name=keeps_settings]").uncheck()
    expect(lock).to_be_enabled()
    expect(lock).not_to_be_checked()
    page.locator(".explorer-form [name=keeps_settings]").check()
    expect(lock).to_be_checked()
    search(page, stalls="0")
    expect(page.locator(".explorer-finding")).to_contain_text("it happens in every run of this scenario")


def test_a_found_schedule_is_replayed_on_the_stage_and_stops_at_the_violation(serve, open_page):
    page = opened(open_page(f"{serve(empty_scene())}/lab/two-consumers"))
    search(page, "process-queue-lock")
    expect(page.locator(".explorer-holds li")).to_have_count(1)
    expect(page.locator(".explorer-holds li")).to_contain_text("C1/worker-0 is held for")
    expect(page.locator(".explorer-progress")).to_contain_text("schedules")
    page.locator(".explorer-ways .button-primary").click()
    # It plays by itself, shows the last events one by one and holds where it breaks.
    expect(page.locator("#speed-why")).to_have_attribute("data-why", "step", timeout=SEARCH_MS)
    expect(page.locator("#sequence-chosen")).to_contain_text("#")
    expect(page.locator("#stop-banner")).to_be_visible(timeout=SEARCH_MS)
    expect(page.locator(".moment")).to_have_attribute("data-kind", "violation")
    expect(page.locator(".moment")).to_contain_text("released the queue")
    expect(page.locator("#control-play")).to_have_text("Play")


def test_the_local_lock_alone_is_explained_in_chinese(serve, open_page):
    page = opened(open_page(f"{serve(empty_scene())}/lab/two-consumers?lang=zh"))
    search(page, "message-queue-lock", stalls="0")
    expect(page.locator(".explorer-finding")).to_contain_text("consuming 标志")


def test_a_search_can_be_cancelled(serve, open_page):
    page = opened(open_page(f"{serve(empty_scene())}/lab/two-consumers"))
    show_panel(page, "explorer")
    page.locator(".explorer-form button[type=submit]").click()
    # At once and in the page itself: the server may not have named the search yet, and a click from here may come
    # when the search is over.
    page.wait_for_function(
        """() => {
             const cancel = document.querySelector('.explorer-bar button');
             cancel?.click();
             return cancel !== null;
           }""",
        timeout=SEARCH_MS,
    )
    expect(page.locator(".explorer-progress")).to_contain_text("The search was cancelled", timeout=SEARCH_MS)


def test_a_scenario_without_orderly_consumers_says_that_there_is_nothing_to_search(serve, open_page):
    page = opened(open_page(f"{serve(empty_scene())}/lab/hello"))
    show_panel(page, "explorer")
    expect(page.locator(".explorer")).to_contain_text("no ordered consumers")
    expect(page.locator(".explorer-form")).to_have_count(0)


def test_a_lost_frame_is_searched_for_named_and_replayed(serve, open_page):
    page = opened(open_page(f"{serve(empty_scene())}/lab/bank-naive", reduced_motion="reduce"))
    show_panel(page, "explorer")
    form = page.locator(".explorer-form")
    expect(form.locator("select[name=lose]")).to_have_count(0)
    for name, value in (("max_stalls", "0"), ("max_crashes", "0"), ("max_losses", "1")):
        form.locator(f"select[name={name}]").select_option(value)
    form.locator("select[name=lose]").select_option("reply to SEND_MESSAGE_V2")
    expect(form.locator("input[name=to_ms]")).to_have_attribute("placeholder", "11000")
    assert findings_in_every_theme(page, "#panel-explorer") == []
    form.locator("button[type=submit]").click()
    finding = page.locator(".explorer-finding")
    expect(finding).to_contain_text("Found: 1 lost frame is enough", timeout=SEARCH_MS)
    expect(finding.locator(".explorer-holds li")).to_contain_text("B1 → P1")
    assert findings_in_every_theme(page, "#panel-explorer") == []
    finding.locator(".button-primary").click()
    expect(page.locator(".moment-violation")).to_contain_text("no debit", timeout=SEARCH_MS)


def test_the_panel_is_accessible(serve, open_page):
    page = opened(open_page(f"{serve(empty_scene())}/lab/two-consumers", reduced_motion="reduce"))
    show_panel(page, "explorer")
    assert findings_in_every_theme(page, "#panel-explorer") == []
    search(page, "process-queue-lock")
    assert findings_in_every_theme(page) == []

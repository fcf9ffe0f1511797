"""axe-core finds nothing on the lab's pages, in every theme and both languages."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.e2e.accessibility import findings_in_every_theme
from tests.e2e.lab.lab_page import open_faults, opened, run_to_ms, run_until, show_panel
from tests.e2e.scenes import empty_scene


@pytest.mark.parametrize("language", ["en", "zh"])
def test_stage(serve, open_page, language):
    address = f"{serve(empty_scene())}/lab/rebalance-on-crash?lang={language}"
    page = opened(open_page(address, reduced_motion="reduce"))
    run_to_ms(page, 3000)
    expect(page.locator(".cell").first).to_be_visible()
    assert findings_in_every_theme(page) == []


def test_dialogs_and_panels(serve, open_page):
    page = opened(open_page(f"{serve(empty_scene())}/lab/hello", reduced_motion="reduce"))
    run_until(page, "frame", "SEND_MESSAGE", node="P1")
    for name in ("actors", "faults", "settings", "frames"):
        show_panel(page, name)
        assert findings_in_every_theme(page, f"#panel-{name}") == []
    show_panel(page, "faults")
    page.locator(".palette [data-kind=partition]").click()
    show_panel(page, "frames")
    page.locator(".frame-row").first.click()
    expect(page.locator("#frame-dialog .hex-row").first).to_be_visible()
    assert findings_in_every_theme(page, "#frame-dialog") == []
    page.keyboard.press("Escape")
    open_faults(page, "B1")
    page.locator("#actions [data-kind=clock-skew]").click()
    assert findings_in_every_theme(page, "#actions") == []
    page.keyboard.press("Escape")
    page.locator("#run-until").click()
    assert findings_in_every_theme(page, "#run-until-dialog") == []
    page.keyboard.press("Escape")
    page.locator("[data-node=C1] .rule").first.click()
    assert findings_in_every_theme(page, "#actions") == []
    page.locator("#actions [data-kind=setting]").click()
    expect(page.locator("#setting-dialog")).to_be_visible()
    assert findings_in_every_theme(page, "#setting-dialog") == []
    page.keyboard.press("Escape")
    run_until(page, "sent", node="P1")
    page.locator("[data-node=B1] [data-record]").last.click()
    expect(page.locator("#record-dialog .hex-row").first).to_be_visible()
    assert findings_in_every_theme(page, "#record-dialog") == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_list_of_scenarios(serve, open_page, language):
    page = open_page(f"{serve(empty_scene())}/lab?lang={language}")
    expect(page.locator(".scenario").first).to_be_visible()
    assert findings_in_every_theme(page) == []

"""axe-core finds nothing on the pages, in every theme and both languages."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from app.lab.routes.demonstration import TAKES
from tests.e2e.accessibility import findings_in_every_theme
from tests.e2e.conftest import live, open_tab
from tests.e2e.scenes import empty_scene, small_scene


@pytest.mark.parametrize("language", ["en", "zh"])
def test_live_page(serve, open_page, language):
    page = live(open_page(f"{serve(small_scene())}/live?lang={language}", reduced_motion="reduce"))
    expect(page.locator(".lane").first).to_be_visible()
    assert findings_in_every_theme(page) == []
    for tab in ("consumers", "messages", "dead-letters", "metrics"):
        open_tab(page, tab)
        assert findings_in_every_theme(page, "#page-place") == []


def test_empty_live_page(serve, open_page):
    page = live(open_page(f"{serve(empty_scene())}/live", reduced_motion="reduce"))
    assert findings_in_every_theme(page) == []


def test_inspector_queue_entries_and_key_map(serve, open_page):
    page = live(open_page(f"{serve(small_scene())}/live", reduced_motion="reduce"))
    page.keyboard.press("?")
    assert findings_in_every_theme(page, "#key-map") == []
    page.keyboard.press("Escape")
    page.locator("[data-queue='orders@0'] .lane-button").click()
    expect(page.locator("#queue-entries tbody tr").first).to_be_visible()
    assert findings_in_every_theme(page, "#queue-entries") == []
    page.locator("#queue-entries tbody button").last.click()
    page.locator("[data-field=BODY]").hover()
    assert findings_in_every_theme(page, "#inspector") == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_start_page(serve, open_page, language):
    page = open_page(f"{serve(small_scene())}/?lang={language}", reduced_motion="reduce")
    expect(page.locator(".mini-figures")).to_be_visible()
    expect(page.locator(".film [data-node=B1]")).to_be_visible()
    assert findings_in_every_theme(page) == []
    for chapter in [chapter.name for take in TAKES for chapter in take.chapters][1:]:
        page.locator("#film-next").click()
        if chapter == "duplicate":
            expect(page.locator(".film-verdict.is-broken")).to_be_visible()
            assert findings_in_every_theme(page, "#demonstration") == []
    expect(page.locator("#film-over")).to_be_visible()
    assert findings_in_every_theme(page, "#demonstration") == []

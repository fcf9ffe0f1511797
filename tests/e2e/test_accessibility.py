"""axe-core finds nothing on the pages, in every theme and both languages."""

from __future__ import annotations

from pathlib import Path

import axe_playwright_python
import pytest
from playwright.sync_api import Page, expect

from app.lab.demonstration import TAKES
from tests.e2e.conftest import live
from tests.e2e.scenes import empty_scene, small_scene

pytestmark = pytest.mark.browser

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


def findings(page: Page) -> list[str]:
    page.evaluate(AXE)
    violations = page.evaluate("async () => (await axe.run(document, { resultTypes: ['violations'] })).violations")
    return [
        f"{one['id']} ({one['impact']}): {node['html'][:160]} {node['failureSummary']}"
        for one in violations
        for node in one["nodes"][:3]
    ]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("theme", ["light", "dark", "projector"])
def test_live_page(serve, open_page, theme, language):
    page = live(open_page(f"{serve(small_scene())}/live?theme={theme}&lang={language}", reduced_motion="reduce"))
    expect(page.locator(".lane").first).to_be_visible()
    assert findings(page) == []


@pytest.mark.parametrize("theme", ["light", "dark", "projector"])
def test_empty_live_page(serve, open_page, theme):
    page = live(open_page(f"{serve(empty_scene())}/live?theme={theme}", reduced_motion="reduce"))
    assert findings(page) == []


@pytest.mark.parametrize("theme", ["light", "dark", "projector"])
def test_inspector_queue_entries_and_key_map(serve, open_page, theme):
    page = live(open_page(f"{serve(small_scene())}/live?theme={theme}", reduced_motion="reduce"))
    page.keyboard.press("?")
    assert findings(page) == []
    page.keyboard.press("Escape")
    page.locator("[data-queue='orders@0'] .lane-button").click()
    expect(page.locator("#queue-entries tbody tr").first).to_be_visible()
    assert findings(page) == []
    page.locator("#queue-entries tbody button").last.click()
    page.locator("[data-field=BODY]").hover()
    assert findings(page) == []


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("theme", ["light", "dark", "projector"])
def test_start_page(serve, open_page, theme, language):
    page = open_page(f"{serve(small_scene())}/?theme={theme}&lang={language}", reduced_motion="reduce")
    expect(page.locator(".mini-figures")).to_be_visible()
    expect(page.locator(".film [data-node=B1]")).to_be_visible()
    assert findings(page) == []
    for chapter in [chapter.name for take in TAKES for chapter in take.chapters][1:]:
        page.locator("#film-next").click()
        if chapter == "duplicate":
            expect(page.locator(".film-verdict.is-broken")).to_be_visible()
            assert findings(page) == []
    expect(page.locator("#film-over")).to_be_visible()
    assert findings(page) == []

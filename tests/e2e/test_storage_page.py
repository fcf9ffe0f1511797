"""The storage laboratory: files to the byte, a search that is predicted first; and nothing for axe-core to find."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import ViewportSize, expect

from app.storage.runs import works
from tests.app.storage import tiny_works
from tests.e2e.accessibility import findings_in_every_theme
from tests.e2e.scenes import empty_scene

PHONE = ViewportSize(width=390, height=844)
#: The page, and each table in it.
_FITS = """() => [document.documentElement, ...document.querySelectorAll(".table-scroll")]
  .every((part) => part.scrollWidth <= part.clientWidth)"""


def test_the_first_view_shows_both_stores_and_a_record_to_the_byte(serve, open_page):
    page = open_page(f"{serve(empty_scene())}/storage", reduced_motion="reduce")
    expect(page.locator(".store-tree")).to_have_count(2)
    expect(page.locator(".unit-details [data-field=TOTALSIZE]")).to_be_visible()
    page.locator("[data-field=QUEUEOFFSET]").hover()
    expect(page.locator(".hex-bytes .byte.is-chosen")).to_have_count(8)
    page.locator(".hex-bytes .byte").first.hover()
    expect(page.locator(".field-row.is-chosen")).to_have_attribute("data-field", "TOTALSIZE")
    page.get_by_role("button", name="00000000000000000590.index").first.click()
    expect(page.locator("#file-title")).to_contain_text(".index")
    page.locator(".unit-button").nth(2).click()
    expect(page.locator(".unit-details .field-row")).to_have_count(2)
    assert findings_in_every_theme(page) == []


@pytest.mark.parametrize("by", ["offset", "key", "time"])
def test_a_search_is_predicted_stepped_and_judged(serve, open_page, by):
    page = open_page(f"{serve(empty_scene())}/storage#find", reduced_motion="reduce")
    page.locator(f"input[name=by][value={by}]").check(force=True)
    predicted = {"rocketmq-seeks": 2, "rocketmq-read_bytes": 372, "kafka-seeks": 900, "kafka-read_bytes": 1}
    for name, value in predicted.items():
        page.locator(f"input[name={name}]").fill(str(value))
    page.locator(".find-end button").click()
    expect(page.locator(".step")).to_have_count(2)
    page.get_by_role("button", name="Next step").click()
    expect(page.locator(".step")).to_have_count(4)
    expect(page.locator("#verdict-title")).to_have_count(0)
    page.get_by_role("button", name="All steps").click()
    expect(page.locator(".find-verdict tbody tr")).to_have_count(4)
    expect(page.locator(".find-verdict .problem-text")).to_have_count(2 if by == "offset" else 4)
    assert findings_in_every_theme(page) == []
    page.locator(".step .link-button").last.click()
    expect(page.locator(".unit-button[aria-current]")).to_be_visible()


def test_a_refused_traffic_says_what_is_allowed_and_keeps_the_stores(serve, open_page):
    page = open_page(f"{serve(empty_scene())}/storage?lang=zh", reduced_motion="reduce")
    page.locator("input[name=body_bytes]").fill("4096")
    page.locator(".traffic button").click()
    expect(page.locator(".traffic .problem")).to_contain_text("8,000,000")
    expect(page.locator(".store-tree")).to_have_count(2)
    (complaint,) = open_page.complaints
    assert "400 (BAD REQUEST)" in complaint
    open_page.complaints.clear()


def test_another_traffic_begins_with_a_fresh_question(serve, open_page):
    page = open_page(f"{serve(empty_scene())}/storage?messages=400#find", reduced_motion="reduce")
    page.locator("select[name=topic]").select_option("orders-1")
    for field in page.locator(".prediction input").all():
        field.fill("2")
    page.locator(".find-end button").click()
    expect(page.locator(".step")).to_have_count(2)
    page.locator(".traffic input[name=topics]").fill("1")
    page.locator(".traffic button").click()
    expect(page.locator("select[name=topic]")).to_have_value("orders-0")
    expect(page.locator(".step")).to_have_count(0)
    assert "topics=1&" in page.url


def test_a_phone_shows_it_without_scrolling_sideways(serve, open_page):
    page = open_page(f"{serve(empty_scene())}/storage", viewport=PHONE)
    expect(page.locator(".unit-details [data-field=TOTALSIZE]")).to_be_visible()
    assert page.evaluate(_FITS)
    page.get_by_role("link", name="Find a message").click()
    for field in page.locator(".prediction input").all():
        field.fill("900000")
    page.locator(".find-end button").click()
    page.get_by_role("button", name="All steps").click()
    expect(page.locator(".find-verdict tbody tr")).to_have_count(4)
    assert page.evaluate(_FITS)


def test_the_disk_is_measured_from_the_page_and_its_figures_are_taken_away(serve, open_page, monkeypatch):
    monkeypatch.setitem(works.WORKS, "disk", tiny_works.quick)
    page = open_page(f"{serve(empty_scene())}/storage#disk", reduced_motion="reduce")
    page.get_by_role("button", name="Measure").click()
    expect(page.locator(".storage-plot canvas")).to_have_count(1)
    assert findings_in_every_theme(page) == []
    for name, beginning in (("SVG", "<svg"), ("CSV", "plot,line,x,y"), ("JSON", "{")):
        with page.expect_download() as download:
            page.get_by_role("button", name=name).click()
        assert Path(download.value.path()).read_text(encoding="utf-8").startswith(beginning)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_cache_shows_its_scenarios_and_the_claims(serve, open_page, language):
    page = open_page(f"{serve(empty_scene())}/storage?lang={language}#cache", reduced_motion="reduce")
    expect(page.locator(".cache-card img[class=in-light]").first).to_be_visible()
    expect(page.locator(".claims tbody tr")).to_have_count(9)
    assert findings_in_every_theme(page) == []

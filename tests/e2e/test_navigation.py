"""Every page has the same head: the way to all pages, at every width, by mouse and by keyboard."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from tests.e2e.accessibility import findings_in_every_theme
from tests.e2e.scenes import empty_scene

PARTS = {
    "/tutorials": "Tutorials",
    "/lab": "Lab",
    "/live": "Live",
    "/storage": "Storage",
    "/pipeline": "Pipeline",
    "/filters": "Filters",
}
PAGES = {
    **{path: path for path in PARTS},
    "/": None,
    "/lab/hello": "/lab",
    "/tutorials/articles": "/tutorials",
    "/tutorials/01-first-message": "/tutorials",
}
PHONE = ViewportSize(width=390, height=844)


@pytest.mark.parametrize("path", PAGES)
def test_every_page_leads_to_all_others_and_marks_where_one_is(serve, open_page, path):
    page = open_page(f"{serve(empty_scene())}{path}")
    links = page.locator("#site-parts a")
    expect(links).to_have_text(list(PARTS.values()))
    assert [link.get_attribute("href") for link in links.all()] == list(PARTS)
    for link in links.all():
        expect(link).to_be_in_viewport(ratio=1)
    here = page.locator("#site-parts a[aria-current]")
    expect(here).to_have_count(0 if PAGES[path] is None else 1)
    if PAGES[path] is not None:
        expect(here).to_have_attribute("href", PAGES[path])


@pytest.mark.parametrize("path", PAGES)
def test_on_a_phone_the_head_is_one_row_and_the_pages_are_behind_a_button(serve, open_page, path):
    page = open_page(f"{serve(empty_scene())}{path}", viewport=PHONE)
    expect(page.locator("#site-parts")).to_be_hidden()
    assert page.evaluate("document.querySelector('.page-head-row').scrollWidth <= innerWidth")
    assert page.locator(".page-head").bounding_box()["height"] < 60
    page.locator(".parts-button").click()
    for link in page.locator("#site-parts a").all():
        expect(link).to_be_in_viewport(ratio=1)


def test_the_list_of_pages_opens_and_closes_by_keyboard(serve, open_page):
    page = open_page(f"{serve(empty_scene())}/filters", viewport=PHONE)
    page.locator(".parts-button").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#site-parts")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#site-parts")).to_be_hidden()
    expect(page.locator(".parts-button")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert focused_address(page) == "/tutorials"


def test_theme_and_language_are_behind_a_button_where_the_row_is_narrow(serve, open_page):
    page = open_page(f"{serve(empty_scene())}/filters", viewport=PHONE)
    expect(page.locator("#theme-choice")).to_be_hidden()
    page.locator(".settings-button").click()
    page.locator("#theme-choice").select_option("dark")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.locator("#language-choice").select_option("zh")
    expect(page.locator("#site-parts a").first).to_have_text("教程")


@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1024, 768), (390, 844)])
def test_what_drops_down_stands_at_its_button(serve, open_page, width, height):
    page = open_page(f"{serve(empty_scene())}/live", viewport={"width": width, "height": height})
    page.locator("#controls-place button").first.wait_for(state="attached")
    for button in page.locator(".head-button:visible").all():
        button.click()
        drop, at = page.locator(".drop:popover-open").bounding_box(), button.bounding_box()
        ends = {abs(drop["x"] - at["x"]), abs(drop["x"] + drop["width"] - at["x"] - at["width"])}
        assert min(ends) < 1
        assert drop["x"] >= 0 and drop["x"] + drop["width"] <= width
        page.keyboard.press("Escape")


@pytest.mark.parametrize("button", [".parts-button", ".settings-button", ".controls-button"])
def test_what_drops_down_has_nothing_for_axe(serve, open_page, button):
    page = open_page(f"{serve(empty_scene())}/live", viewport=PHONE, reduced_motion="reduce")
    page.locator(button).click()
    expect(page.locator(".drop:popover-open")).to_be_visible()
    assert findings_in_every_theme(page, ".page-head") == []


def focused_address(page: Page) -> str:
    """Where the link leads that has the focus."""
    return page.evaluate("document.activeElement.getAttribute('href')")

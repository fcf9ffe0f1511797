"""The list of scenarios: found by words of either language, narrowed to what breaks, whole on every window."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from engine.lab.scenario.scenario_files import preset_scenario_names
from tests.e2e.scenes import empty_scene

ALL = len(preset_scenario_names())
WINDOWS = [(1440, 900), (1024, 768), (390, 844)]


@pytest.fixture
def address(serve) -> str:
    return serve(empty_scene())


def shown(page: Page) -> list[str]:
    """The addresses of the scenarios that are shown, in order."""
    return page.locator(".scenario:visible h3 a").evaluate_all("links => links.map(link => link.pathname)")


def test_a_search_finds_words_of_both_languages_and_says_how_many(address, open_page):
    page = open_page(f"{address}/lab")
    page.keyboard.press("/")
    page.keyboard.type("消费锁 broker")
    expect(page.locator("#found")).to_have_text(re.compile(rf"^\d of {ALL} scenarios$"))
    assert "/lab/three-locks" in shown(page)
    rail = page.locator(".shelf-links .number:visible").all_inner_texts()
    assert sum(map(int, rail)) == len(shown(page))
    expect(page.locator("#begin")).to_be_hidden()
    expect(page.locator("#filters")).to_be_hidden()
    assert page.url.endswith("?q=%E6%B6%88%E8%B4%B9%E9%94%81+broker")
    page.reload()
    assert "/lab/three-locks" in shown(page)
    page.locator("#search").focus()
    page.keyboard.press("Escape")
    expect(page.locator("#begin")).to_be_visible()
    expect(page.locator("#found")).to_be_empty()
    assert len(shown(page)) == ALL


def test_a_search_for_nothing_says_so_and_leads_back(address, open_page):
    page = open_page(f"{address}/lab?lang=zh&q=xyzzy")
    expect(page.locator("#nothing")).to_contain_text("没有符合条件的场景")
    page.locator("#show-all").click()
    expect(page.locator("#nothing")).to_be_hidden()
    assert len(shown(page)) == ALL


def test_the_list_can_be_narrowed_to_what_breaks(address, open_page):
    page = open_page(f"{address}/lab")
    power = page.locator(".breaks button", has_text="power cut")
    power.click()
    assert shown(page) == [
        "/lab/broker-crash-async-flush",
        "/lab/mysql-two-phase",
        "/lab/loss-detector",
        "/lab/page-cache",
        "/lab/torn-segment",
    ]
    page.locator(".breaks button", has_text="disk full").click()
    assert shown(page) == ["/lab/commit-without-op"]
    expect(power).to_have_attribute("aria-pressed", "false")
    page.locator(".breaks button", has_text="disk full").click()
    assert len(shown(page)) == ALL


def test_the_text_of_a_row_opens_by_keyboard_and_the_row_leads_to_the_world(address, open_page):
    page = open_page(f"{address}/lab")
    row = page.locator(".scenario", has=page.locator('a[href="/lab/three-locks"]'))
    row.locator("h3 a").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(row.locator(".scenario-more p").first).to_contain_text("An orderly group")
    row.locator(".scenario-summary").click(force=True)  # the whole row is the link
    page.wait_for_url(f"{address}/lab/three-locks*")


@pytest.mark.parametrize(("width", "height"), WINDOWS)
def test_the_list_fits_every_window_and_the_rail_says_where_one_is(address, open_page, width, height):
    page = open_page(f"{address}/lab", viewport={"width": width, "height": height})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    link = page.locator('.shelf-links a[href="#transactions"]')
    link.click()
    expect(link).to_have_attribute("aria-current", "true")
    expect(page.locator("#transactions-title")).to_be_in_viewport()
    expect(link).to_be_in_viewport()


@pytest.mark.parametrize(("theme", "other"), [("light", "dark"), ("dark", "light")])
def test_pictures_are_those_of_the_theme_and_only_they_are_fetched(address, open_page, theme, other):
    page = open_page(f"{address}/lab?theme={theme}")
    picture = page.locator(f"#begin .in-{theme}").first
    expect(picture).to_be_visible()
    expect(page.locator(f"#begin .in-{other}").first).to_be_hidden()
    page.wait_for_function("picture => picture.complete && picture.naturalWidth === 480", arg=picture.element_handle())
    fetched = page.evaluate("performance.getEntriesByType('resource').map(({ name }) => name)")
    assert any(name.endswith(".webp") for name in fetched)
    assert [name for name in fetched if name.endswith(".dark.webp")] == [] or theme == "dark"

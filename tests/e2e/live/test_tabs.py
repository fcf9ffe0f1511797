"""The tabs of the live page: one for each task, each with an address."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.accessibility import THEMES, choose_theme
from tests.e2e.conftest import live, open_tab
from tests.e2e.scenes import small_scene

TABS = {
    "topics": ["stage"],
    "consumers": ["groups", "internals"],
    "messages": ["search", "records"],
    "dead-letters": ["dead-letters"],
    "metrics": ["plots", "log"],
    "brokers": ["brokers"],
}


@pytest.fixture
def address(serve):
    return f"{serve(small_scene(lively=False))}/live"


def chosen(page):
    return page.locator("[role=tab][aria-selected=true]")


def test_each_tab_shows_its_panels_only_below_the_verdict_and_within_two_screens(address, open_page):
    page = live(open_page(address))
    for name, panels in TABS.items():
        open_tab(page, name)
        shown = page.locator(".live-tab > section")
        expect(shown).to_have_count(len(panels))
        assert shown.evaluate_all("(all) => all.map((one) => one.id)") == panels
        expect(page.locator("#verdict")).to_be_in_viewport()
        expect(page).to_have_url(re.compile(f"[?]tab={name}$"))
        assert page.evaluate("document.documentElement.scrollHeight") <= 2 * 900
    assert page.evaluate("document.getElementById('tab-panel').getAttribute('aria-labelledby')") == "tab-brokers"


def test_an_address_names_a_tab_or_a_panel_and_the_history_remembers_both(address, open_page):
    page = live(open_page(f"{address}?tab=messages"))
    expect(chosen(page)).to_have_text("Messages")
    page.goto(f"{address}#log")
    expect(chosen(page)).to_have_text("Metrics and log")
    expect(page.locator("#log")).to_be_focused()
    open_tab(page, "consumers")
    page.go_back()
    expect(chosen(page)).to_have_text("Metrics and log")
    page.go_forward()
    expect(chosen(page)).to_have_text("Consumers")
    expect(page).to_have_title(re.compile("^Consumers – "))
    live(page).goto(f"{address}?tab=unheard-of")
    expect(chosen(page)).to_have_text("Topics and queues")


def test_arrow_keys_walk_along_the_tabs_and_one_of_them_is_a_stop_of_the_tab_key(address, open_page):
    page = live(open_page(address))
    page.locator("#tab-topics").focus()
    for key, name in (("ArrowRight", "Consumers"), ("End", "Brokers"), ("ArrowRight", "Topics and queues")):
        page.keyboard.press(key)
        expect(chosen(page)).to_have_text(name)
        expect(chosen(page)).to_be_focused()
    expect(page.locator("[role=tab][tabindex='0']")).to_have_count(1)


def test_panels_of_other_tabs_ask_for_nothing(address, open_page):
    page = open_page("about:blank")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    live(page)
    assert [url for url in asked if re.search("/api/live/(dead-letters|clients|history|brokers)", url)] == []
    with page.expect_request("**/api/live/dead-letters/billing*"):
        open_tab(page, "dead-letters")


def test_a_search_is_still_there_after_a_visit_of_another_tab(address, open_page):
    page = live(open_page(f"{address}?tab=messages"))
    page.locator("#search-text").fill("no such key")
    page.locator("#search-text").press("Enter")
    expect(page.locator(".search-result")).to_contain_text("Nothing found")
    open_tab(open_tab(page, "topics"), "messages")
    expect(page.locator(".search-result")).to_contain_text("Nothing found")


@pytest.mark.parametrize("size", [(390, 844), (1024, 768)])
def test_tabs_scroll_where_there_is_no_room_and_the_page_does_not(address, open_page, size):
    page = live(open_page(address, viewport={"width": size[0], "height": size[1]}))
    for name in TABS:
        page.locator(f"#tab-{name}").scroll_into_view_if_needed()
        open_tab(page, name)
        expect(page.locator(f"#tab-{name}")).to_be_in_viewport(ratio=1)
        for theme in THEMES[: 2 if size[0] < 1000 else 3]:  # nobody projects from a phone
            choose_theme(page, theme)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (name, theme)
